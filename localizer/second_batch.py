"""Messages of skh.windows -> frames: one closed second over all partitions, in order of time.

A worker that died or lost a partition writes some panes twice, and the second time perhaps only in
part. The first complete version of a pane counts; a second is whole when the watermark of every
partition that is not idle has passed it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

import pyarrow as pa

from schemas.wire.window_chunks import Header

#: A hole in event time longer than this is a jump: nothing happened there, and nothing is judged.
JUMP_S = 120
#: Panes and windows of which chunks are still missing; beyond, the oldest is given up.
MOST_PARTS = 10_000
IDLE_S = 900  # a partition that is idle and so far behind is not waited for; it may come again


@dataclass(slots=True)
class SecondBatch:
    """Everything about one second: its panes, and the windows that end with it."""

    second: int
    panes: list[pa.RecordBatch] = field(default_factory=list)
    windows: list[pa.RecordBatch] = field(default_factory=list)
    jumped: bool = False


class Assembler:
    """Joins the partitions of one fabric."""

    def __init__(self) -> None:
        self._parts: dict[tuple[str, int, int, int], dict[int, pa.RecordBatch]] = {}
        self._panes: defaultdict[int, list[pa.RecordBatch]] = defaultdict(list)
        self._windows: defaultdict[int, list[pa.RecordBatch]] = defaultdict(list)
        self._accepted: dict[tuple[str, int], int] = {}  # kind, partition -> newest end
        self._watermark: dict[int, tuple[int, bool]] = {}  # partition -> seconds, idle
        self.judged_s: int | None = None  # newest second that left as a frame
        self.repeated = 0  # chunks of what was there already, or came after its second was judged

    def add(self, header: Header, batch: pa.RecordBatch) -> None:
        """Take a chunk of a pane or window."""
        if header.end_s <= self._accepted.get((header.kind, header.partition), 0):
            self.repeated += 1
            return
        key = (header.kind, header.partition, header.epoch, header.end_s)
        chunks = self._parts.setdefault(key, {})
        if len(self._parts) > MOST_PARTS:
            del self._parts[next(iter(self._parts))]
        chunks[header.chunk] = batch
        if len(chunks) < header.chunks:
            return
        self._accepted[(header.kind, header.partition)] = header.end_s
        for stale in [k for k in self._parts if k[:2] == key[:2] and k[3] <= header.end_s]:
            del self._parts[stale]
        if header.kind == "pane":
            if self.judged_s is None or header.end_s > self.judged_s + 1:
                self._panes[header.end_s - 1] += chunks.values()
            else:
                self.repeated += 1
        else:
            self._windows[header.end_s] += chunks.values()

    def punctuate(self, header: Header) -> None:
        """Time has passed in a partition; its watermark never runs back."""
        seconds = header.watermark_ms // 1000
        known = self._watermark.get(header.partition, (0, False))[0]
        self._watermark[header.partition] = (max(seconds, known), header.idle)

    def forget(self) -> None:
        """Drop incomplete panes and windows of seconds that were judged, and what partitions said
        last that have been idle for long."""
        at = self.judged_s
        if at is None:
            return
        for key in [key for key in self._parts if key[3] <= at]:
            del self._parts[key]
        for partition, (seconds, idle) in list(self._watermark.items()):
            if idle and seconds < at - IDLE_S and len(self._watermark) > 1:
                del self._watermark[partition]
        gone = [
            key for key, end_s in self._accepted.items()
            if end_s < at - IDLE_S and key[1] not in self._watermark
        ]  # fmt: skip
        for each in gone:  # what they repeat is of seconds that were judged
            del self._accepted[each]

    def sizes(self) -> dict[str, int]:
        """How much is remembered, by what."""
        return {
            "chunks_incomplete": sum(map(len, self._parts.values())),
            "chunks_waiting": sum(
                len(each) for of in (self._panes, self._windows) for each in of.values()
            ),
            "partitions": len(self._watermark),
            "partitions_accepted": len(self._accepted),
        }

    @property
    def idle(self) -> bool:
        """Nobody probes any more, in any partition."""
        return bool(self._watermark) and all(idle for _, idle in self._watermark.values())

    def ready(self) -> Iterator[SecondBatch]:
        """Frames of all seconds that every partition has passed."""
        marks = [seconds for seconds, idle in self._watermark.values() if not idle]
        if not marks and self._watermark:  # all idle: what they said last is final
            marks = [max(seconds for seconds, _ in self._watermark.values())]
        yield from self._until(min(marks, default=0))

    def finish(self) -> Iterator[SecondBatch]:
        """All that is left, at the end of the input."""
        yield from self._until(max(self._panes, default=-1) + 1)

    def _until(self, watermark_s: int) -> Iterator[SecondBatch]:
        if self.judged_s is None:
            if not self._panes or watermark_s <= min(self._panes):
                return
            self.judged_s = min(self._panes) - 1
        while self.judged_s + 1 < watermark_s:
            second, jumped = self.judged_s + 1, False
            following = min((s for s in self._panes if s >= second), default=watermark_s)
            if following - second > JUMP_S:
                second, jumped = following, True
                if second >= watermark_s:
                    self.judged_s = watermark_s - 1
                    return
            self.judged_s = second
            windows = self._windows.pop(second + 1, [])
            for old in [end for end in self._windows if end <= second]:
                self.repeated += len(self._windows.pop(old))
            yield SecondBatch(second, self._panes.pop(second, []), windows, jumped)
