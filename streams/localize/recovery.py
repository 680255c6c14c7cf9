"""Errors in judging one fabric: what they publish, which messages are skipped, when to retry.

The first error rebuilds the localizer at once. A message that fails twice is a dead letter and is
skipped from then on. Further attempts wait longer and longer, and from ``FailureParameters.cold``
on they begin after the message that failed, with an empty history: a run of bad messages costs its
own seconds, not those after it. No I/O but the log.
"""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Iterable

from schemas import topics
from schemas.documents.incident import Incident
from streams import dead_letters
from streams.kafka.messages import InMessage, OutMessage
from streams.localize.failures import FAILURES, Failure, PipelineIncident
from streams.localize.output import incident_message
from streams.localize.services import LocalizeCounts

_log = logging.getLogger(__name__)


class Recovery:
    """Failures of one fabric in one assignment, and the retries that they cause.

    rereadable  whether skh.windows can be read again
    """

    def __init__(
        self, fabric: str, partition: int, counts: LocalizeCounts, *, rereadable: bool
    ) -> None:
        self._fabric = fabric
        self._partition = partition
        self._counts = counts
        self._rereadable = rereadable
        self._incident = PipelineIncident(fabric)
        self._attempts = 0
        self._skipped: set[int] = set()
        self._failed_offset = -1

    @property
    def error(self) -> str | None:
        """The newest error, until judging is known to work again."""
        return self._incident.text if self._incident.open else None

    @property
    def last_error(self) -> str:
        """The newest error, in one line."""
        return self._incident.text

    @property
    def wait_s(self) -> float:
        """How long to wait before the next attempt [s]."""
        return min(FAILURES.wait_s, 2.0 ** (self._attempts - 2)) if self._attempts > 1 else 0.0

    def start_offset(self, start: int) -> int:
        """Where the next attempt begins to read, if ``start`` is what the history needs."""
        return max(start, self._failed_offset + 1) if self._attempts >= FAILURES.cold else start

    def skips(self, offset: int) -> bool:
        """Whether the message at this offset is left out."""
        return offset in self._skipped

    def drop_before(self, offset: int) -> None:
        """Offsets before this one will not be read again."""
        self._skipped = {each for each in self._skipped if each >= offset}

    def restore(self, documents: Iterable[Incident]) -> None:
        """Take over pipeline incidents of a former process; ValueError when one is not valid."""
        for each in documents:
            self._incident.restore(each)

    def failed_attempt(self) -> None:
        """An attempt failed for a reason that is not the fabric's: wait longer."""
        self._attempts += 1

    def failed(self, stage: str, why: BaseException, where: str, time_s: int) -> list[OutMessage]:
        """Log and count an error; returns the document to publish, if one is due.

        stage  what was being done; where: the message or document; time_s: the broker's time [s]
        """
        self._counts.failures[self._fabric] += 1
        log = f"logger {__name__} of process {os.getpid()} on {socket.gethostname()}"
        failure = Failure.of(stage, why, where, log)
        _log.error("fabric %s: %s", self._fabric, failure.text, exc_info=why)
        document = self._incident.failed(time_s, failure)
        return [] if document is None else [incident_message(document)]

    def message_failed(self, kind: str, why: BaseException, message: InMessage) -> list[OutMessage]:
        """As ``failed``; the second error of a message makes it a dead letter."""
        offset = message.offset
        where = f"{topics.WINDOWS.name}, partition {self._partition}, offset {offset}"
        out = self.failed(f"judging a {kind} message", why, where, message.time_ms // 1000)
        cold = self._attempts + 1 >= FAILURES.cold or not self._rereadable
        if offset == self._failed_offset or cold:
            self._skipped.add(offset)
            self._counts.dead_lettered += 1
            reason = f"fabric {self._fabric}: {self._incident.text}"
            out.append(
                dead_letters.message(
                    topics.WINDOWS.name, self._partition, offset, message.value, reason
                )
            )
        self._failed_offset = offset
        self._attempts += 1
        return out

    def succeeded(self, time_s: int) -> list[OutMessage]:
        """A second was judged without an error; returns the document to publish, if one is due."""
        resolved = self._incident.succeeded(time_s)
        if resolved is None:
            return []
        _log.info("fabric %s is judged again", self._fabric)
        self._attempts, self._failed_offset = 0, -1
        return [incident_message(resolved)]
