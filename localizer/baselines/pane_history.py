"""The newest panes of every path: a ring of seconds, and behind it bins of growing length."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from localizer.baselines import long_counts
from localizer.baselines.long_counts import Dropped, LongCountParameters, LongCounts
from localizer.baselines.seconds.sparse_lines import SparseLines

F32 = npt.NDArray[np.float32]
I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]
U32 = npt.NDArray[np.uint32]

_MOST: Final = np.iinfo(np.uint32).max  # sums are modulo 2^32 at the widest


class PaneHistory:
    """Counts of the last ``seconds`` panes per path, 0 where nothing was sent.

    Probes sent are running sums (modulo 2^8), so that the count of any stretch of seconds is one
    difference, however long it is: 1 B a second and path, and room for an eighth more paths. Once a
    path has so many probes that a stretch may exceed that, the sums are modulo 2^16, or 2^32: 2 or
    4 B. Losses, refusals and round trips are stored of the paths that have any: ``SparseLines``.
    """

    FIELDS = ("sent", "lost", "refused")

    def __init__(
        self, seconds: int = 32, parameters: LongCountParameters = long_counts.DEFAULT
    ) -> None:
        self.seconds = seconds
        self.long = LongCounts(parameters)
        self.dropped: list[Dropped] = []  # bins that the last second made too old
        self._paths = 0
        # One line more than seconds: a stretch is counted from the line before its first second.
        self._sent: npt.NDArray[np.unsignedinteger] = np.zeros((seconds + 1, 0), np.uint8)
        self._few = {name: SparseLines(seconds, np.uint32) for name in ("lost", "refused")}
        self._rtt_us = SparseLines(seconds, np.float32)
        self._newest: int | None = None
        self._seen: I64 = np.empty(0, np.int64)

    @property
    def nbytes(self) -> int:
        """Memory in use [B], without that of windows of minutes."""
        lines = (*self._few.values(), self._rtt_us)
        return self._sent.nbytes + self._seen.nbytes + sum(each.nbytes for each in lines)

    @property
    def last_seen(self) -> I64:
        """(P,) newest second in which each path was probed; -1 for none."""
        return self._seen[: self._paths]

    def grow(self, paths: int) -> None:
        """Make room for new paths."""
        room = len(self._seen)
        if paths > room:
            more = paths + paths // 8 - room
            self._sent = _wider(self._sent, more)
            self._seen = np.concatenate([self._seen, np.full(more, -1, np.int64)])
        self._paths = max(self._paths, paths)

    def put(
        self,
        second: int,
        rows: I64,
        rtt_us: npt.NDArray[np.float32],
        **counts: npt.NDArray[np.unsignedinteger],
    ) -> None:
        """Write one second: mean round trip (0: no answer) and counts, aligned with ``rows``.

        Seconds come in order; those that were left out had no probes.
        """
        self.dropped = []
        newest = second - 1 if self._newest is None else self._newest
        for skipped in range(max(newest + 1, second - self.seconds), second):
            self._next(skipped)
            self._push_bin_if_due(skipped)
        self._next(second)
        self._newest = second
        self._rtt_us.put(second, rows, rtt_us, self._paths)
        for name, lines in self._few.items():
            lines.put(second, *_counted(rows, counts[name]), self._paths)
        added = np.zeros(self._paths, np.uint32)
        np.add.at(added, rows, counts["sent"].astype(np.uint32))
        most = int(added.max(initial=0)) * self.seconds  # in any stretch
        if most > np.iinfo(self._sent.dtype).max:
            self._sent = _running(self._sent, second, np.min_scalar_type(min(most, _MOST)))
        line = self._sent[second % (self.seconds + 1), : self._paths]
        np.add(line, added, out=line, casting="same_kind")
        self.last_seen[rows] = second
        self._push_bin_if_due(second)

    def _push_bin_if_due(self, second: int) -> None:
        bin_s = self.long.parameters.bin_s
        if bin_s <= self.seconds and (second + 1) % bin_s == 0:
            sent, lost = (self.total(name, second, bin_s) for name in ("sent", "lost"))
            dropped = self.long.push(sent, lost)
            self.dropped += [dropped] if dropped is not None else []

    def _next(self, second: int) -> None:
        ring = self._sent
        before, line = (ring[s % len(ring), : self._paths] for s in (second - 1, second))
        line[:] = before

    def total(self, name: str, second: int, length: int, rows: I64 | None = None) -> I64:
        """(P,) sum over the ``length`` seconds up to and with ``second``; or of some rows (n,).

        Of more seconds than the ring holds, ``length`` must be one of ``lengths``.
        """
        if length <= self.seconds:
            return self._between(name, second, length, rows).astype(np.int64)
        if length not in self.lengths(second):
            raise ValueError(f"{length} s asked for; the ring holds {self.seconds}")
        since = self._since_bin(second)
        out = self.long.total(name, length - since, self._paths)
        out = out if rows is None else out[rows]
        return out + self._between(name, second, since, rows) if since else out

    def counts(self, name: str, second: int, length: int) -> U32:
        """(P,) ``total`` of a stretch of the ring in half the memory; it is not to be written."""
        return self._between(name, second, length)

    def any(self, name: str, second: int, length: int, rows: npt.NDArray[np.bool_]) -> bool:
        """Whether ``total`` of "lost" or "refused" is more than 0 for any path of a mask (P,)."""
        self._check(length)
        some = self._few[name].rows(second, length)
        some = some[rows[some]]
        return bool(len(some) and self._between(name, second, length, some).any())

    def parts(self, name: str, second: int, length: int, rows: I64) -> I64:
        """(B, n) sums of some rows over consecutive parts, newest first, of a window of one of
        ``lengths``."""
        since = self._since_bin(second)
        out = self.long.parts(name, length - since, rows)
        return np.vstack([self._between(name, second, since, rows), out]) if since else out

    def lengths(self, second: int) -> list[int]:
        """Lengths of the windows up to and with ``second`` beyond those of the ring [s]."""
        since = self._since_bin(second)
        return [each + since for each in self.long.lengths if each + since > self.seconds]

    def _since_bin(self, second: int) -> int:
        return (second + 1) % self.long.parameters.bin_s

    def line(self, name: str, second: int) -> I32:
        """(P,) one second."""
        return self._between(name, second, 1).astype(np.int32)

    def by_second(self, name: str, second: int, length: int, rows: I64) -> I64:
        """(length,) sum over some rows (n,) in each second up to and with ``second``."""
        self._check(length)
        if name in self._few:
            return self._few[name].by_second(second, length, rows, self._paths)
        ring = self._sent
        sums = np.stack([ring[s % len(ring), rows] for s in range(second - length, second + 1)])
        total: I64 = np.diff(sums, axis=0).sum(axis=1, dtype=np.int64)
        return total

    def heard(self, second: int, length: int) -> npt.NDArray[np.bool_]:
        """(P,) whether a probe was answered in the ``length`` seconds up to and with ``second``."""
        heard: npt.NDArray[np.bool_] = self._between("sent", second, length) > 0
        some = np.union1d(*(lines.rows(second, length) for lines in self._few.values()))
        sent, *others = (self._between(name, second, length, some) for name in self.FIELDS)
        heard[some] = sent > sum(others)
        return heard

    def _between(
        self, name: str, second: int, length: int, rows: I64 | None = None
    ) -> npt.NDArray[np.uint32]:
        self._check(length)
        if name in self._few:
            total = self._few[name].total(second, length, self._paths)
            return total if rows is None else total[rows]
        ring = self._sent
        after, before = (ring[s % len(ring), : self._paths] for s in (second, second - length))
        sums = np.subtract(after, before) if rows is None else after[rows] - before[rows]
        return sums.astype(np.uint32, copy=False)

    def _check(self, length: int) -> None:
        if not 0 < length <= self.seconds:
            raise ValueError(f"{length} s asked for; the ring holds {self.seconds}")

    def rtt_us(self, second: int) -> F32:
        """(P,) mean round trip in one second [us], 0 where nothing answered."""
        line: F32 = self._rtt_us.line(second, self._paths)
        return line

    def probed_rtt_us(self, second: int) -> tuple[I64, F32]:
        """(n,) paths that were probed in a second, and their mean round trips (n,) [us], 0 where
        nothing answered."""
        return self._rtt_us.given(second)

    def erase(self, rows: npt.NDArray[np.bool_]) -> None:
        """Forget the counts of some paths: what they said has been explained otherwise."""
        where = np.flatnonzero(rows)
        self._sent[:, where] = 0
        for lines in self._few.values():
            lines.erase(rows)
        self.long.erase(where)

    def clear(self) -> None:
        """Forget everything but who the paths are: event time jumped."""
        self._newest = None
        self.long.clear()
        self._sent[:] = 0
        for lines in (*self._few.values(), self._rtt_us):
            lines.clear()

    def retain(self, rows: npt.NDArray[np.bool_]) -> None:
        """Drop all other paths."""
        where = np.flatnonzero(rows)
        self.long.retain(rows)
        self._sent = self._sent.take(where, axis=1)  # line by line, as sums are read
        for lines in (*self._few.values(), self._rtt_us):
            lines.retain(rows)
        self._seen = self._seen[where]
        self._paths = len(where)


def _counted(rows: I64, counts: npt.NDArray[np.unsignedinteger]) -> tuple[I64, U32]:
    """(m,) rows with a count, each once, and their counts; rows, counts (n,)."""
    there = np.flatnonzero(counts)
    some, added = rows[there], counts[there].astype(np.uint32)
    each, of = np.unique(some, return_inverse=True)
    if len(each) == len(some):
        return some, added
    total = np.zeros(len(each), np.uint32)  # a path that two partitions have counted
    np.add.at(total, of, added)
    return each, total


def _running(
    ring: npt.NDArray[np.unsignedinteger], second: int, dtype: np.dtype[Any]
) -> npt.NDArray[np.unsignedinteger]:
    """The ring with sums of a wider type; ``second`` is its newest line."""
    order = np.arange(second + 1, second + 1 + len(ring)) % len(ring)  # oldest first
    lines = ring[order]
    out = np.zeros(ring.shape, dtype)
    out[order[1:]] = np.cumsum(lines[1:] - lines[:-1], axis=0, dtype=dtype)
    return out


def _wider(ring: npt.NDArray[Any], more: int) -> npt.NDArray[Any]:
    out: npt.NDArray[Any] = np.zeros((len(ring), ring.shape[1] + more), ring.dtype)
    out[:, : ring.shape[1]] = ring
    return out
