"""Two fabrics through one partition of skh.windows, and the stage that judges them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from confluent_kafka import Producer

from builders.streams.ping_records import START_S as EPOCH_S
from builders.streams.ping_records import batch, ping
from builders.streams.stages import (
    Acked,
    BatchEvent,
    FixedFeed,
    RecordingProducer,
    plain_localizer,
)
from localizer.localizer import Localizer
from schemas.documents.incident import Incident
from streams.kafka.embedded_broker import EmbeddedBroker
from streams.kafka.messages import OutMessage
from streams.kafka.producer import KafkaProducer
from streams.localize.stage import LocalizeStage
from streams.readers import incidents
from streams.readers.operator_feed import OperatorFeed
from streams.readers.windows_reader import WindowsReader
from streams.windowing.partition import PartitionWorker

START_S = EPOCH_S + 50  # BAD_S later, the localizers forget what is old
SECONDS, BAD_S, WAIT_S = 64, 30, 42  # the error comes at BAD_S; at WAIT_S the repair is awaited
HOSTS = [f"h{n}" for n in range(1, 7)]
FABRICS = ("good", "bad")


def two_fabrics() -> list[OutMessage]:
    """Two fabrics through one partition; in each h3 loses half of its probes for ten seconds."""
    worker = PartitionWorker(0, epoch=1)
    out: list[OutMessage] = []
    for second in range(SECONDS):
        rows = [
            ping(
                50 + second + 0.2 + 0.1 * n, a, b, src_idc=fabric, src_port=50_000 + port, sent=4,
                src_asw="a1", dst_asw="a1",
                loss_rate=0.5 if "h3" in (a, b) and 12 <= second < 22 else 0.0,
            )
            for fabric in FABRICS
            for a in HOSTS
            for n, b in enumerate(HOSTS)
            for port in range(2)
            if a != b
        ]  # fmt: skip
        out += worker.feed(batch(rows), second, (START_S + second + 1) * 10**9)
    return out + worker.finish()


class ForwardingProducer(RecordingProducer):
    """Publishes on a broker too."""

    def __init__(self, producer: KafkaProducer) -> None:
        super().__init__()
        self._producer = producer

    async def send(self, messages: Sequence[OutMessage]) -> None:
        await self._producer.send(messages)
        await super().send(messages)


class Run:
    """A worker's localizing stage on a broker of its own that holds the messages."""

    def __init__(self, messages: Sequence[OutMessage]) -> None:
        self.broker = EmbeddedBroker()
        self.kafka = {"bootstrap.servers": self.broker.bootstrap, "log_level": 3}
        self.count = 0
        self.publish(messages)
        self.kafka_producer = KafkaProducer(self.broker.bootstrap, {"log_level": 3})
        self.producer = ForwardingProducer(self.kafka_producer)
        self.acked: Acked = []
        self.waits: list[float] = []
        self.not_ready: list[dict[str, str]] = []

    def publish(self, messages: Sequence[OutMessage]) -> None:
        producer = Producer(self.kafka)
        for each in messages:
            at_s = int(dict(each.headers)["end_s"])
            producer.produce(
                each.topic, each.value, each.key, partition=0, timestamp=at_s * 1000,
                headers=each.headers,
            )  # fmt: skip
        assert producer.flush(30) == 0
        self.count += len(messages)

    async def sleep(self, wait_s: float) -> None:
        self.waits.append(wait_s)
        await asyncio.sleep(0)

    async def judge(
        self,
        feed: OperatorFeed | None = None,
        make: Callable[[str], Localizer] = plain_localizer,
    ) -> LocalizeStage:
        self.stage = stage = LocalizeStage(
            self.producer, make,
            lambda: incidents.read_incidents(self.kafka), feed or FixedFeed(),
            open_reader=lambda p, offset: WindowsReader(self.kafka, p, offset), sleep=self.sleep,
        )  # fmt: skip
        reader = WindowsReader(self.kafka, 0, 0)
        waited = False
        while reader.position < self.count:
            for message in await asyncio.to_thread(reader.read):
                end_s = int(message.headers["end_s"]) - START_S
                if not waited and end_s >= WAIT_S:
                    waited = True
                    await self.until(lambda: not any(each.rebuilding for each in stage.fabrics))
                await stage.consume(BatchEvent([message], 0, self.acked))
                self.not_ready.append(stage.failing())
        reader.close()
        self.kafka_producer.close()
        return stage

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(600):
            while True:
                if condition():
                    return
                await asyncio.sleep(0.01)  # between two looks at a condition with a deadline

    def network(self, fabric: str) -> list[Incident]:
        return [each for each in self.producer.incidents(fabric) if each.kind != "pipeline"]

    def pipeline(self, fabric: str) -> list[Incident]:
        return [each for each in self.producer.incidents(fabric) if each.kind == "pipeline"]
