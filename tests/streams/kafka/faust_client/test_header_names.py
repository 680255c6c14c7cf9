"""A header whose name is no UTF-8 text, which any client may produce, does not stop a consumer."""

from __future__ import annotations

import asyncio

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.record.default_records import _DefaultRecordBatchBuilderPy
from confluent_kafka import Consumer, TopicPartition

from schemas import topics
from streams.kafka.embedded_broker import EmbeddedBroker
from streams.kafka.faust_client import header_names
from streams.sink.kafka_io import to_message

pytestmark = pytest.mark.anyio


class NoText(str):
    """A name that goes out as other bytes, as a client in another language may send it."""

    __slots__ = ()

    def encode(self, *_: object, **__: object) -> bytes:
        return b"\xff\xfe"


async def produce(bootstrap: str) -> None:
    """Eight messages in two batches, the second compressed; one of each batch has such a name."""
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap)
    await producer.start()
    for first, compression in ((0, 0), (4, 1)):
        batch = producer.create_batch()
        builder = _DefaultRecordBatchBuilderPy(2, compression, 0, -1, -1, -1, 10**6)
        for at in range(4):
            name = NoText("xx") if at == 1 else "good"
            builder.append(at, 1, b"k", b"%d" % (first + at), [(name, b"v"), ("none", None)])
        batch._builder, batch._relative_offset = builder, 4  # noqa: SLF001 — no public way to it
        await (await producer.send_batch(batch, topics.PINGS.name, partition=0))
    await producer.stop()


async def test_messages_with_such_headers_arrive_in_order() -> None:
    broker = EmbeddedBroker()
    await produce(broker.bootstrap)
    header_names.tolerate()
    header_names.tolerate()
    consumer = AIOKafkaConsumer(
        topics.PINGS.name, bootstrap_servers=broker.bootstrap, auto_offset_reset="earliest"
    )
    await consumer.start()
    async with asyncio.timeout(300):
        found = [await consumer.getone() for _ in range(8)]
    await consumer.stop()
    assert [(each.offset, each.value) for each in found] == [(n, b"%d" % n) for n in range(8)]
    names = [each.headers[0][0] for each in found]
    assert names == ["good", "\ufffd\ufffd", "good", "good"] * 2


async def test_the_sink_reads_messages_with_such_headers_without_headers() -> None:
    broker = EmbeddedBroker()
    await produce(broker.bootstrap)

    def read() -> list[tuple[bytes, dict[str, bytes]]]:
        consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "sink"})
        consumer.assign([TopicPartition(topics.PINGS.name, 0, 0)])
        found = []
        for _ in range(600):
            message = consumer.poll(0.1)
            if message is not None and message.error() is None:
                plain = to_message(message)
                found.append((plain.value, dict(plain.headers)))
            if len(found) == 8:
                break
        consumer.close()
        return found

    found = await asyncio.to_thread(read)
    assert [value for value, _ in found] == [b"%d" % n for n in range(8)]
    assert [bool(headers) for _, headers in found] == [True, False, True, True] * 2
    assert found[0][1] == {"good": b"v", "none": b""}
