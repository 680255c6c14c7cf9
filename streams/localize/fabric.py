"""One fabric in a stream worker: judges its messages, and recovers from its own errors.

After an error a fresh localizer is made: incidents and operators' documents come from their topics,
the detectors' history from reading the last minutes of skh.windows again, beside the consumer that
reads on. ``recovery.py`` has the rules.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Iterable, Sequence

from localizer.localizer import Localizer, LocalizerOutput
from schemas.documents.coverage import Coverage
from schemas.documents.incident import Incident
from schemas.printable import printable
from schemas.wire import window_chunks
from streams.errors import BrokerUnreachable, PublishError
from streams.kafka.messages import InMessage, OutMessage
from streams.localize import handover
from streams.localize.output import coverage_message, output_messages
from streams.localize.recovery import Recovery
from streams.localize.retention import RETENTION
from streams.localize.services import Services, SiteDocument
from streams.localize.silence import SilenceCounter

_log = logging.getLogger(__name__)


class Fabric:
    """A fabric of one partition of skh.windows in one assignment.

    newest_s   newest second of any message but heartbeats [s since the epoch]
    arrival_s  when its newest message but punctuations arrived [s since the epoch]
    sizes      entries in its localizer's memory, by kind [count]
    coverage   what probes crossed when it was last measured; None: no topology is known
    """

    def __init__(self, name: str, partition: int, services: Services) -> None:
        self.name = name
        self.newest_s = 0
        self.arrival_s = 0.0
        self.sizes: dict[str, int] = {}
        self.coverage: Coverage | None = None
        self.localizer: Localizer | None = None
        self._partition = partition
        self._services = services
        self._recovery = Recovery(
            name, partition, services.counts, rereadable=services.open_reader is not None
        )
        self._received = -1  # newest offset that came, judged or not
        self._judged = -1  # newest offset that the localizer has judged
        self._judging = False  # a thread has the localizer
        self._silence = SilenceCounter()
        self._documents: list[SiteDocument] = []  # for the localizer that is being rebuilt
        self._rebuild_task: asyncio.Task[None] | None = None
        self._sizes_s = 0
        self._coverage_s: int | None = None
        self._unpublished: Coverage | None = None

    # --- state ----------------------------------------------------------------------------------

    @property
    def failing(self) -> str | None:
        """The error because of which it is not judged; None when it is judged."""
        return self._recovery.last_error if self.rebuilding else self._recovery.error

    @property
    def rebuilding(self) -> bool:
        """A fresh localizer is being made."""
        return self._rebuild_task is not None

    @property
    def judged_s(self) -> int | None:
        """Newest second that was judged."""
        return None if self.localizer is None else self.localizer.judged_s

    # --- messages and documents -----------------------------------------------------------------

    def begin(
        self, incidents: Sequence[Incident], message: InMessage, start: int
    ) -> list[OutMessage]:
        """Make the localizer, before its first message; see ``judge`` for ``start``."""
        out: list[OutMessage] = []
        time_s = message.time_ms // 1000
        try:
            self.localizer = self._make_localizer(incidents, time_s, out)
        except Exception as why:  # whatever it is, it must not stop the other fabrics
            out += self._recovery.failed("making its localizer", why, "no message", time_s)
            self._recovery.failed_attempt()
            self._rebuild_task = asyncio.create_task(self._rebuild(min(start, message.offset)))
        return out

    def update(self, documents: Sequence[SiteDocument], time_s: int) -> list[OutMessage]:
        """Hand new documents of operators and hosts to the localizer; returns what to publish."""
        if self.rebuilding:
            self._documents += documents
        elif self.localizer is not None:
            return self._apply(self.localizer, documents, time_s)
        return []

    async def judge(
        self, header: window_chunks.Header, message: InMessage, start: int
    ) -> list[OutMessage]:
        """Judge a message; returns what to publish. Raises WindowsError when it is not valid.

        start  first offset of the history that a rebuilt localizer needs
        """
        if self._rebuild_task is not None and self._rebuild_task.done():
            self._rebuild_task.result()  # raises an error that is not the fabric's
        self._received = max(self._received, message.offset)
        if header.kind != "heartbeats":  # an agent's clock must not decide what is retained
            self.newest_s = max(self.newest_s, header.end_s)
        if header.kind != "punctuation":
            self.arrival_s = message.time_ms / 1000
        localizer = self.localizer
        if localizer is None or message.offset <= self._judged:
            return []  # the rebuild reads it, or has read it
        self._judging = True
        try:
            out = await self._observe(localizer, header, message)
        except window_chunks.WindowsError:
            raise
        except Exception as why:  # whatever it is, it must not stop the other fabrics
            out = self._recovery.message_failed(header.kind, why, message)
            self.localizer = None
            self._rebuild_task = asyncio.create_task(self._rebuild(min(start, message.offset)))
            return out
        finally:
            self._judging = False
        self._judged = message.offset
        if header.kind == "punctuation":
            out += self._recovery.succeeded(message.time_ms // 1000)
        return out

    def tick(self, start: int, *, read_to_end: bool) -> list[OutMessage]:
        """Once a second: report the outage of a fabric that fell silent; returns what to publish.

        start        see ``judge``
        read_to_end  the broker says that nothing of its partition is still to come
        """
        silent = self._silence.tick(self._received, read_to_end=read_to_end)
        if not silent or self.localizer is None or self.rebuilding or self._judging:
            return []
        try:
            output = self.localizer.report_silence()
            out = output_messages(output)
        except Exception as why:  # as in ``judge``
            time_s = int(self.arrival_s)
            out = self._recovery.failed("judging its silence", why, "no message", time_s)
            self._recovery.failed_attempt()
            self.localizer = None
            self._rebuild_task = asyncio.create_task(self._rebuild(min(start, self._received)))
            return out
        self._services.counts.incidents += len(output.incidents)
        return out

    def new_coverage(self) -> list[OutMessage]:
        """The message about its coverage, once for each measurement."""
        found, self._unpublished = self._unpublished, None
        return [] if found is None else [coverage_message(found)]

    def cancel(self) -> None:
        """Give up rebuilding: the fabric is evicted or its partition revoked."""
        if self._rebuild_task is not None:
            self._rebuild_task.cancel()

    async def _observe(
        self, localizer: Localizer, header: window_chunks.Header, message: InMessage
    ) -> list[OutMessage]:
        counts = self._services.counts
        suppressed, repeated = localizer.suppressed_s, localizer.repeated
        judges = localizer.judges_at(header)
        if len(message.value) <= RETENTION.inline_bytes and not judges:
            output, messages = self._observe_now(localizer, header, message.value)
        else:  # in a thread: judging ten thousand paths must not block the event loop
            output, messages = await asyncio.to_thread(
                self._observe_now, localizer, header, message.value, measure=judges
            )
        counts.suppressed += localizer.suppressed_s - suppressed
        counts.repeated += localizer.repeated - repeated
        counts.incidents += len(output.incidents)
        counts.anomalies += len(output.anomalies)
        return messages

    def _observe_now(
        self,
        localizer: Localizer,
        header: window_chunks.Header,
        value: bytes,
        *,
        measure: bool = False,
    ) -> tuple[LocalizerOutput, list[OutMessage]]:
        batch = None
        if header.kind == "punctuation":
            window_chunks.check_body(value)
        else:
            batch = window_chunks.read(header.kind, value)
            if unknown := window_chunks.ignored(batch):
                self._count_later(unknown)
        output = localizer.observe(header, batch, value if batch is None else b"")
        if measure:
            self._measure(localizer, header.end_s)
        return output, output_messages(output)

    def _count_later(self, unknown: list[str]) -> None:
        counts = self._services.counts
        if not counts.later:
            names = printable(", ".join(unknown)[:200])
            _log.info("skh.windows: a later release writes columns that are ignored: %s", names)
        counts.later += 1

    def _measure(self, localizer: Localizer, now_s: int) -> None:
        """From time to time: how much the localizer remembers, and what the probes cross."""
        if abs(now_s - self._sizes_s) >= RETENTION.sizes_every_s:
            self._sizes_s = now_s
            self.sizes = localizer.sizes()
        if self._coverage_s is None:  # all hosts are to be heard first
            self._coverage_s = now_s
        if abs(now_s - self._coverage_s) >= RETENTION.coverage_every_s:
            self._coverage_s = now_s
            self.coverage = self._unpublished = localizer.coverage()

    # --- localizers -----------------------------------------------------------------------------

    def _make_localizer(
        self, incidents: Sequence[Incident], time_s: int, out: list[OutMessage]
    ) -> Localizer:
        """Make a localizer with this fabric's incidents and documents; errors add to ``out``."""
        localizer = self._services.make_localizer(self.name)
        own = [each for each in incidents if each.fabric == self.name]
        out += handover.restore(localizer, self._recovery, own, time_s or int(self.arrival_s))
        out += self._apply(localizer, self._services.documents(), time_s)
        return localizer

    def _apply(
        self, localizer: Localizer, documents: Sequence[SiteDocument], time_s: int
    ) -> list[OutMessage]:
        return handover.apply(localizer, self._recovery, documents, time_s or int(self.arrival_s))

    async def _rebuild(self, start: int) -> None:
        """Make localizers until one has judged every message that has come."""
        while True:
            await self._services.sleep(self._recovery.wait_s)
            start = self._recovery.start_offset(start)
            try:
                if await self._attempt(start):
                    return
            except BrokerUnreachable as why:
                _log.warning("fabric %s: %s", self.name, why)
                self._recovery.failed_attempt()
            except PublishError:
                raise  # the worker's own error: ``judge`` raises it
            except Exception as why:  # making a localizer, or reading: of this fabric alone
                out = self._recovery.failed(
                    "making its localizer", why, "no message", int(self.arrival_s)
                )
                self._recovery.failed_attempt()
                await self._services.producer.send(out)

    async def _attempt(self, start: int) -> bool:
        """Make a localizer and read from ``start``; False when a message failed."""
        out: list[OutMessage] = []
        localizer = self._make_localizer(await self._services.read_incidents(), 0, out)
        self._documents.clear()
        await self._services.producer.send(out)
        if self._services.open_reader is None:  # nothing can be read again: an empty history
            return self._switch(localizer)
        reader = await asyncio.to_thread(self._services.open_reader, self._partition, start)
        try:
            while reader.position <= self._received:
                for message in await asyncio.to_thread(reader.read):
                    if message.offset > self._received:
                        break  # the consumer has yet to hand it over
                    if not self._recovery.skips(message.offset) and not await self._reread(
                        localizer, message
                    ):
                        return False
            return self._switch(localizer)
        finally:
            await asyncio.to_thread(reader.close)
            self._recovery.drop_before(start)

    async def _reread(self, localizer: Localizer, message: InMessage) -> bool:
        """Judge a message that was read again; False when it failed."""
        try:
            header = window_chunks.Header.from_kafka(message.headers)
        except window_chunks.WindowsError:
            return True  # it became a dead letter when it came
        if header.fabric != self.name:
            return True
        documents, self._documents = self._documents, []
        out = self._apply(localizer, documents, message.time_ms // 1000)
        try:
            out += await self._observe(localizer, header, message)
        except window_chunks.WindowsError:
            return True
        except Exception as why:  # as in ``judge``
            out = self._recovery.message_failed(header.kind, why, message)
            await self._services.producer.send(out)
            return False
        await self._services.producer.send(out)
        return True

    def _switch(self, localizer: Localizer) -> bool:
        """Judge messages as they come from now on; there is no await between here and the return
        of ``_rebuild``.
        """
        self._apply(localizer, self._documents, 0)
        self._documents = []
        self.localizer, self._judged, self._rebuild_task = localizer, self._received, None
        return True


def sizes(fabrics: Iterable[Fabric]) -> Counter[str]:
    """Entries in the memory of all localizers, by kind [count]."""
    total: Counter[str] = Counter()
    for each in fabrics:
        total.update(each.sizes)
    return total
