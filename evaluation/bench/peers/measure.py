"""One engine in this process: its window compared with ours, then its CPU time; prints JSON.

    python -m evaluation.bench.peers.measure NAME

CPU time is user and system of all threads, as in ``evaluation.bench.stages``.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from typing import Any, Final

from evaluation.bench.input import busy
from evaluation.bench.peers import flink
from evaluation.bench.peers.agreement import differences, path_ids, windows
from evaluation.bench.peers.engine import HOP_S, WINDOW_S, Second
from evaluation.bench.peers.records import seconds
from evaluation.bench.peers.registry import PEERS, Peer

_WARM_S: Final = WINDOW_S + 1  # then the first full window is out, and memory has its size
_FLINK_S: Final = 40  # of records: as each is in six windows, it does not matter how many
_COMPARED_S: Final = WINDOW_S + 3  # ours waits 2 s for stragglers


class Disagreement(Exception):
    """An engine whose window is not ours: its speed says nothing."""


class Meter:
    """Hands out the seconds, and notes CPU time from the end of warm-up to the end of input."""

    def __init__(self, ready: list[Second], warm_s: int) -> None:
        self._ready, self._warm_s = ready, warm_s
        self.cpu_s = 0.0
        self.measuring = False
        self.windows: set[int] = set()

    def __iter__(self) -> Iterator[Second]:
        started = 0.0
        for at, second in enumerate(self._ready):
            if at == self._warm_s:
                self.measuring, started = True, time.process_time()
            yield second
        self.cpu_s = time.process_time() - started
        self.measuring = False

    def emit(self, end_s: int, part: Any) -> None:
        """Notes that a window came out; ``part`` is dropped, as if it were sent."""
        if self.measuring:
            self.windows.add(end_s)


def compare(peer: Peer, ready: list[Second]) -> None:
    """Raises Disagreement unless the first full window is ours, see ``differences``."""
    end_s = ready[0].start_s + WINDOW_S
    ours = windows(PEERS["ours"].load(), ready)[end_s]
    engine = peer.load()
    theirs = windows(engine, ready)[end_s]
    if found := differences(ours, theirs, path_ids(engine, ready), exact=peer.exact):
        raise Disagreement(f"{peer.title}: {'; '.join(found)}")


def measure_apart() -> dict[str, Any]:
    """The same of Flink: all windows of some seconds, less reading them."""
    ready = list(seconds(busy(), _FLINK_S))
    result, theirs, ids = flink.run(ready)
    ours = windows(PEERS["ours"].load(), ready[:_COMPARED_S])[ready[0].start_s + WINDOW_S]
    if found := differences(ours, theirs, ids):
        raise Disagreement(f"Flink: {'; '.join(found)}")
    records = sum(second.pings.num_rows for second in ready)
    cpu_s = result["windows_s"] - result["read_s"]
    return {**result, "records": records, "cpu_s": cpu_s, "rate": records / cpu_s}


def measure(peer: Peer, measured_s: int) -> dict[str, Any]:
    """Records per second of CPU time over ``measured_s`` seconds of records."""
    if peer.apart:
        return measure_apart()
    ready = list(seconds(busy(), _WARM_S + measured_s, peer.one_in))
    compare(peer, ready[:_COMPARED_S])
    meter = Meter(ready, _WARM_S)
    engine = peer.load()
    engine.run(meter, meter.emit)
    # Where each path has a clock of its own, the last window of the warm-up ends for some in it.
    if len(meter.windows) - measured_s // HOP_S not in (0, 1):
        raise Disagreement(f"{peer.title}: {len(meter.windows)} windows in {measured_s} s")
    records = sum(second.pings.num_rows for second in ready[_WARM_S:])
    return {
        "version": engine.version, "records": records, "cpu_s": meter.cpu_s,
        "windows": len(meter.windows), "rate": records / meter.cpu_s,
    }  # fmt: skip


if __name__ == "__main__":
    print(json.dumps(measure(PEERS[sys.argv[1]], int(sys.argv[2]))))
