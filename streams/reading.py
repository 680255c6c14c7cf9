"""How far the assigned partitions of one topic have been read, and how much is still to come."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NamedTuple


class Extent(NamedTuple):
    """What a partition holds for us when it is assigned: from ``start`` up to before ``end``."""

    start: int
    end: int


#: Extents of the assigned partitions, asked once after each assignment.
ReadExtents = Callable[[], Awaitable[dict[int, Extent]]]
#: Where a partition ends now, as far as the consumer knows.
Highwater = Callable[[int], "int | None"]


async def no_extents() -> dict[int, Extent]:
    """Where nobody can be asked: what is not known is taken to be read."""
    return {}


class Reading:
    """Offsets of one topic in one assignment."""

    def __init__(
        self,
        read_extents: ReadExtents = no_extents,
        highwater: Highwater = lambda partition: None,
    ) -> None:
        self._read_extents = read_extents
        self._highwater = highwater
        self._extents: dict[int, Extent] | None = None
        self._seen: dict[int, int] = {}

    async def begin(self) -> None:
        """Ask for the extents, once in an assignment."""
        if self._extents is None:
            self._extents = await self._read_extents()

    def take(self, partition: int, offset: int) -> bool:
        """Note a message; True when it begins a reading: the first, or one from further back."""
        begins = offset < self._seen.get(partition, offset + 1)
        self._seen[partition] = offset + 1
        return begins

    def behind(self, partition: int) -> bool:
        """The broker has messages of this partition that have not come to us yet."""
        extent = (self._extents or {}).get(partition, Extent(0, 0))
        seen = self._seen.get(partition, extent.start)
        return seen < max(extent.end, self._highwater(partition) or 0)

    def partitions(self) -> set[int]:
        """All that are known to be ours."""
        return {*self._seen, *(self._extents or ())}

    def forget(self) -> None:
        """A rebalance has begun."""
        self._extents = None
        self._seen.clear()
