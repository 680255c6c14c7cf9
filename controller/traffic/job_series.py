"""Bytes of the rnics of one job in the newest seconds; of bounded size, no I/O."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from controller.ping_lists.endpoints import Endpoint
from controller.skeleton.series import Rnics, Throughput

I64 = NDArray[np.int64]

_NS = 1_000_000_000
_NEVER = -1


class JobSeries:
    """A ring of ``kept_s`` seconds for each of N rnics; 8 B per rnic and second.

    rnics    by host and rail
    since_s  samples of earlier seconds are of no use
    """

    def __init__(self, rnics: Sequence[Endpoint], since_s: int, kept_s: int) -> None:
        self.rnics = list(rnics)
        self._since_s = since_s
        self._kept_s = kept_s
        shape = (len(self.rnics), kept_s)
        self._tx = np.full(shape, np.nan, np.float32)
        self._rx = np.full(shape, np.nan, np.float32)
        self._second = np.full(kept_s, _NEVER, np.int64)  # that each column holds
        self._newest_s = np.full(len(self.rnics), _NEVER, np.int64)

    @property
    def first_s(self) -> int:
        """The earliest second that is held; only where ``seconds`` are more than 0."""
        return int(self._second[self._second != _NEVER].min())

    @property
    def last_s(self) -> int:
        """The newest second of which half of the rnics have a sample or a later one.

        -1 before there is one, and for a job without rnics in the topology.
        """
        if not self.rnics:
            return _NEVER
        return int(np.quantile(self._newest_s, 0.5, method="lower"))

    @property
    def seconds(self) -> int:
        """Length of the throughput [s]: 0 before half of the rnics have a sample."""
        return 0 if self.last_s == _NEVER else max(0, self.last_s - self.first_s + 1)

    def add(self, row: I64, second: I64, tx: I64, rx: I64) -> None:
        """Samples (K,) in any order; of two of an rnic and second the later one counts.

        Those before ``since_s`` and those that are too old by now are left out.
        """
        newest_s = max(int(self._second.max()), int(second.max(initial=_NEVER)))
        use = (second >= self._since_s) & (second > newest_s - self._kept_s)
        row, second, tx, rx = row[use], second[use], tx[use], rx[use]
        column = second % self._kept_s
        for new in np.unique(second[self._second[column] != second]).tolist():
            at = new % self._kept_s
            self._second[at] = new
            self._tx[:, at] = self._rx[:, at] = np.nan
        self._tx[row, column], self._rx[row, column] = tx, rx
        np.maximum.at(self._newest_s, row, second)
        self._second[(self._second != _NEVER) & (self._second <= newest_s - self._kept_s)] = _NEVER

    def throughput(self) -> tuple[Throughput, Rnics]:
        """The series from the first to the last second, with the names of its rows.

        Only where ``seconds`` are more than 0.
        """
        span = np.arange(self.first_s, self.last_s + 1)
        column = span % self._kept_s
        held = self._second[column] == span
        tx = np.where(held, self._tx[:, column], np.float32(np.nan))
        rx = np.where(held, self._rx[:, column], np.float32(np.nan))
        hosts = [each.node_sn for each in self.rnics]
        number = np.unique(hosts, return_inverse=True)[1].astype(np.int64)
        rails = np.array([each.rail for each in self.rnics], np.int64)
        names = Rnics(hosts, [each.real_ip for each in self.rnics], self.first_s * _NS)
        return Throughput(tx, rx, number, rails), names
