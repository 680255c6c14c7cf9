"""Where the records of a partition went."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class RecordCounts:
    """Where everything went: records = judged + late + duplicate + dead_lettered + held.

    records   rows seen, good or bad; a message that cannot be read counts as one
    routes    traceroutes among the judged; ahead: pings among the late that were beyond the
              broker's time + skew; gaps: messages that the broker no longer had
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

    def as_dict(self) -> dict[str, int]:
        return {name: getattr(self, name) for name in self.__slots__}
