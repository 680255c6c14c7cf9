"""Publishing to Kafka, against librdkafka's in-process cluster."""

from __future__ import annotations

import pytest
from confluent_kafka import Consumer

from probers.publishing.destination import publish_to
from probers.publishing.kafka import KafkaPublisher
from probers.publishing.publisher import Publisher, PublishError
from probers.publishing.signer import Signer
from schemas import topics
from schemas.signing.keys import KeyRing
from schemas.signing.signature import verify

PINGS = topics.PINGS.name
RING = KeyRing({"k1": b"m" * 32})
KEY = RING.host_key("f1", "host-1")


@pytest.mark.parametrize("compression", ["zstd", "lz4"])
def test_kafka_gets_key_content_type_and_payload(brokers: str, compression: str) -> None:
    publisher: Publisher = publish_to(f"kafka:{brokers}", compression=compression)
    publisher.connect(60.0)
    topic = f"{PINGS}.{compression}"
    assert publisher.publish(topic, "host-1", b"records", topics.ARROW)
    assert publisher.close(60.0) == 0
    assert publisher.counts["delivered"] == 1
    consumer = Consumer(
        {"bootstrap.servers": brokers, "group.id": compression, "auto.offset.reset": "earliest"}
    )
    consumer.subscribe([topic])
    message = consumer.poll(120.0)
    consumer.close()
    assert message is not None
    assert message.error() is None
    assert (message.key(), message.value()) == (b"host-1", b"records")
    assert message.headers() == [("content-type", topics.ARROW.encode())]


def test_kafka_overflow_and_delivery_failures_are_counted() -> None:
    publisher = KafkaPublisher("127.0.0.1:1", max_messages=5, give_up_s=0.3)
    accepted = [publisher.publish(PINGS, "x", b"", topics.ARROW) for _ in range(8)]
    assert accepted == [True] * 5 + [False] * 3
    left = publisher.close(60.0)
    assert publisher.counts["overflow"] == 3
    assert publisher.counts["failed"] == 5, left


def test_a_missing_broker_is_an_error_of_one_line() -> None:
    with pytest.raises(PublishError, match="no broker answered") as why:
        KafkaPublisher("127.0.0.1:1").connect(0.2)
    assert "\n" not in str(why.value)


def test_a_message_in_kafka_is_signed_for_the_partition_that_holds_it(brokers: str) -> None:
    publisher = KafkaPublisher(brokers, signer=Signer(KEY))
    publisher.connect(60.0)
    for name in ("host-1", "host-2", "host-3"):
        assert publisher.publish(PINGS, name, b"records", topics.ARROW)
    assert publisher.close(60.0) == 0
    consumer = Consumer({"bootstrap.servers": brokers, "group.id": "signed",
                         "auto.offset.reset": "earliest"})  # fmt: skip
    consumer.subscribe([PINGS])
    for _ in range(3):
        message = consumer.poll(120.0)
        assert message is not None
        headers = dict(message.headers() or ())
        claim = verify(RING, PINGS, message.partition() or 0, headers, message.value() or b"")
        assert claim.sender == "host-1"
        assert headers["partition"] == b"%d" % (message.partition() or 0)
    consumer.close()
