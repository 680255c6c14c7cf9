"""One fabric as a stream worker judges it: an error is its own, and it recovers from it.

The first error makes a fresh localizer at once: incidents and notices come from their topics, the
detectors' memory from reading the last minutes of skh.windows again, beside the consumer that reads
on. A message that fails twice is a dead letter and is left out from then on. While there are more
errors the attempts wait longer and longer, and after a few they begin behind the message that
failed, with an empty memory: a bad stretch costs its own seconds, not those after it.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, Final

from localizer.localizer import Localizer, LocalizerOutput
from localizer.suppression.log import Cause
from schemas import topics
from schemas.documents import incident
from schemas.documents.incident import Incident
from schemas.documents.maintenance import Maintenance
from schemas.documents.placement import Placement
from schemas.wire import window_chunks
from streams import dead_letters
from streams.errors import BrokerUnreachable, PublishError
from streams.kafka.messages import InMessage, OutMessage
from streams.kafka.publisher import MessageProducer
from streams.localize.failures import Failure, PipelineIncident
from streams.localize.operator_feed import Notice
from streams.localize.reread import OpenReader

_log = logging.getLogger(__name__)
_MOST_WAIT_S: Final = 60.0
_COLD_FROM: Final = 4  # attempts from this one on begin behind the message that failed
_SIZES_EVERY_S: Final = 10

Sleep = Callable[[float], Awaitable[None]]


class Services:
    """What fabrics need of the worker around them.

    make            a localizer of a fabric, without any memory
    read_incidents  the newest documents of skh.incidents, all fabrics; known: placements and
                    maintenance so far; open_reader: skh.windows again, or None where there is none
    """

    def __init__(
        self,
        outbox: MessageProducer,
        make: Callable[[str], Localizer],
        read_incidents: Callable[[], Awaitable[list[Incident]]],
        known: Callable[[], list[Notice]],
        open_reader: OpenReader | None = None,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self.outbox = outbox
        self.make = make
        self.read_incidents = read_incidents
        self.known = known
        self.open_reader = open_reader
        self.sleep = sleep
        self.failures: Counter[str] = Counter()  # by fabric; only rises
        self.suppressed: Counter[Cause] = Counter()
        self.incidents = self.anomalies = self.repeated = self.dead_lettered = 0


class Fabric:
    """A fabric of one partition of skh.windows in one assignment.

    newest_s   newest second that any message spoke of, heartbeats apart [s]
    arrival_s  when the broker took its newest message that was no punctuation [s]
    """

    def __init__(self, name: str, partition: int, services: Services) -> None:
        self.name = name
        self.newest_s = 0
        self.arrival_s = 0.0
        self.sizes: dict[str, int] = {}
        self.localizer: Localizer | None = None
        self._partition = partition
        self._services = services
        self._trouble = PipelineIncident(name)
        self._attempts = 0
        self._poison: set[int] = set()
        self._suspect = -1
        self._taken = -1  # newest offset that came, judged or not
        self._judged = -1  # newest offset that the localizer has
        self._news: list[Notice] = []  # for the localizer that is being made
        self._repair: asyncio.Task[None] | None = None
        self._sized_s = 0

    # --- what is so -----------------------------------------------------------------------------

    @property
    def failing(self) -> str | None:
        """Why it is not judged, or was not until a moment ago; None when all is well."""
        return self._trouble.text if self._trouble.open or self._repair is not None else None

    @property
    def repairing(self) -> bool:
        """A fresh localizer is being made."""
        return self._repair is not None

    @property
    def judged_s(self) -> int | None:
        """Newest second that was judged."""
        return None if self.localizer is None else self.localizer.judged_s

    # --- what to do -----------------------------------------------------------------------------

    def begin(
        self, incidents: Sequence[Incident], message: InMessage, start: int
    ) -> list[OutMessage]:
        """Make the localizer, before its first message."""
        out: list[OutMessage] = []
        at_s = message.time_ms // 1000
        try:
            self.localizer = self._fresh(incidents, at_s, out)
        except Exception as why:  # whatever it is, it must not stop the other fabrics
            out += self._note("making its localizer", why, "no message", at_s)
            self._attempts += 1
            self._repair = asyncio.create_task(self._rebuild(min(start, message.offset)))
        return out

    def tell(self, news: Sequence[Notice], at_s: int) -> list[OutMessage]:
        """Hand placements and maintenance on; documents of other fabrics are left out there."""
        out: list[OutMessage] = []
        if self._repair is not None:
            self._news += news
        elif self.localizer is not None:
            self._hand_over(self.localizer, news, at_s, out)
        return out

    async def take(
        self, header: window_chunks.Header, message: InMessage, start: int
    ) -> list[OutMessage]:
        """Judge a message; what to publish. Raises WindowsError when its rows cannot be read.

        start  offset from which on messages of the detectors' memory may be read again
        """
        if self._repair is not None and self._repair.done():
            self._repair.result()  # raises what no fabric is to blame for
        self._taken = max(self._taken, message.offset)
        if header.kind != "heartbeats":  # an agent's clock must not move what is kept
            self.newest_s = max(self.newest_s, header.end_s)
        if header.kind != "punctuation":
            self.arrival_s = message.time_ms / 1000
        localizer = self.localizer
        if localizer is None or message.offset <= self._judged:
            return []  # it is read again, or was
        try:
            out = await self._judge(localizer, header, message)
        except window_chunks.WindowsError:
            raise
        except Exception as why:  # whatever it is, it must not stop the other fabrics
            out = self._fail(header.kind, why, message)
            self.localizer = None
            self._repair = asyncio.create_task(self._rebuild(min(start, message.offset)))
            return out
        self._judged = message.offset
        return out + self._works(header, message)

    async def stop(self) -> None:
        """Give up on a repair: a rebalance has begun."""
        if self._repair is not None:
            self._repair.cancel()
            await asyncio.wait({self._repair})

    def cancel(self) -> None:
        """As ``stop``, without waiting."""
        if self._repair is not None:
            self._repair.cancel()

    # --- how ------------------------------------------------------------------------------------

    async def _judge(
        self, localizer: Localizer, header: window_chunks.Header, message: InMessage
    ) -> list[OutMessage]:
        services = self._services
        before, repeated = localizer.suppressed_s, localizer.repeated
        # In a thread: judging ten thousand paths must not stop the event loop.
        findings, out = await asyncio.to_thread(self._observe, localizer, header, message.value)
        services.suppressed += localizer.suppressed_s - before
        services.repeated += localizer.repeated - repeated
        services.incidents += len(findings.incidents)
        services.anomalies += len(findings.anomalies)
        return out

    def _observe(
        self, localizer: Localizer, header: window_chunks.Header, value: bytes
    ) -> tuple[LocalizerOutput, list[OutMessage]]:
        batch = None
        if header.kind == "punctuation":
            window_chunks.check_body(value)
        else:
            batch = window_chunks.decode(header.kind, value)
            window_chunks.check_whole(header.kind, batch)
        findings = localizer.observe(header, batch, value if batch is None else b"")
        if header.kind == "punctuation" and abs(header.end_s - self._sized_s) >= _SIZES_EVERY_S:
            self._sized_s = header.end_s
            self.sizes = localizer.sizes()
        return findings, messages(findings)

    def _works(self, header: window_chunks.Header, message: InMessage) -> list[OutMessage]:
        if header.kind != "punctuation":
            return []
        over = self._trouble.works(message.time_ms // 1000)
        if over is not None:
            _log.info("fabric %s is judged again", self.name)
            self._attempts, self._suspect = 0, -1
        return [] if over is None else [_of(over)]

    def _fail(self, stage: str, why: BaseException, message: InMessage) -> list[OutMessage]:
        """Count and say it; a message that fails for the second time is left out from now on."""
        offset = message.offset
        where = f"{topics.WINDOWS.name}, partition {self._partition}, offset {offset}"
        out = self._note(f"judging a {stage} message", why, where, message.time_ms // 1000)
        cold = self._attempts + 1 >= _COLD_FROM or self._services.open_reader is None
        if offset == self._suspect or cold:
            self._poison.add(offset)
            self._services.dead_lettered += 1
            reason = f"fabric {self.name}: {self._trouble.text}"
            out.append(
                dead_letters.message(
                    topics.WINDOWS.name, self._partition, offset, message.value, reason
                )
            )
        self._suspect = offset
        self._attempts += 1
        return out

    def _note(self, stage: str, why: BaseException, where: str, at_s: int) -> list[OutMessage]:
        self._services.failures[self.name] += 1
        log = f"logger {__name__} of process {os.getpid()} on {socket.gethostname()}"
        failure = Failure.of(stage, why, where, log)
        _log.error("fabric %s: %s", self.name, failure.text, exc_info=why)
        doc = self._trouble.failed(at_s, failure)
        return [] if doc is None else [_of(doc)]

    def _fresh(self, incidents: Sequence[Incident], at_s: int, out: list[OutMessage]) -> Localizer:
        localizer = self._services.make(self.name)
        mine = [each for each in incidents if each.fabric == self.name]
        about_us = [each for each in mine if each.kind == "pipeline"]
        if not self._trouble.open:
            self._each(self._restore_trouble, about_us, "incident", at_s, out)
        network = [each for each in mine if each.kind != "pipeline"]
        self._each(localizer.restore, network, "incident", at_s, out)
        self._hand_over(localizer, self._services.known(), at_s, out)
        return localizer

    def _restore_trouble(self, docs: list[Incident]) -> None:
        for each in docs:
            self._trouble.restore(each)

    def _hand_over(
        self, localizer: Localizer, news: Sequence[Notice], at_s: int, out: list[OutMessage]
    ) -> None:
        placed = [each for each in news if isinstance(each, Placement)]
        worked_on = [each for each in news if isinstance(each, Maintenance)]
        self._each(localizer.place, placed, "placement", at_s, out)
        self._each(localizer.maintain, worked_on, "maintenance", at_s, out)

    def _each(
        self,
        take: Callable[[list[Any]], None],
        docs: list[Any],
        what: str,
        at_s: int,
        out: list[OutMessage],
    ) -> None:
        """All at once; when that fails one by one, so that a bad document costs itself only."""
        try:
            take(docs)
        except Exception:  # the bad one is found below, and is counted and said there
            for doc in docs:
                try:
                    take([doc])
                except Exception as why:  # any error of one document, for the same reason
                    name = getattr(doc, "incident_id", getattr(doc, "node_id", "")) or doc.component
                    seen_s = at_s or int(self.arrival_s)
                    where = f"the {what} document of {name}"
                    out += self._note(f"taking over a {what}", why, where, seen_s)

    async def _rebuild(self, start: int) -> None:
        """Until a fresh localizer has read as far as messages have come."""
        while True:
            wait_s = min(_MOST_WAIT_S, 2.0 ** (self._attempts - 2)) if self._attempts > 1 else 0.0
            await self._services.sleep(wait_s)
            if self._attempts >= _COLD_FROM:
                start = max(start, self._suspect + 1)
            try:
                if await self._read_again(start):
                    return
            except BrokerUnreachable as why:
                _log.warning("fabric %s: %s", self.name, why)
                self._attempts += 1
            except PublishError:
                raise  # the worker's own: see ``take``
            except Exception as why:  # making a localizer, or reading: of this fabric alone
                at_s = int(self.arrival_s)
                out = self._note("making its localizer", why, "no message", at_s)
                self._attempts += 1
                await self._services.outbox.send(out)

    async def _read_again(self, start: int) -> bool:
        """One attempt; False when a message failed."""
        out: list[OutMessage] = []
        localizer = self._fresh(await self._services.read_incidents(), 0, out)
        self._news.clear()
        await self._services.outbox.send(out)
        if self._services.open_reader is None:  # nothing can be read again: an empty memory
            return self._switch(localizer)
        reader = await asyncio.to_thread(self._services.open_reader, self._partition, start)
        try:
            while reader.position <= self._taken:
                for message in await asyncio.to_thread(reader.read):
                    if message.offset > self._taken:
                        break  # it comes by itself
                    if message.offset not in self._poison and not await self._repeat(
                        localizer, message
                    ):
                        return False
            return self._switch(localizer)
        finally:
            await asyncio.to_thread(reader.close)
            self._poison = {each for each in self._poison if each >= start}

    async def _repeat(self, localizer: Localizer, message: InMessage) -> bool:
        try:
            header = window_chunks.Header.from_kafka(message.headers)
        except window_chunks.WindowsError:
            return True  # it was a dead letter when it came
        if header.fabric != self.name:
            return True
        news, self._news = self._news, []
        out: list[OutMessage] = []
        self._hand_over(localizer, news, message.time_ms // 1000, out)
        try:
            out += await self._judge(localizer, header, message)
        except window_chunks.WindowsError:
            return True
        except Exception as why:  # as in ``take``
            await self._services.outbox.send(self._fail(header.kind, why, message))
            return False
        await self._services.outbox.send(out)
        return True

    def _switch(self, localizer: Localizer) -> bool:
        """From now on messages are judged as they come; nothing is awaited on the way here."""
        out: list[OutMessage] = []
        self._hand_over(localizer, self._news, 0, out)
        self._news = []
        self.localizer, self._judged, self._repair = localizer, self._taken, None
        return True


def _of(doc: Incident) -> OutMessage:
    return OutMessage(topics.INCIDENTS.name, doc.incident_id.encode(), incident.encode(doc), [])


def messages(findings: LocalizerOutput) -> list[OutMessage]:
    """What a localizer found, as messages."""
    anomalies = [
        OutMessage(topics.ANOMALIES.name, each.path_id.encode(), incident.encode(each), [])
        for each in findings.anomalies
    ]
    return anomalies + [_of(each) for each in findings.incidents]


def sizes(fabrics: Iterable[Fabric]) -> Counter[str]:
    """How much all localizers remember, by what."""
    total: Counter[str] = Counter()
    for each in fabrics:
        total.update(each.sizes)
    return total
