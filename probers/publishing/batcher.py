"""Collects records and hands them to the publisher as messages, bounded in size and in delay."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic_ns
from typing import Final

from probers.process.loop import Loop, on_grid
from probers.publishing.encoding.encode import ENCODINGS
from probers.publishing.publisher import Publisher
from probers.publishing.record import Record
from schemas import topics

MAX_RECORDS: Final = 512
FLUSH_NS: Final = 250_000_000  # after the first record of a message, on the loop's grid


class Batcher:
    """Publishes a record at most 0.5 s after it was added."""

    def __init__(self, loop: Loop, publisher: Publisher, node_sn: str, encoding: str) -> None:
        """``encoding``: arrow or ndjson."""
        self._loop, self._publisher, self._key = loop, publisher, node_sn
        self._content_type, self._encode = ENCODINGS[encoding]
        self._records: list[Callable[[], Record]] = []
        self._common: list[Record] = []
        self._batch = 0
        #: Records handed to the publisher.
        self.published = 0

    def add(self, common: Record, own: Callable[[], Record]) -> None:
        """Add one record to the current batch: ``common`` are columns that it shares with others,
        ``own`` makes the rest with those of the batch, which takes half of the time of making it
        now, between other work."""
        self._common.append(common)
        self._records.append(own)
        if len(self._records) >= MAX_RECORDS:
            self.flush()
        elif len(self._records) == 1:
            batch = self._batch
            due_ns = on_grid(monotonic_ns() + FLUSH_NS)
            self._loop.call_at(due_ns, lambda: self._on_timer(batch))

    def flush(self) -> None:
        """Publish the current batch, if it holds any record."""
        self._batch += 1
        if not self._records:
            return
        records, self._records = self._records, []
        common, self._common = self._common, []
        payload = self._encode([made() for made in records], common)
        self._publisher.publish(topics.PINGS.name, self._key, payload, self._content_type)
        self.published += len(records)

    def _on_timer(self, batch: int) -> None:
        if batch == self._batch:
            self.flush()
