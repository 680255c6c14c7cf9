"""Chunks of skh.windows -> second batches: one closed second over all partitions, in time order.

A worker that died or lost a partition may write a pane twice, the second time only in part. The
first complete version of a pane counts. A second is complete when the watermark of every partition
that is not idle has passed it.

Where agents that were cut off together send what they have kept, one worker may have read all of
its partitions before another has begun; the newest punctuations of the other's partitions are idle
still. So idle partitions are waited for as long as all others are returning.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import pyarrow as pa

from schemas.parameters.parameter import parameter
from schemas.wire.window_chunks import Header


@dataclass(frozen=True, slots=True)
class AssemblyParameters:
    """How partitions are joined.

    jump_s           a gap in event time longer than this is a jump: its seconds are not judged
    most_incomplete  panes and windows of which chunks are missing; beyond, the oldest is dropped
    idle_s           an idle partition so far behind is dropped; it may come again
    """

    jump_s: int = parameter(
        120, unit="s", source="chosen: pytest tests/localizer/test_second_batch.py"
    )
    most_incomplete: int = parameter(
        10_000, unit="panes and windows", source="chosen: bounds what untrusted chunks may add"
    )
    idle_s: int = parameter(900, unit="s", source="chosen: as long as hosts are remembered")


DEFAULT: Final = AssemblyParameters()


@dataclass(slots=True)
class SecondBatch:
    """Everything about one second: its panes, and the windows that end with it.

    jumped  whether event time jumped before this second
    """

    second: int
    panes: list[pa.RecordBatch] = field(default_factory=list)
    windows: list[pa.RecordBatch] = field(default_factory=list)
    jumped: bool = False


class _Mark(NamedTuple):
    """The newest punctuation of a partition; seconds: its watermark."""

    seconds: int = 0
    idle: bool = False
    returning: bool = False


class Assembler:
    """Joins the partitions of one fabric."""

    def __init__(self, parameters: AssemblyParameters = DEFAULT) -> None:
        self._parameters = parameters
        self._incomplete: dict[tuple[str, int, int, int], dict[int, pa.RecordBatch]] = {}
        self._panes: defaultdict[int, list[pa.RecordBatch]] = defaultdict(list)
        self._windows: defaultdict[int, list[pa.RecordBatch]] = defaultdict(list)
        self._accepted: dict[tuple[str, int], int] = {}  # kind, partition -> newest end
        self._marks: dict[int, _Mark] = {}  # by partition
        self.judged_s: int | None = None  # newest second that left as a batch
        self.repeated = 0  # chunks that were there already, or came after their second was judged

    def add(self, header: Header, batch: pa.RecordBatch) -> None:
        """Add a chunk of a pane or window."""
        if header.end_s <= self._accepted.get((header.kind, header.partition), 0):
            self.repeated += 1
            return
        key = (header.kind, header.partition, header.epoch, header.end_s)
        chunks = self._incomplete.setdefault(key, {})
        if len(self._incomplete) > self._parameters.most_incomplete:
            del self._incomplete[next(iter(self._incomplete))]
        chunks[header.chunk] = batch
        if len(chunks) < header.chunks:
            return
        self._accepted[(header.kind, header.partition)] = header.end_s
        for stale in [k for k in self._incomplete if k[:2] == key[:2] and k[3] <= header.end_s]:
            del self._incomplete[stale]
        if header.kind == "pane":
            if self.judged_s is None or header.end_s > self.judged_s + 1:
                self._panes[header.end_s - 1] += chunks.values()
            else:
                self.repeated += 1
        else:
            self._windows[header.end_s] += chunks.values()

    def punctuate(self, header: Header) -> None:
        """Advance the watermark of a partition; it never runs back."""
        self._marks = self._marks_after(header)

    def completes(self, header: Header) -> bool:
        """Whether this punctuation would complete a second, as far as watermarks tell; it changes
        nothing."""
        if self.judged_s is None:
            return True
        return self._complete_until(self._marks_after(header)) > self.judged_s + 1

    def drop_old(self) -> None:
        """Drop incomplete panes and windows of judged seconds, and partitions idle for long."""
        at, idle_s = self.judged_s, self._parameters.idle_s
        if at is None:
            return
        for key in [key for key in self._incomplete if key[3] <= at]:
            del self._incomplete[key]
        for partition, mark in list(self._marks.items()):
            if mark.idle and mark.seconds < at - idle_s and len(self._marks) > 1:
                del self._marks[partition]
        gone = [
            key for key, end_s in self._accepted.items()
            if end_s < at - idle_s and key[1] not in self._marks
        ]  # fmt: skip
        for each in gone:  # what they may repeat is of judged seconds
            del self._accepted[each]

    def sizes(self) -> dict[str, int]:
        """How much is stored, by what [count]."""
        return {
            "chunks_incomplete": sum(map(len, self._incomplete.values())),
            "chunks_waiting": sum(
                len(each) for of in (self._panes, self._windows) for each in of.values()
            ),
            "partitions": len(self._marks),
            "partitions_accepted": len(self._accepted),
        }

    @property
    def idle(self) -> bool:
        """Whether all partitions are idle: no sender probes any more."""
        return bool(self._marks) and all(each.idle for each in self._marks.values())

    def ready(self) -> Iterator[SecondBatch]:
        """Batches of all seconds that every partition has passed."""
        yield from self._until(self._complete_until(self._marks))

    def finish(self) -> Iterator[SecondBatch]:
        """Batches of all seconds that are left, at the end of the input."""
        yield from self._until(max(self._panes, default=-1) + 1)

    def _marks_after(self, header: Header) -> dict[int, _Mark]:
        known = self._marks.get(header.partition, _Mark())
        seconds = max(header.watermark_ms // 1000, known.seconds)
        return self._marks | {header.partition: _Mark(seconds, header.idle, header.returning)}

    @staticmethod
    def _complete_until(marks: Mapping[int, _Mark]) -> int:
        """The second before which everything is there."""
        every = [each.seconds for each in marks.values()]
        live = [each for each in marks.values() if not each.idle]
        returning = any(each.returning for each in marks.values())
        if returning and all(each.returning for each in live):
            return min(every)
        # All idle: their last watermarks are final.
        return min((each.seconds for each in live), default=max(every, default=0))

    def _until(self, watermark_s: int) -> Iterator[SecondBatch]:
        if self.judged_s is None:
            if not self._panes or watermark_s <= min(self._panes):
                return
            self.judged_s = min(self._panes) - 1
        while self.judged_s + 1 < watermark_s:
            second, jumped = self.judged_s + 1, False
            following = min((s for s in self._panes if s >= second), default=watermark_s)
            if following - second > self._parameters.jump_s:
                second, jumped = following, True
                if second >= watermark_s:
                    self.judged_s = watermark_s - 1
                    return
            self.judged_s = second
            windows = self._windows.pop(second + 1, [])
            for old in [end for end in self._windows if end <= second]:
                self.repeated += len(self._windows.pop(old))
            yield SecondBatch(second, self._panes.pop(second, []), windows, jumped)
