"""The last line of the demo: its speed includes waiting, and losses of every reader count."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from schemas.metrics import Sample
from schemas.metrics import sink as metrics
from skeletonhunter.embedded.demo_state import DemoState
from skeletonhunter.embedded.demo_summary import summary
from skeletonhunter.embedded.pace import Pace


def of(*, by_worker: int = 0, by_sink: int = 0, waited_s: float = 0.0) -> str:
    simulation: Any = None
    state = DemoState(simulation, Pace(300, 30.0), now_s=300.0, records=1_359_260)
    state.played_s, state.waited_s = 30.0 + waited_s, waited_s
    reader = SimpleNamespace(missing=by_worker)
    none = SimpleNamespace(missing=0)
    worker: Any = SimpleNamespace(ingest=none, heartbeats=none, localize=reader)
    samples = [
        Sample(metrics.SINK_MESSAGES, 7, ("skh.windows",)),
        Sample(metrics.SINK_MISSING, by_sink, ("skh.windows",)),
        Sample(metrics.SINK_MISSING, by_sink, ("skh.pings",)),
    ]
    sink: Any = SimpleNamespace(samples=lambda: iter(samples))
    return summary(state, worker, sink)


def test_the_speed_is_event_time_by_wall_time() -> None:
    assert of() == "1,359,260 records played at 10.0 x event time (300 s in 30 s)"


def test_waiting_slows_down() -> None:
    assert of(waited_s=20.0) == (
        "1,359,260 records played at 6.0 x event time (300 s in 50 s, 20 s of them waiting for "
        "the stream worker and the sink)"
    )


def test_messages_that_worker_or_sink_missed_are_counted() -> None:
    assert of(by_worker=1_200).endswith(
        "; the broker dropped 1,200 messages before the stream worker read them"
    )
    assert of(by_sink=3).endswith("; the broker dropped 6 messages before the sink read them")
