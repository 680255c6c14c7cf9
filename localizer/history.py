"""The newest panes of every path, as a ring of seconds."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]


class History:
    """Counts of the last ``seconds`` panes: (seconds, P) per field, 0 where nothing was sent."""

    FIELDS = ("sent", "lost", "refused")

    def __init__(self, seconds: int = 32) -> None:
        self.seconds = seconds
        self._ring = {name: np.zeros((seconds, 0), np.int32) for name in self.FIELDS}
        self._rtt_us = np.zeros((seconds, 0), np.float32)
        self.last_seen: I64 = np.empty(0, np.int64)

    def grow(self, paths: int) -> None:
        """Make room for new paths."""
        more = paths - len(self.last_seen)
        if more > 0:
            for name, ring in self._ring.items():
                self._ring[name] = np.hstack([ring, np.zeros((self.seconds, more), np.int32)])
            self._rtt_us = np.hstack([self._rtt_us, np.zeros((self.seconds, more), np.float32)])
            self.last_seen = np.concatenate([self.last_seen, np.full(more, -1, np.int64)])

    def put(
        self,
        second: int,
        rows: I64,
        rtt_us: npt.NDArray[np.float32],
        **counts: npt.NDArray[np.unsignedinteger],
    ) -> None:
        """Write one second: mean round trip (0: no answer) and counts, aligned with ``rows``."""
        self._rtt_us[second % self.seconds] = 0.0
        self._rtt_us[second % self.seconds, rows] = rtt_us
        for name, ring in self._ring.items():
            line = ring[second % self.seconds]
            line[:] = 0
            np.add.at(line, rows, counts[name].astype(np.int32))
        self.last_seen[rows] = second

    def total(self, name: str, second: int, length: int) -> I64:
        """(P,) sum over the ``length`` seconds up to and with ``second``."""
        at = [(second - back) % self.seconds for back in range(length)]
        total: I64 = self._ring[name][at].sum(axis=0, dtype=np.int64)
        return total

    def line(self, name: str, second: int) -> I32:
        """(P,) one second."""
        line: I32 = self._ring[name][second % self.seconds]
        return line

    def rtt_us(self, second: int) -> npt.NDArray[np.float32]:
        """(P,) mean round trip in one second [us], 0 where nothing answered."""
        line: npt.NDArray[np.float32] = self._rtt_us[second % self.seconds]
        return line

    def erase(self, rows: npt.NDArray[np.bool_]) -> None:
        """Forget the counts of some paths: what they said has been explained otherwise."""
        for ring in self._ring.values():
            ring[:, rows] = 0

    def clear(self) -> None:
        """Forget the counts: event time jumped."""
        for ring in self._ring.values():
            ring[:] = 0

    def keep(self, rows: npt.NDArray[np.bool_]) -> None:
        """Drop all other paths."""
        self._ring = {
            name: np.ascontiguousarray(ring[:, rows]) for name, ring in self._ring.items()
        }
        self._rtt_us = np.ascontiguousarray(self._rtt_us[:, rows])
        self.last_seen = self.last_seen[rows]
