"""Memory of a stream worker that knows a million five-tuple paths: windows and detectors together.

The records come from a process of their own, so that the simulated cluster is not counted.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from evaluation.bench.input import START_NS
from evaluation.bench.method.figure import figure
from evaluation.bench.simulate import LARGE
from testbed.simulator.simulator import SECOND_NS, Simulation
from testbed.topologies.clos import build

_EVERY_S: Final = 10  # each five-tuple: 108,000 records/s
_SECONDS: Final = 90  # three windows of each path
_GOAL: Final = 1500  # bytes a path


def memory() -> dict[str, Any]:
    """Resident memory a path, of the windower and the localizer, after and at most."""
    from schemas.wire import codecs
    from streams.replay import Replay

    command = [sys.executable, "-m", "evaluation.bench.scale.memory", f"{_SECONDS}"]
    source = subprocess.Popen(command, stdout=subprocess.PIPE)  # noqa: S603 — our own module
    assert source.stdout is not None  # noqa: S101 — we asked for a pipe
    worker = Replay(topology=build(LARGE, 1))
    before = most = _resident()
    with source.stdout, pa.ipc.open_stream(source.stdout) as seconds:
        for second, batch in enumerate(seconds):
            arrival_ns = START_NS + (second + 1) * SECOND_NS
            worker.feed(codecs.conform(batch).batch, (), arrival_ns)
            most = max(most, _resident())
    if source.wait():
        raise RuntimeError(f"the simulation ended with exit code {source.returncode}")
    gc.collect()
    pa.default_memory_pool().release_unused()
    after = (_resident() - before) / worker.paths
    return {
        **figure(
            "{after:,.0f} B a path, at most {most:,.0f} B; {paths:,} paths, each probed every "
            "{every_s} s for {seconds} s",
            after=after, most=(most - before) / worker.paths, paths=worker.paths,
            every_s=_EVERY_S, seconds=_SECONDS,
        ),
        "goal": f"<= {_GOAL:,} B", "missed": after > _GOAL, "rss_mb": most / 2**20,
    }  # fmt: skip


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def simulation() -> Simulation:
    """``LARGE`` with 16 targets in both layers, one five-tuple a pair."""
    return Simulation(
        build(LARGE, 1), seed=1, start_ns=START_NS, targets=16, ports_per_pair=1,
        every_s=(_EVERY_S,),
    )  # fmt: skip


def main() -> None:
    """Write the records to standard output, a batch a second, for so many seconds."""
    cluster, seconds = simulation(), int(sys.argv[1])
    batches = (cluster.second(at).pings for at in range(seconds))
    first = next(batches)
    with pa.ipc.new_stream(sys.stdout.buffer, first.schema) as out:
        out.write_batch(first)
        for batch in batches:
            out.write_batch(batch)


if __name__ == "__main__":
    main()
