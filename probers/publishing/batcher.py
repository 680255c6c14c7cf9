"""Collects records and hands them to the publisher in messages, soon and not too large."""

from __future__ import annotations

from time import monotonic_ns
from typing import Final

from probers.probing.loop import Loop
from probers.publishing.encode import ENCODINGS
from probers.publishing.publisher import Publisher
from probers.publishing.record import Record
from schemas import topics

MAX_RECORDS: Final = 512
FLUSH_NS: Final = 400_000_000  # after the first record of a message


class Batcher:
    """A record leaves at most 0.5 s after it was put in."""

    def __init__(self, loop: Loop, publisher: Publisher, node_sn: str, encoding: str) -> None:
        """``encoding``: arrow or ndjson."""
        self._loop, self._publisher, self._key = loop, publisher, node_sn
        self._content_type, self._encode = ENCODINGS[encoding]
        self._records: list[Record] = []
        self._generation = 0
        self.published = 0

    def put(self, record: Record) -> None:
        """Take one record."""
        self._records.append(record)
        if len(self._records) >= MAX_RECORDS:
            self.flush()
        elif len(self._records) == 1:
            generation = self._generation
            self._loop.at(monotonic_ns() + FLUSH_NS, lambda: self._due(generation))

    def flush(self) -> None:
        """Hand over what there is."""
        self._generation += 1
        if not self._records:
            return
        records, self._records = self._records, []
        payload = self._encode(records)
        self._publisher.publish(topics.PINGS.name, self._key, payload, self._content_type)
        self.published += len(records)

    def _due(self, generation: int) -> None:
        if generation == self._generation:
            self.flush()
