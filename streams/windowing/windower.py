"""The windower of one partition: ping records in, closed panes and windows out. No I/O.

Time is event time. The watermark is the median over live senders of each one's newest event, less
the lateness, so that one wrong clock cannot blind its neighbours. Arrival time (the Kafka
message's time stamp, or the ping time of a merged file) is an argument and decides two things:
which sources are live, and which event times are too far ahead to be true. The same records
therefore close the same panes live, replayed or from a file.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from schemas.parameters.window_timing import DEFAULT_TIMING, WindowTiming
from streams.windowing.panes import I32, I64, Pane, Pings, Window, close_pane, close_window
from streams.windowing.source_clocks import SECOND as SECOND  # the stages import it from here
from streams.windowing.source_clocks import SourceClocks


@dataclass(slots=True)
class Counts:
    """Where every record went: records = judged + late + duplicate + held; dead letters apart.

    late   too old for an open pane, or from a clock more than ``skew_s`` off the median
    ahead  of the late: beyond the broker's time + ``skew_s``
    """

    records: int = 0
    judged: int = 0
    late: int = 0
    duplicate: int = 0
    ahead: int = 0


@dataclass(slots=True)
class ClosedBatch:
    """The panes and windows that one step closed, in event-time order."""

    panes: list[Pane] = field(default_factory=list)
    windows: list[Window] = field(default_factory=list)


class Windower:
    """Holds open panes of one partition and closes them as the watermark passes."""

    def __init__(self, timing: WindowTiming = DEFAULT_TIMING) -> None:
        self._timing = timing
        self.counts = Counts()
        self.watermark_ns = 0
        self._clocks = SourceClocks(timing.skew_s, timing.idle_s)
        self._open: defaultdict[int, list[Pings]] = defaultdict(list)
        self._closed: dict[int, Pane] = {}  # panes that open windows need
        self._first_offset: dict[int, int] = {}  # second -> lowest offset of its records
        self._next_s: int | None = None  # the oldest second that can still be open
        self._next_offset = 0
        self._next_window_s = 0

    def ingest(
        self,
        pings: Pings,
        arrival_ns: int,
        sender: I32 | None = None,
        spooled: npt.NDArray[np.bool_] | None = None,
    ) -> None:
        """Put records into their panes.

        pings       records of any sources and times, in any order
        arrival_ns  when the newest of them arrived [ns]; must not run backwards by much
        sender      (n,) code of who sent each record; None: each source speaks for itself
        spooled     (n,) records that their sender had kept on disk: they say nothing about its
                    clock, and are judged only if their pane is still open; None: none
        """
        if not len(pings):
            return
        self.counts.records += len(pings)
        self._clocks.tick(arrival_ns)
        self._next_offset = max(self._next_offset, int(pings.offset.max()) + 1)
        if spooled is None:
            self._clocks.observe(pings.source, pings.time_ns, sender)
        else:
            by = None if sender is None else sender[~spooled]
            self._clocks.observe(pings.source[~spooled], pings.time_ns[~spooled], by)
        second = pings.time_ns // SECOND
        inside = allowed = self._clocks.allowed(pings.time_ns)
        if self._next_s is None:
            inside = inside if spooled is None else inside & ~spooled
        else:
            inside = (second >= self._next_s) & self._clocks.plausible(pings.time_ns)
        if not inside.all():
            self.counts.late += int((~inside).sum())
            self.counts.ahead += int((~allowed).sum())
            pings, second = pings.select(inside), second[inside]
        for s, part in _by_second(pings, second):
            self._open[s].append(part)
            low = int(part.offset.min())
            self._first_offset[s] = min(low, self._first_offset.get(s, low))

    def skewed(self) -> dict[int, float]:
        """See ``SourceClocks.skewed``."""
        return self._clocks.skewed()

    def tick(self, now_ns: int) -> None:
        """Advance the wall clock: time has passed though nothing may have arrived."""
        self._clocks.tick(now_ns)

    @property
    def median_ns(self) -> int:
        """See ``SourceClocks.median_ns``."""
        return self._clocks.median_ns

    @property
    def idle(self) -> bool:
        """No source is live: the localizer need not wait for this partition."""
        return self._clocks.idle

    def close(self, *, end_of_input: bool = False) -> ClosedBatch:
        """Close what the watermark has passed, or everything at the end of input."""
        closed = ClosedBatch()
        if self._next_s is None and not self._start(end_of_input=end_of_input):
            return closed
        assert self._next_s is not None  # noqa: S101 — _start set it
        if end_of_input:
            self._purge_future()
            newest = max(self._open, default=self._next_s - 1)
            self.watermark_ns = max(self.watermark_ns, (newest + 1) * SECOND)
        elif self.idle:  # all sources fell silent: nothing can still be on its way
            newest = max(self._open, default=self._next_s - 1)
            self.watermark_ns = max(self.watermark_ns, (newest + 1) * SECOND)
        else:
            mark = self._clocks.median_ns - int(self._timing.lateness_s * SECOND)
            # Clocks ahead of the broker close no pane whose records may still arrive.
            self.watermark_ns = max(self.watermark_ns, min(mark, self._clocks.arrival_ns))
        until_s = self.watermark_ns // SECOND
        for s in sorted(s for s in self._open if s < until_s):
            self._close_windows(s, closed)
            pane, duplicates = close_pane(s, self._open.pop(s))
            self.counts.duplicate += duplicates
            self.counts.judged += int(pane.records.sum())
            self._closed[s] = pane
            self._next_s = s + 1
            closed.panes.append(pane)
        self._close_windows(until_s, closed)
        self._next_s = max(self._next_s, until_s)
        return closed

    def _start(self, *, end_of_input: bool) -> bool:
        if not self._open:
            return False
        if self._clocks.span_ns < self._timing.startup_s * SECOND and not end_of_input:
            return False
        # By where sources begin, not where they are by now: a large first batch is not late.
        past_s = (self._clocks.first_ns - int(self._timing.skew_s * SECOND)) // SECOND
        self._next_s = min(self._open) if end_of_input else max(
            past_s, min((s for s in self._open if s >= past_s), default=past_s)
        )  # fmt: skip
        for s in [s for s in self._open if s < self._next_s]:
            self._drop(s)
        if not end_of_input:
            self._purge_future()
        self._next_window_s = (self._next_s // self._timing.hop_s + 1) * self._timing.hop_s
        return True

    def _purge_future(self) -> None:
        limit_s = self._clocks.future_ns // SECOND
        for s in [s for s in self._open if s > limit_s]:
            self._drop(s)

    def _drop(self, second: int) -> None:
        self.counts.late += sum(len(part) for part in self._open.pop(second))
        self._first_offset.pop(second, None)

    def _close_windows(self, before_s: int, closed: ClosedBatch) -> None:
        """Close windows that end at or before ``before_s``; an empty stretch closes none."""
        timing = self._timing
        while self._next_window_s <= before_s:
            end_s = self._next_window_s
            start_s = max(end_s - timing.window_s, 0)  # no second lies before 1970
            panes = [self._closed[s] for s in range(start_s, end_s) if s in self._closed]
            if panes:
                closed.windows.append(close_window(start_s, end_s, panes))
                self._next_window_s += timing.hop_s
            else:
                rest = before_s // timing.hop_s * timing.hop_s
                self._next_window_s = max(rest, end_s) + timing.hop_s
            self._drop_panes(self._next_window_s - timing.window_s)

    def _drop_panes(self, before_s: int) -> None:
        for s in [s for s in self._closed if s < before_s]:
            del self._closed[s]
            self._first_offset.pop(s, None)

    def needed_offset(self) -> int:
        """Lowest offset that open panes and windows need: the offset to commit."""
        needed = [
            self._first_offset[s] for s in (*self._open, *self._closed) if s in self._first_offset
        ]
        return min(needed, default=self._next_offset)

    def held(self) -> int:
        """Records in open panes [count]."""
        return sum(len(part) for parts in self._open.values() for part in parts)

    def held_paths(self) -> I32:
        """Indices of paths in open panes and windows: none of them may be evicted."""
        held = [part.path for parts in self._open.values() for part in parts]
        held += [pane.path for pane in self._closed.values()]
        return np.unique(np.concatenate(held)) if held else np.empty(0, np.int32)

    def reindex(self, moved: I32) -> None:
        """Renumber paths as ``PathTable.forget`` returns; held paths must have been retained."""
        for s, parts in self._open.items():
            self._open[s] = [replace(part, path=moved[part.path]) for part in parts]
        for s, pane in self._closed.items():
            low = np.uint64(0xFFFFFFFF)
            path = moved[(pane.samples >> np.uint64(32)).astype(np.int32)]
            samples = (path.astype(np.uint64) << np.uint64(32)) | (pane.samples & low)
            self._closed[s] = replace(pane, path=moved[pane.path], samples=samples)

    @property
    def clocks(self) -> SourceClocks:
        """Clocks of the source hosts; they follow when sources or senders are renumbered."""
        return self._clocks


def _by_second(pings: Pings, second: I64) -> Iterator[tuple[int, Pings]]:
    """Each second, and its records; most batches are of one or two."""
    if not len(pings):
        return
    first, last = int(second.min()), int(second.max())
    if first == last:
        yield first, pings
        return
    seconds = (first, last) if last == first + 1 else np.unique(second).tolist()
    for s in seconds:
        yield s, pings.select(second == s)
