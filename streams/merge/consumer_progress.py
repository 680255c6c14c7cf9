"""How far the assigned partitions of one topic have been read, and how much is still to come."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from typing import Final, NamedTuple

SETTLED_S: Final = 5.0  # a stage that is less late has caught up after a start or a rebalance


class OffsetRange(NamedTuple):
    """What a partition holds for us when it is assigned: from ``start`` up to before ``end``."""

    start: int
    end: int


#: Extents of the assigned partitions, asked once after each assignment.
ReadExtents = Callable[[], Awaitable[dict[int, OffsetRange]]]
#: Where a partition ended at the consumer's last fetch.
Highwater = Callable[[int], "int | None"]
#: Where partitions end now, asked of the broker; those that it cannot say are absent.
AskEnds = Callable[[Collection[int]], Awaitable[dict[int, int]]]


async def no_extents() -> dict[int, OffsetRange]:
    """Where nobody can be asked: what is not known is taken to be read."""
    return {}


async def no_ends(partitions: Collection[int]) -> dict[int, int]:
    """Where nobody can be asked: what is not known is taken to be read."""
    return dict.fromkeys(partitions, 0)


class ConsumerProgress:
    """Offsets of one topic in one assignment."""

    def __init__(
        self,
        read_extents: ReadExtents = no_extents,
        highwater: Highwater = lambda partition: None,
        ask_ends: AskEnds = no_ends,
    ) -> None:
        self._read_extents = read_extents
        self._highwater = highwater
        self._ask_ends = ask_ends
        self._extents: dict[int, OffsetRange] | None = None
        self._seen: dict[int, int] = {}
        self._ends: dict[int, int] = {}
        self._mute: set[int] = set()  # the broker could not say where they end
        self._came: set[int] = set()  # since the last refresh
        self._settled = self._refreshed = False
        self.missing = 0  # messages that the broker no longer had; only rises

    async def begin(self) -> None:
        """Ask for the extents, once in an assignment."""
        if self._extents is None:
            self._extents = await self._read_extents()

    def take(self, partition: int, offset: int) -> bool:
        """Note a message; True when it begins a reading: the first, or one from further back."""
        expected = self._seen.get(partition)
        if expected is not None and offset < expected:
            self._settled = self._refreshed = False
        if expected is not None:
            self.missing += max(0, offset - expected)
        self._seen[partition] = offset + 1
        self._came.add(partition)
        self._mute.discard(partition)
        return expected is None or offset < expected

    async def refresh(self) -> set[int]:
        """Ask where those partitions end that have not come since the last time.

        Returns those of them that are read to that end: of whatever had arrived when this was
        called, nothing is still to come.
        """
        quiet = self.partitions() - self._came
        self._came.clear()
        ends = await self._ask_ends(quiet) if quiet else {}
        quiet &= self.partitions() - self._came
        for partition in quiet:
            if partition in ends:
                self._ends[partition] = ends[partition]
                self._mute.discard(partition)
            else:
                self._mute.add(partition)
        self._refreshed = bool(self.partitions())
        if self._refreshed and not any(map(self.behind, self.partitions())):
            self._settled = True
        return {partition for partition in quiet if not self.behind(partition)}

    @property
    def catching_up(self) -> bool:
        """What was there when an assignment began is still being read."""
        return bool(self._seen) and not self._settled

    def settle(self) -> None:
        """The stage is hardly late any more: it has caught up, though there is always more."""
        self._settled = self._settled or self._refreshed

    def position(self, partition: int) -> int:
        """Offset of the next message to come."""
        return self._seen.get(partition, self._extent(partition).start)

    def end(self, partition: int) -> int:
        """One past the last message that the broker is known to have."""
        return max(
            self._extent(partition).end,
            self._ends.get(partition, 0),
            self._highwater(partition) or 0,
        )

    def behind(self, partition: int) -> bool:
        """The broker has messages of this partition that have not come to us yet, or cannot say."""
        return partition in self._mute or self.position(partition) < self.end(partition)

    def partitions(self) -> set[int]:
        """All that are known to be ours."""
        return {*self._seen, *(self._extents or ())}

    def forget(self) -> None:
        """A rebalance has begun."""
        self._extents = None
        self._settled = self._refreshed = False
        for known in (self._seen, self._ends):
            known.clear()
        for some in (self._mute, self._came):
            some.clear()

    def _extent(self, partition: int) -> OffsetRange:
        return (self._extents or {}).get(partition, OffsetRange(0, 0))
