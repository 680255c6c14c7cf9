"""One assigned partition of skh.pings: its windower, and what is not yet published or committed."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from dataclasses import replace

from schemas import topics
from streams import dead_letters
from streams.admission.decoded import Decoded
from streams.kafka.messages import InMessage, OutMessage
from streams.merge.pending_acks import PendingAck
from streams.windowing.partition import PartitionWorker
from streams.windowing.record_counts import RecordCounts

_log = logging.getLogger(__name__)


class PartitionState:
    """State of a partition from its assignment to its revocation.

    inbox         messages that wait for the next step; inbox_bytes: their payload [B]
    pending_acks  events that may have to be read again
    quiet_ticks   ticks in a row at which it was read to its end and nothing new had arrived
    arrival_s     when its newest message arrived [s since the epoch]
    lost          records of windowers that failed, which this partition still accounts for
    failures      times that windowing failed, by a defect of ours; only rises
    """

    def __init__(self, partition: int, make_worker: Callable[[], PartitionWorker]) -> None:
        """make_worker  called again after each failure"""
        self.worker = make_worker()
        self.inbox: list[InMessage] = []
        self.inbox_bytes = 0
        self.pending_acks: deque[PendingAck] = deque()
        self.quiet_ticks = 0
        self.arrival_s = 0.0
        self.lost = RecordCounts()
        self.failures = 0
        self._partition = partition
        self._make_worker = make_worker

    @property
    def counts(self) -> RecordCounts:
        """Where the records of this assignment went."""
        return self.lost + self.worker.counts

    def final_counts(self) -> RecordCounts:
        """The same at the end of the assignment: records in open panes will be read again."""
        counts = self.counts
        return replace(counts, records=counts.records - counts.held, held=0)

    def step(self, decoded: Decoded | None = None) -> list[OutMessage]:
        """Window the messages of the inbox; one that windowing fails on becomes a dead letter.

        decoded  the same messages, where they have been decoded
        """
        messages, self.inbox, self.inbox_bytes = self.inbox, [], 0
        try:
            return self.worker.step(messages, decoded)
        except Exception:  # a defect of ours: it must cost a message, not all partitions for ever
            _log.exception(
                "%s: windowing of partition %d failed between offsets %d and %d; it starts anew",
                topics.PINGS.name, self._partition, messages[0].offset, messages[-1].offset,
            )  # fmt: skip
        out: list[OutMessage] = []
        self._replace_worker()
        for message in messages:  # one by one, to find those that fail alone
            try:
                out += self.worker.step([message])
            except Exception as why:  # see above
                self._replace_worker()
                self.lost += RecordCounts(messages=1, records=1, dead_lettered=1)
                reason = f"windowing failed: {type(why).__name__}: {why}"
                out.append(
                    dead_letters.message(
                        topics.PINGS.name, self._partition, message.offset, message.value, reason
                    )
                )
        return out

    def _replace_worker(self) -> None:
        """Make a new windower, as the old one's state is unknown; its open panes count as late."""
        self.failures += 1
        counts = self.worker.counts
        self.lost += replace(counts, held=0, late=counts.late + counts.held)
        self.worker = self._make_worker()
