"""Two fabrics through one partition of skh.windows, and the stage that judges them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from types import SimpleNamespace

from confluent_kafka import Producer
from ping_samples import START_S as EPOCH_S
from ping_samples import batch, ping

from localizer.localizer import Localizer
from schemas import topics
from schemas.documents.incident import Incident, decode_incident
from streams.kafka.embedded_broker import EmbeddedBroker
from streams.kafka.messages import InMessage, OutMessage
from streams.kafka.publisher import Publisher
from streams.localize import restore
from streams.localize.operator_feed import Notice, OperatorFeed
from streams.localize.reread import WindowsReader
from streams.localize.stage import LocalizeStage
from streams.windowing.partition import PartitionWorker

START_S = EPOCH_S + 50  # BAD_S later, the localizers forget what is old
SECONDS, BAD_S, WAIT_S = 64, 30, 42  # the error comes at BAD_S; at WAIT_S the repair is awaited
HOSTS = [f"h{n}" for n in range(1, 7)]
FABRICS = ("good", "bad")


def said() -> list[OutMessage]:
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


class Event:
    def __init__(self, message: InMessage, acked: list[int]) -> None:
        self._acked = acked
        self.value = None
        self.message = SimpleNamespace(
            partition=0, offset=message.offset, timestamp=message.time_ms / 1000,
            value=message.value, headers=message.headers, key=message.key,
        )  # fmt: skip

    def ack(self) -> None:
        self._acked.append(self.message.offset)


class Told(OperatorFeed):
    """What people and the controller say, without a broker."""

    def __init__(self, *docs: Notice) -> None:
        super().__init__({})
        self.docs = list(docs)

    async def begin(self) -> None:
        """There is nothing to read."""

    @property
    def known(self) -> list[Notice]:
        return self.docs


class Recorder:
    """Publishes, and remembers what."""

    def __init__(self, publisher: Publisher) -> None:
        self._publisher = publisher
        self.sent: list[OutMessage] = []

    async def send(self, messages: Sequence[OutMessage]) -> None:
        await self._publisher.send(messages)
        self.sent += messages

    def incidents(self, fabric: str) -> list[Incident]:
        docs = [decode_incident(o.value) for o in self.sent if o.topic == topics.INCIDENTS.name]
        return [each for each in docs if each.fabric == fabric]


class Run:
    """A worker's localizing stage on a broker of its own that holds the messages."""

    def __init__(self, messages: Sequence[OutMessage]) -> None:
        self.broker = EmbeddedBroker()
        self.kafka = {"bootstrap.servers": self.broker.bootstrap, "log_level": 3}
        self.count = 0
        self.say(messages)
        self.publisher = Publisher(self.broker.bootstrap, {"log_level": 3})
        self.outbox = Recorder(self.publisher)
        self.acked: list[int] = []
        self.waits: list[float] = []
        self.not_ready: list[dict[str, str]] = []

    def say(self, messages: Sequence[OutMessage]) -> None:
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
        notices: OperatorFeed | None = None,
        make: Callable[[str], Localizer] = lambda _: Localizer(),
    ) -> LocalizeStage:
        self.stage = stage = LocalizeStage(
            self.outbox, make,
            lambda: restore.read_incidents(self.kafka), notices or Told(),
            open_reader=lambda p, offset: WindowsReader(self.kafka, p, offset), sleep=self.sleep,
        )  # fmt: skip
        reader = WindowsReader(self.kafka, 0, 0)
        waited = False
        while reader.position < self.count:
            for message in await asyncio.to_thread(reader.read):
                end_s = int(message.headers["end_s"]) - START_S
                if not waited and end_s >= WAIT_S:
                    waited = True
                    await self.until(lambda: not any(each.repairing for each in stage.fabrics))
                await stage.take(Event(message, self.acked))
                self.not_ready.append(stage.failing())
        reader.close()
        self.publisher.close()
        return stage

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(600):
            while True:
                if condition():
                    return
                await asyncio.sleep(0.01)  # between two looks at a condition with a deadline

    def network(self, fabric: str) -> list[Incident]:
        return [each for each in self.outbox.incidents(fabric) if each.kind != "pipeline"]

    def pipeline(self, fabric: str) -> list[Incident]:
        return [each for each in self.outbox.incidents(fabric) if each.kind == "pipeline"]
