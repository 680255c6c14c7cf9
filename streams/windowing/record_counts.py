"""Where the records of a partition went."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class RecordCounts:
    """Where every record went: records = judged + late + duplicate + dead_lettered + held.

    messages       messages read
    records        rows seen, good or bad; a message that cannot be read counts as one
    late           too old for an open pane, or from a clock too far off
    dead_lettered  rows and messages that are not valid, or refused
    held           in open panes
    routes         traceroutes among the judged
    ahead          pings among the late that were beyond the broker's time + skew
    gaps           messages that the broker no longer had
    """

    messages: int = 0
    records: int = 0
    judged: int = 0
    late: int = 0
    duplicate: int = 0
    dead_lettered: int = 0
    held: int = 0
    routes: int = 0
    ahead: int = 0
    gaps: int = 0

    def __add__(self, other: RecordCounts) -> RecordCounts:
        return RecordCounts(
            *(getattr(self, name) + getattr(other, name) for name in self.__slots__)
        )

    def as_dict(self) -> dict[str, int]:
        """The counts by name, as punctuations carry them."""
        return {name: getattr(self, name) for name in self.__slots__}
