"""Messages of busy topics reach their Faust agent many at a time.

What Faust does for an event costs about as much as windowing the 64 records of a message, or as
taking in a small chunk of skh.windows, so that an event of such a topic is a batch: messages of one
partition, in the order of their offsets.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from faust.transport.utils import DefaultSchedulingStrategy
from faust.types import TP

from schemas import topics
from schemas.parameters.parameter import parameter

#: Topics that are delivered in batches.
BATCHED: Final = frozenset({topics.PINGS.name, topics.WINDOWS.name})


@dataclass(frozen=True, slots=True)
class BatchParameters:
    """How messages are delivered, and how many wait.

    size           messages of a batch at the most
    waiting        messages that may wait for an agent
    waiting_bytes  payload that may wait for an agent; one batch more may, however large
    """

    size: int = parameter(
        16, unit="messages", source="chosen: a sixteenth of what is windowed together"
    )
    waiting: int = parameter(
        4096, unit="messages", source="chosen: as many as Faust lets wait of another topic"
    )
    waiting_bytes: int = parameter(
        40 * 1024 * 1024, unit="B",
        source="chosen: a fetch of 1 MiB from each of eight partitions fits into its last fifth",
    )  # fmt: skip


DEFAULT: Final = BatchParameters()


class Batch(NamedTuple):
    """What Faust takes for a message: the fields of aiokafka's record that it reads.

    value   the batch's messages, as aiokafka's consumer returns them
    offset  of the last one; acknowledging it acknowledges them all
    """

    topic: str
    partition: int
    offset: int
    timestamp: int | None
    timestamp_type: int
    value: Sequence[Any]
    headers: Sequence[tuple[str, bytes]] = ()
    key: bytes | None = None
    checksum: None = None
    serialized_key_size: int = 0
    serialized_value_size: int = 0


class BatchScheduler(DefaultSchedulingStrategy):
    """Faust's order of delivery, topics and partitions in turn, with batches of some topics."""

    def iterate(self, records: Mapping[TP, list[Any]]) -> Iterator[tuple[TP, Any]]:
        """The (partition, message or batch) of what was fetched."""
        turns: Iterator[tuple[TP, Any]] = super().iterate({
            tp: batches(found) if tp.topic in BATCHED else found for tp, found in records.items()
        })  # fmt: skip
        return turns


def bound(inbox: Any) -> None:
    """Let no more messages of a batched topic wait for its agent than of another one.

    inbox  Faust's topic; ``app.topic`` has a parameter for it, and drops it
    """
    inbox.maxsize = DEFAULT.waiting // DEFAULT.size


def batches(records: Sequence[Any]) -> list[Batch]:
    """The messages of a partition as batches, in order."""
    parts = [
        records[first : first + DEFAULT.size] for first in range(0, len(records), DEFAULT.size)
    ]
    return [
        Batch(last.topic, last.partition, last.offset, last.timestamp, last.timestamp_type, part)
        for part in parts
        for last in [part[-1]]
    ]
