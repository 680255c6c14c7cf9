"""Clocks of a partition's source hosts: newest event and last arrival of each. No I/O.

The watermark follows their median, so that one wrong clock cannot blind its neighbours. Two bounds
keep a hostile sender from moving it: a time beyond the broker's time + skew has no vote, and a
sender has one vote, however many hosts it claims to be. A source all of whose newest times are
beyond that has no vote until they are not: its last valid one would hold the others.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]
Bool = npt.NDArray[np.bool_]

SECOND = 1_000_000_000
_NONE = np.iinfo(np.int64).min


class SourceClocks:
    """Rows are source codes (``admission.senders.Sources``); times in ns since the epoch."""

    def __init__(self, skew_s: float, idle_s: float) -> None:
        self._skew_ns = int(skew_s * SECOND)
        self._idle_ns = int(idle_s * SECOND)
        self.arrival_ns = 0  # newest arrival, of any source
        self._first: I64 = np.empty(0, np.int64)  # oldest event
        self._newest: I64 = np.empty(0, np.int64)  # newest event as claimed
        self._vote: I64 = np.empty(0, np.int64)  # newest event that the broker's time allows
        self._arrival: I64 = np.empty(0, np.int64)
        self._sender: I64 = np.empty(0, np.int64)
        self._named = False  # senders are known; else each source is its own sender
        self._alike = True  # one source a sender, or one sender: no grouping is needed
        self._median: int | None = None

    def __len__(self) -> int:
        return len(self._first)

    def tick(self, now_ns: int) -> None:
        """Advance the wall clock [ns]: time has passed though nothing may have arrived."""
        self.arrival_ns = max(self.arrival_ns, now_ns)
        self._median = None

    def allowed(self, time_ns: I64) -> Bool:
        """(n,) events that are not beyond the broker's time + skew."""
        return time_ns <= self.arrival_ns + self._skew_ns

    def observe(self, source: I32, time_ns: I64, sender: I32 | None) -> None:
        """Record events that arrived by ``arrival_ns``.

        source   (n,) code of the source host; time_ns (n,) event time
        sender   (n,) code of who sent the record; None: each source is its own sender
        """
        if not len(source):
            return
        self._grow(int(source.max()) + 1)
        self._named = self._named or sender is not None
        order = np.argsort(source, kind="stable")
        source, time_ns = source[order], time_ns[order]
        starts = np.flatnonzero(np.concatenate([[True], source[1:] != source[:-1]]))
        of = source[starts]
        new = self._arrival[of] == _NONE
        # A sender must not take over the vote of a source that another sender reports just now.
        free = new | (self._arrival[of] < self.arrival_ns - self._idle_ns)
        if free.any():
            by = of.astype(np.int64) if sender is None else sender[order][starts].astype(np.int64)
            if (self._sender[of[free]] != by[free]).any():
                self._sender[of[free]] = by[free]
                self._alike = self._all_alike()
        latest = np.maximum.reduceat(time_ns, starts)
        self._newest[of] = self._advanced(self._newest[of], latest)
        fit = self.allowed(time_ns)
        vote = latest
        oldest = np.minimum.reduceat(time_ns, starts)
        if not fit.all():
            vote = np.maximum.reduceat(np.where(fit, time_ns, _NONE), starts)
        voting = vote != _NONE
        self._vote[of[~voting]] = _NONE
        self._vote[of[voting]] = self._advanced(self._vote[of[voting]], vote[voting])
        self._first[of[voting]] = np.minimum(self._first[of[voting]], oldest[voting])
        self._arrival[of] = self.arrival_ns
        self._median = None

    def _advanced(self, known: I64, new: I64) -> I64:
        """Newest of both, unless a clock has stepped back by more than the skew."""
        stepped_back = (known != _NONE) & (new < known - self._skew_ns)
        out: I64 = np.where(stepped_back, new, np.maximum(known, new))
        return out

    def _grow(self, size: int) -> None:
        if (more := size - len(self)) > 0:
            none = np.full(more, _NONE, np.int64)
            self._first = np.concatenate([self._first, np.full(more, np.iinfo(np.int64).max)])
            self._newest = np.concatenate([self._newest, none])
            self._vote = np.concatenate([self._vote, none])
            self._arrival = np.concatenate([self._arrival, none])
            self._sender = np.concatenate([self._sender, np.full(more, -1, np.int64)])

    def _all_alike(self) -> bool:
        senders = np.unique(self._sender)
        return len(senders) <= 1 or len(senders) == len(self._sender)

    # --- over all sources -------------------------------------------------------------------------

    @property
    def median_ns(self) -> int:
        """Median of the live senders' clocks, never ahead of half of them; 0: no sender.

        Of an even number it is the lower one; but where the middle two differ by more than the
        skew, a clock is wrong, and the broker's time tells that it is the one behind.
        """
        if self._median is None:
            self._median = self._middle(self._vote, self.arrival_ns)
        return self._median

    @property
    def expected_ns(self) -> int:
        """What a right clock shows when the newest record arrives; 0: no sender.

        It is the median of what clocks showed when they were last heard, each advanced by the time
        since then: where most sources of a partition stop at once, the others run on. It is never
        behind ``median_ns``.
        """
        if not self.median_ns:
            return 0
        offset = np.where(self._vote == _NONE, 0, self._vote - self._arrival)
        return max(self.median_ns, self.arrival_ns + self._middle(offset, 0))

    @property
    def first_ns(self) -> int:
        """Lower median of the senders' first events; 0: no event yet."""
        return self._of_senders(self._first, np.flatnonzero(self._vote != _NONE))

    @property
    def span_ns(self) -> int:
        """Longest stretch of event time that one source has covered."""
        rows = self._vote != _NONE
        return int((self._vote[rows] - self._first[rows]).max(initial=0))

    @property
    def idle(self) -> bool:
        """No source that has a vote has sent anything for the idle time."""
        return not (self._live() & (self._vote != _NONE)).any()

    @property
    def future_ns(self) -> int:
        """Newest event time that can be judged: the skew beyond a right clock and the broker's."""
        return min(self.expected_ns, self.arrival_ns) + self._skew_ns

    def plausible(self, time_ns: I64) -> Bool:
        """(n,) events up to ``future_ns``."""
        # Nearly always by the median, which is known already.
        near: Bool = time_ns <= min(self.median_ns, self.arrival_ns) + self._skew_ns
        return near if near.all() else np.asarray(time_ns <= self.future_ns)

    def skewed(self) -> dict[int, float]:
        """Sources that send now and whose clock is off by more than the skew: code -> offset [s].

        A source that stopped sending is behind too, but that is silence, not a wrong clock.
        """
        rows = np.flatnonzero(self._live() & (self._arrival >= self.arrival_ns - 2 * SECOND))
        off = self._newest[rows] - (self.expected_ns or self.arrival_ns)
        wrong = np.abs(off) > self._skew_ns
        return {
            int(code): by / SECOND
            for code, by in zip(rows[wrong].tolist(), off[wrong].tolist(), strict=True)
        }

    def _middle(self, values: I64, latest: int) -> int:
        """Median of the live senders' values; see ``median_ns`` for an even number of them."""
        rows = np.flatnonzero(self._live() & (self._vote != _NONE))
        lower = self._of_senders(values, rows)
        upper = self._of_senders(values, rows, upper=True)
        return max(lower, min(upper, latest)) if upper - lower > self._skew_ns else lower

    def _live(self) -> Bool:
        return self._arrival >= max(self.arrival_ns - self._idle_ns, 0)

    def _of_senders(self, values: I64, rows: I64, *, upper: bool = False) -> int:
        """Lower (or upper) median over senders of the lower median over each one's sources."""
        values = values[rows]
        if not len(values):
            return 0
        if not self._alike:
            sender = self._sender[rows]
            order = np.lexsort((values, sender))
            values, sender = values[order], sender[order]
            starts = np.flatnonzero(np.concatenate([[True], sender[1:] != sender[:-1]]))
            count = np.diff(starts, append=len(sender))
            values = values[starts + (count - 1) // 2]
        middle = (len(values) - (0 if upper else 1)) // 2
        return int(np.partition(values, middle)[middle])

    # --- renumbering ------------------------------------------------------------------------------

    @property
    def senders(self) -> I32:
        """Codes of senders that sources refer to, sorted, unique; none when none was named."""
        return np.unique(self._sender).astype(np.int32) if self._named else np.empty(0, np.int32)

    def reindex(self, moved: I32) -> None:
        """Renumber sources: moved (sources,) is the new code of each old one, -1: gone."""
        keep = np.flatnonzero(moved[: len(self)] >= 0)
        self._first, self._newest = self._first[keep], self._newest[keep]
        self._vote, self._arrival = self._vote[keep], self._arrival[keep]
        self._sender = self._sender[keep] if self._named else np.arange(len(keep))
        self._alike = self._all_alike()
        self._median = None

    def reindex_senders(self, moved: I32) -> None:
        """Renumber senders as ``Senders.retain`` returns; every sender in use must be retained."""
        if self._named:
            self._sender = moved[self._sender].astype(np.int64)
