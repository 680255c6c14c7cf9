"""The last line of the demo: how much was played, how fast, and what was lost on the way."""

from __future__ import annotations

from schemas.metrics.sink import SINK_MISSING
from skeletonhunter.embedded.demo_state import DemoState
from streams.sink.sink import Sink
from streams.worker import StreamWorker


def summary(state: DemoState, worker: StreamWorker, sink: Sink) -> str:
    """Records and speed, time that the demo waited, and messages that were lost."""
    text = f"{state.records:,} records played"
    if state.played_s:
        text += f" at {state.now_s / state.played_s:.1f} x event time ("
        text += f"{state.now_s:.0f} s in {state.played_s:.0f} s"
        if state.waited_s >= 1:
            text += f", {state.waited_s:.0f} s of them waiting for the stream worker and the sink"
        text += ")"
    by_worker = worker.ingest.missing + worker.heartbeats.missing + worker.localize.missing
    by_sink = sum(int(each.value) for each in sink.samples() if each.metric is SINK_MISSING)
    for missing, reader in ((by_worker, "the stream worker"), (by_sink, "the sink")):
        if missing:
            text += f"; the broker dropped {missing:,} messages before {reader} read them"
    return text
