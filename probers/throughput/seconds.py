"""Readings of counters at whole seconds -> bytes of each second. No I/O, no clock.

A sample needs two readings of one counter, each taken within 0.1 s of its whole second. What is
missing is a gap: no sample is ever spread over two seconds or guessed, since the inference of
skeletons compares when the rnics of different hosts burst.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import Final, NamedTuple

NS: Final = 1_000_000_000
#: How far from its whole second a counter may be read: half of what clocks of hosts may differ by.
MAX_OFFSET_NS: Final = 100_000_000


class Reading(NamedTuple):
    """Bytes that a counter has counted so far; source: which one, such as rdma:mlx5_0/1."""

    source: str
    tx: int
    rx: int


class Sample(NamedTuple):
    """Bytes that an rnic has sent and received in the second that began at ``second``."""

    real_ip: str
    second: int
    tx: int
    rx: int


class _Last(NamedTuple):
    """The newest reading of an rnic: the end of a second, its monotonic time, the counters (None
    where they could not be read in time)."""

    second: int
    running_ns: int
    reading: Reading | None


class Seconds:
    """The newest reading of each rnic.

    counts  rnic-seconds by outcome: sampled; missed (the process did not run in time, there is no
            earlier reading, or the clock was set); reset (a counter fell: it was reset, or has
            wrapped); unreadable
    """

    def __init__(self) -> None:
        self._last: dict[str, _Last] = {}
        self.counts: Counter[str] = Counter(sampled=0, missed=0, reset=0, unreadable=0)

    def retain(self, rnics: Collection[str]) -> None:
        """Forget all other rnics: they begin anew when they are read again."""
        for real_ip in self._last.keys() - set(rnics):
            del self._last[real_ip]

    def take(
        self, real_ip: str, reading: Reading | None, wall_ns: int, running_ns: int, took_ns: int
    ) -> Sample | None:
        """The second that has ended with this reading; None: it is a gap, and counted.

        reading     None: the counters could not be read
        wall_ns     since the epoch, before reading; running_ns: the monotonic clock then
        took_ns     for reading: the counters may be of any time in it
        """
        second = (wall_ns + NS // 2) // NS
        late = abs(wall_ns - second * NS) > MAX_OFFSET_NS or took_ns > MAX_OFFSET_NS
        before = self._last.get(real_ip)
        self._last[real_ip] = _Last(second, running_ns, None if late else reading)
        if before is not None:
            self.counts["missed"] += max(0, second - before.second - 1)
        if reading is None:
            self.counts["unreadable"] += 1
            return None
        first = None if before is None or late else self._begin(before, reading, second, running_ns)
        if first is None:
            self.counts["missed"] += 1
            return None
        tx, rx = reading.tx - first.tx, reading.rx - first.rx
        if min(tx, rx) < 0:
            self.counts["reset"] += 1
            return None
        self.counts["sampled"] += 1
        return Sample(real_ip, second - 1, tx, rx)

    @staticmethod
    def _begin(before: _Last, reading: Reading, second: int, running_ns: int) -> Reading | None:
        """The reading at the begin of the second that ends now, if there is one."""
        first = before.reading
        if first is None or first.source != reading.source or before.second != second - 1:
            return None
        stepped = abs(running_ns - before.running_ns - NS) > 2 * MAX_OFFSET_NS
        return None if stepped else first
