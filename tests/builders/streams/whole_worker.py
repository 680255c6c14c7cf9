"""All stages of a stream worker in one event loop, without a broker and without Faust."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from builders.streams.ping_records import START_S, content_type, table
from builders.streams.stages import Acked, BatchEvent, Event, RecordingProducer, no_incidents
from localizer.localizer import Localizer
from schemas import topics
from schemas.documents import heartbeat
from schemas.documents.heartbeat import Heartbeat
from schemas.documents.maintenance import Maintenance
from schemas.documents.placement import Placement
from schemas.wire import codecs
from streams.admission.admission import Admission
from streams.admission.ownership import Ownership
from streams.heartbeats import Heartbeats
from streams.ingest import Ingest
from streams.kafka.messages import InMessage
from streams.localize.stage import LocalizeStage
from streams.merge.output_merger import OutputMerger
from streams.readers.operator_feed import OperatorDocument, OperatorFeed, decode

_BROKER_S = 0.1  # after which messages are with the broker


class _Published(OperatorFeed):
    """A feed of documents that a test publishes; each is encoded and decoded on its way."""

    def __init__(self, ownership: Ownership) -> None:
        super().__init__({}, ownership.add, on_evict=ownership.drop_old)
        self._new: list[OperatorDocument] = []

    async def begin(self) -> None:
        """What was published is known already."""

    def new_documents(self) -> list[OperatorDocument]:
        found, self._new = self._new, []
        return found

    def publish(self, document: OperatorDocument, time_ms: int) -> None:
        if isinstance(document, Placement):
            topic, key = topics.PLACEMENT, document.node_id
        elif isinstance(document, Maintenance):
            topic, key = topics.MAINTENANCE, document.key
        else:
            topic, key = topics.TOPOLOGY, document.fabric
        read = decode(topic.name, msgspec.json.encode(document))
        self.add(topic.name, key.encode(), read, time_ms)
        self._new.append(read)


class WholeWorker:
    """Pings, heartbeats and documents in; what it publishes is counted by topic.

    parts  what lives as long as the worker does
    """

    def __init__(self) -> None:
        self.published: Counter[str] = Counter()
        self._now_ns = START_S * 10**9
        self._offsets: Counter[str] = Counter()
        self._producer = RecordingProducer()
        ownership = Ownership()
        admission = Admission(ownership=ownership)
        merger = OutputMerger(self._producer)
        self._ingest = Ingest(
            merger, clock_ns=self._clock_ns, elapsed_ns=self._clock_ns, admission=admission
        )
        self._heartbeats = Heartbeats(merger, admission=admission, clock_s=self._clock_s)
        self._feed = _Published(ownership)
        self._stage = LocalizeStage(
            self._producer, lambda _: Localizer(), no_incidents, self._feed,
            clock_s=self._clock_s,
        )  # fmt: skip
        self.parts = (
            ownership, self._feed, self._ingest, self._heartbeats, self._stage, merger, admission
        )  # fmt: skip

    def _clock_ns(self) -> int:
        return self._now_ns

    def _clock_s(self) -> float:
        return self._now_ns / 10**9

    async def second(
        self,
        at_s: int,
        pings: dict[str, Sequence[dict[str, Any]]],
        beats: Iterable[Heartbeat] = (),
        documents: Iterable[OperatorDocument] = (),
    ) -> None:
        """All that comes within a second that begins ``at_s`` after START_S, and its tick.

        pings  host -> the records of its message
        """
        self._now_ns = int((START_S + at_s + 1 + _BROKER_S) * 10**9)
        acked: Acked = []
        for document in documents:
            self._feed.publish(document, self._now_ns // 10**6)
        for beat in beats:
            message = self._message(topics.HEARTBEATS.name, heartbeat.encode(beat), beat.node_sn)
            await self._heartbeats.consume(Event(message, 0, acked))
        batch = [
            self._message(topics.PINGS.name, codecs.encode_arrow(table([*rows])), host)
            for host, rows in pings.items()
        ]
        if batch:
            await self._ingest.consume(BatchEvent(batch, 0, acked, time_kind=1))
        await self._heartbeats.flush()
        await self._ingest.flush()
        sent, self._producer.sent = self._producer.sent, []
        for out in (each for each in sent if each.topic == topics.WINDOWS.name):
            message = self._message(topics.WINDOWS.name, out.value or b"", "")
            message = message._replace(headers=dict(out.headers))
            await self._stage.consume(BatchEvent([message], 0, acked))
        await self._stage.tick()
        self.published.update(each.topic for each in (*sent, *self._producer.sent))
        self._producer.sent.clear()

    def _message(self, topic: str, value: bytes, key: str) -> InMessage:
        offset = self._offsets[topic]
        self._offsets[topic] += 1
        headers = content_type(topics.ARROW) if topic == topics.PINGS.name else {}
        return InMessage(offset, self._now_ns // 10**6, value, headers, key.encode())
