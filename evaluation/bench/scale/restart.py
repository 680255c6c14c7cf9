"""CPU time until a restarted worker judges again: it reads 330 s of skh.windows first.

The records are those of ``evaluation.bench.scale.memory``, from a process of their own; a windower
makes chunks of them, which is not counted. 60 s are read; the newest 30 s, a window of each path,
stand for all the seconds after them.
"""

from __future__ import annotations

import subprocess
import sys
import time
from typing import Any, Final

import numpy as np
import pyarrow as pa

from evaluation.bench.input import START_NS
from evaluation.bench.method.figure import figure
from evaluation.bench.simulate import LARGE
from testbed.simulator.simulator import SECOND_NS
from testbed.topologies.clos import build

_READ_S: Final = 60
_WINDOW_S: Final = 30
_GOAL_S: Final = 30


def restart() -> dict[str, Any]:
    """Seconds of one core for all that a restarted worker reads again, of a million paths."""
    from localizer.localizer import Localizer
    from schemas.wire import codecs
    from streams.localize.retention import RETENTION
    from streams.windowing.partition import PartitionWorker

    command = [sys.executable, "-m", "evaluation.bench.scale.memory", f"{_READ_S}"]
    source = subprocess.Popen(command, stdout=subprocess.PIPE)  # noqa: S603 — our own module
    assert source.stdout is not None  # noqa: S101 — we asked for a pipe
    windower, localizer = PartitionWorker(0, 0), Localizer(topology=build(LARGE, 1))
    took_s = np.zeros(_READ_S)
    with source.stdout, pa.ipc.open_stream(source.stdout) as seconds:
        for second, batch in enumerate(seconds):
            arrival_ns = START_NS + (second + 1) * SECOND_NS
            chunks = windower.feed(codecs.conform(batch).batch, second, arrival_ns)
            began_s = time.process_time()
            for chunk in chunks:
                _read(localizer, dict(chunk.headers), chunk.value or b"")
            took_s[second] = time.process_time() - began_s
    if source.wait():
        raise RuntimeError(f"the simulation ended with exit code {source.returncode}")
    usual_s = float(took_s[-_WINDOW_S:].mean())
    whole_s = float(took_s.sum()) + usual_s * (RETENTION.lookback_s - _READ_S)
    paths = localizer.sizes()["paths"]
    return {
        **figure(
            "{whole_s:.0f} s of CPU for {lookback_s} s of chunks: {new_s:.1f} s for the first "
            "{first_s} s, in which all paths are new, then {usual_ms:.0f} ms a second; "
            "{paths:,} paths",
            whole_s=whole_s, lookback_s=RETENTION.lookback_s,
            new_s=float(took_s[: _READ_S - _WINDOW_S].sum()), first_s=_READ_S - _WINDOW_S,
            usual_ms=1e3 * usual_s, paths=paths,
        ),
        "goal": f"<= {_GOAL_S} s", "missed": whole_s > _GOAL_S,
    }  # fmt: skip


def _read(localizer: Any, headers: dict[str, bytes], value: bytes) -> None:
    from schemas.wire import window_chunks

    header = window_chunks.Header.from_kafka(headers)
    if header.kind == "punctuation":
        window_chunks.check_body(value)
        localizer.observe(header, None, value)
    else:
        batch = window_chunks.read(header.kind, value)
        localizer.observe(header, batch)
