"""Messages of skh.pings -> what windowing reads of their records, for many partitions at once.

A call of numpy or Arrow costs the same for 500 rows as for 5,000, so the messages that have come
from all partitions are decoded together, and each partition then takes its own.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from schemas.wire.batches import Joined
from streams.admission.admission import Admission
from streams.admission.replays import Replays
from streams.kafka.messages import InMessage
from streams.windowing import records
from streams.windowing.records import Columns

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Decoded:
    """Records of several messages, and their columns; message indices count these messages."""

    joined: Joined
    columns: Columns

    def of(self, first: int, end: int) -> Decoded:
        """The messages [first, end), as if they had been decoded alone."""
        every = self.joined
        low, high = np.searchsorted(every.message, [first, end]).tolist()

        joined = Joined(
            every.batch.slice(low, high - low),
            every.message[low:high] - first,
            every.row[low:high],
            _between(every.rejects, first, end),
            _between(every.errors, first, end),
        )
        return Decoded(joined, self.columns.of(slice(low, high)))


def _between(entries: list[tuple[int, T]], first: int, end: int) -> list[tuple[int, T]]:
    """Entries (index, ...), ascending, of [first, end), counted from there."""
    low, high = (bisect_left(entries, at, key=lambda entry: entry[0]) for at in (first, end))
    return [(index - first, what) for index, what in entries[low:high]]


def decode(
    admission: Admission,
    messages: Sequence[InMessage],
    partitions: Sequence[int],
    replays: Mapping[int, Replays],
) -> Decoded:
    """Decode messages, and read the columns of their records.

    partitions  where each message lies; replays: of each of these partitions
    """
    joined = admission.pings(messages, partitions, replays)
    batch = records.used(joined.batch)
    joined = Joined(batch, joined.message, joined.row, joined.rejects, joined.errors)
    return Decoded(joined, records.columns(batch))
