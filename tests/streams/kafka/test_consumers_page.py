"""docs/consumers.md: its consumer works against a broker, and its layouts are those of the wire."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
from builders.schemas.incidents import INCIDENT, NIC, RESOLVED
from confluent_kafka import Consumer

from schemas import topics
from schemas.wire import window_chunks
from streams.kafka.embedded_broker import EmbeddedBroker
from streams.kafka.messages import OutMessage
from streams.kafka.producer import KafkaProducer
from streams.localize.output import incident_message

PAGE = (Path(__file__).parents[3] / "docs" / "consumers.md").read_text()


class Enough(Exception):
    """The consumer has seen what the test waits for."""


def send(broker: EmbeddedBroker, messages: list[OutMessage]) -> None:
    producer = KafkaProducer(broker.bootstrap, {"log_level": 2})
    try:
        asyncio.run(producer.send(messages))
    finally:
        producer.close()


@pytest.fixture
def broker() -> EmbeddedBroker:
    return EmbeddedBroker()


def test_the_consumer_of_the_page_acts_once_on_each_version(broker: EmbeddedBroker) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(code, "consumers.md", "exec"), names)  # noqa: S102  # the page's own code
    body = code[code.index("def follow") :].strip().splitlines()
    assert len(body) <= 30
    tombstone = OutMessage(topics.INCIDENTS.name, b"AAAA", b"", [])
    future = OutMessage(topics.INCIDENTS.name, b"AAAA", b"\xff", [("schema-version", b"2")])
    versions = [incident_message(each) for each in (INCIDENT, RESOLVED, INCIDENT, NIC)]
    send(broker, [tombstone, future, *versions])
    seen: list[tuple[str, int]] = []

    def act(incident: dict[str, Any]) -> None:
        seen.append((incident["incident_id"], incident["version"]))
        if len(seen) == 3:
            raise Enough

    with pytest.raises(Enough):
        names["follow"](broker.bootstrap, act)
    assert sorted(seen) == [("AAAA", 1), ("AAAA", 2), ("BBBB", 1)]


def test_messages_carry_their_content_type_and_version(broker: EmbeddedBroker) -> None:
    send(broker, [incident_message(INCIDENT)])
    consumer = Consumer({
        "bootstrap.servers": broker.bootstrap, "group.id": "t", "auto.offset.reset": "earliest",
    })  # fmt: skip
    consumer.subscribe([topics.INCIDENTS.name])
    try:
        found = None
        while found is None:
            found = consumer.poll(1.0)
        assert dict(found.headers()) == {
            "content-type": b"application/json", "schema-version": b"1",
        }  # fmt: skip
    finally:
        consumer.close()


def test_the_page_names_every_column_of_the_layouts() -> None:
    layouts = PAGE[PAGE.index("## Arrow layouts") :]
    names = {
        field.name
        for schema in (window_chunks.WINDOW, window_chunks.ROUTES, window_chunks.HEARTBEATS)
        for field in schema
        if not field.name.startswith("dst_") or field.name in ("dst_ip", "dst_port")
    }
    assert [name for name in sorted(names) if f"`{name}`" not in layouts] == []
