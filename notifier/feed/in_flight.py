"""Up to where every notification of a partition is settled; no I/O."""

from __future__ import annotations

from collections import Counter, defaultdict

from notifier.feed.topic_reader import Place


class InFlight:
    """Versions that were read, and their notifications that are not settled yet."""

    def __init__(self, positions: dict[int, int]) -> None:
        self._next = dict(positions)
        self._waiting: defaultdict[int, Counter[int]] = defaultdict(Counter)

    def read(self, place: Place, notifications: int) -> None:
        """A version was read, of which there are so many notifications."""
        self._next[place.partition] = place.offset + 1
        if notifications:
            self._waiting[place.partition][place.offset] += notifications

    def settled(self, place: Place) -> None:
        """One of them is delivered or dropped."""
        waiting = self._waiting[place.partition]
        waiting[place.offset] -= 1
        if not waiting[place.offset]:
            del waiting[place.offset]

    @property
    def positions(self) -> dict[int, int]:
        """Partition -> offset of the first version with a notification that is not settled, or of
        the next one.
        """
        return {
            partition: min(self._waiting[partition], default=following)
            for partition, following in self._next.items()
        }
