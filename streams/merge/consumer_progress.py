"""How far the assigned partitions of one topic have been read, and what is still to come."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from typing import NamedTuple


class UnreadRange(NamedTuple):
    """What a partition holds for its consumer when it is assigned: offsets in [start, end).

    deleted  messages after the committed offset that the broker no longer had [count]
    """

    start: int
    end: int
    deleted: int = 0


#: Offset ranges of the assigned partitions, read once after each assignment.
ReadUnreadRanges = Callable[[], Awaitable[dict[int, UnreadRange]]]
#: Where a partition ended at the consumer's last fetch.
HighWatermark = Callable[[int], "int | None"]
#: Where partitions end now, by the broker; those for which it does not answer are absent.
QueryEndOffsets = Callable[[Collection[int]], Awaitable[dict[int, int]]]


async def no_offset_ranges() -> dict[int, UnreadRange]:
    """Without a broker: unknown messages count as read."""
    return {}


async def no_end_offsets(partitions: Collection[int]) -> dict[int, int]:
    """Without a broker: unknown messages count as read."""
    return dict.fromkeys(partitions, 0)


class ConsumerProgress:
    """Offsets of one topic in one assignment.

    missing    messages that have not come: gaps in the offsets, and between the committed offset
               and the first one, as where the broker no longer had them; only rises [count]
    refreshes  times that ``refresh`` was answered; only rises [count]
    """

    def __init__(
        self,
        read_offset_ranges: ReadUnreadRanges = no_offset_ranges,
        high_watermark: HighWatermark = lambda partition: None,
        query_end_offsets: QueryEndOffsets = no_end_offsets,
    ) -> None:
        self._read_offset_ranges = read_offset_ranges
        self._high_watermark = high_watermark
        self._query_end_offsets = query_end_offsets
        self._ranges: dict[int, UnreadRange] | None = None
        self._first: dict[int, int] = {}  # offset of each partition's first message
        self._positions: dict[int, int] = {}
        self._ends: dict[int, int] = {}
        self._unanswered: set[int] = set()  # the broker did not answer where they end
        self._advanced: set[int] = set()  # since the last refresh
        self._caught_up = self._refreshed = False
        self._assignments = 0
        self.missing = 0
        self.refreshes = 0

    async def begin(self) -> None:
        """Read the offset ranges, once in an assignment."""
        while self._ranges is None:
            assignment = self._assignments
            ranges = await self._read_offset_ranges()
            if self._ranges is None and assignment == self._assignments:
                self._ranges = ranges
                self.missing += sum(each.deleted for each in ranges.values())
                for partition, offset in self._first.items():
                    self._count_skipped(partition, offset)

    def record(self, partition: int, offset: int) -> bool:
        """Record a message; True when a reading begins: its first message, or an earlier offset."""
        expected = self._positions.get(partition)
        if expected is not None and offset < expected:
            self._caught_up = self._refreshed = False
        if expected is not None:
            self.missing += max(0, offset - expected)
        else:
            self._first[partition] = offset
            self._count_skipped(partition, offset)
        self._positions[partition] = offset + 1
        self._advanced.add(partition)
        self._unanswered.discard(partition)
        return expected is None or offset < expected

    async def refresh(self) -> set[int]:
        """Ask the broker for the ends of partitions that have not advanced since the last refresh.

        Returns those that are read to their ends: no message that had arrived when this was called
        is still to come.
        """
        quiet = self.partitions() - self._advanced
        self._advanced.clear()
        await self._ask(quiet)
        quiet -= self._advanced
        self._refreshed = bool(self.partitions())
        if self._refreshed and not any(map(self.has_more, self.partitions())):
            self._caught_up = True
        self.refreshes += 1
        return {partition for partition in quiet if not self.has_more(partition)}

    async def ask_between(self, without: Collection[int]) -> None:
        """As ``refresh``, between two of them, but for some partitions."""
        await self._ask(self.partitions() - self._advanced - set(without))

    async def _ask(self, quiet: Collection[int]) -> None:
        ends = await self._query_end_offsets(quiet) if quiet else {}
        for partition in (self.partitions() - self._advanced).intersection(quiet):
            if partition in ends:
                self._ends[partition] = ends[partition]
                self._unanswered.discard(partition)
            else:
                self._unanswered.add(partition)

    @property
    def catching_up(self) -> bool:
        """Messages that were there when the assignment began are still being read."""
        return bool(self._positions) and not self._caught_up

    @property
    def unanswered(self) -> frozenset[int]:
        """Partitions of which the broker did not say where they end when it was last asked."""
        return frozenset(self._unanswered)

    def mark_caught_up(self) -> None:
        """The lag is small: the stage has caught up, although new messages keep coming."""
        self._caught_up = self._caught_up or self._refreshed

    def position(self, partition: int) -> int:
        """Offset of the next message to come."""
        return self._positions.get(partition, self._range(partition).start)

    def end(self, partition: int) -> int:
        """One past the last message that the broker is known to have."""
        return max(
            self._range(partition).end,
            self._ends.get(partition, 0),
            self._high_watermark(partition) or 0,
        )

    def has_more(self, partition: int) -> bool:
        """Messages of this partition are still to come, or the broker does not answer."""
        return partition in self._unanswered or self.position(partition) < self.end(partition)

    def partitions(self) -> set[int]:
        """Partitions that are known to be assigned."""
        return {*self._positions, *(self._ranges or ())}

    def reset(self) -> None:
        """A rebalance has begun: the assignment is over."""
        self._ranges = None
        self._assignments += 1
        self._caught_up = self._refreshed = False
        self._first.clear()
        self._positions.clear()
        self._ends.clear()
        self._unanswered.clear()
        self._advanced.clear()

    def _count_skipped(self, partition: int, first: int) -> None:
        """Count what its first message has left out, if it is known where it was to begin."""
        if self._ranges is not None and partition in self._ranges:
            self.missing += max(0, first - self._ranges[partition].start)

    def _range(self, partition: int) -> UnreadRange:
        return (self._ranges or {}).get(partition, UnreadRange(0, 0))
