"""Bad messages on every topic leave no trace in the incidents, with the real command."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from schemas import topics
from schemas.documents.incident import Incident
from schemas.topics import Topic
from schemas.wire.window_chunks import Header
from testbed.simulator.simulator import Second

from .conftest import START_NS, Broker, Command, IncidentReader, all_resolved, identities

YEAR_S = 365 * 86_400
BAD = Incident(
    incident_id="BAD", version=1, state="resolved", fabric="small", component="tor:none",
    kind="tor", layer="underlay", symptom="loss", issue_type=None, direction="both",
    opened_at="x", detected_at="x", updated_at="x", closed_at=None, severity="P1", confidence=0.9,
    p_value=1e-9, tie_set=["tor:none"], parent=None, paths_bad=1, paths_total=1,
)  # fmt: skip
TOWER = b"[" * 100_000
HEADERS: list[list[tuple[str, str | bytes | None]]] = [
    [],
    [("content-type", None)],
    [("content-type", b"\xff\xfe")],
    [("content-type", b"x" * 400_000)],
    [("content-type", topics.ARROW.encode())],
    [("content-type", topics.CSV.encode()), ("", b"")],
]


def ahead() -> list[tuple[str, str | bytes | None]]:
    """Headers of a punctuation of next year."""
    at_s = START_NS // 10**9 + YEAR_S
    header = Header("punctuation", "small", at_s, at_s, watermark_ms=at_s * 1000)
    return [*header.to_kafka()]


def spoil(bootstrap: str) -> int:
    """Bad messages on every partition of what the workers read; returns how many."""
    producer = Producer({"bootstrap.servers": bootstrap, "log_level": 3})
    count = 0

    def put(
        topic: Topic, value: bytes | None, key: bytes | None = None, headers: Any = None
    ) -> None:
        nonlocal count
        for partition in range(topic.partitions):
            producer.produce(topic.name, value, key=key, partition=partition, headers=headers)
            count += 1

    for headers in HEADERS:
        for value in (None, b"", b"\xff\xff\xff\xff", TOWER, b"agent_type,\r\n1"):
            put(topics.PINGS, value, headers=headers)
    for topic in (topics.HEARTBEATS, topics.PLACEMENT, topics.MAINTENANCE, topics.INCIDENTS):
        for value in (None, b"", b"{", b"\xff", b'{"x":' + TOWER):
            if topic is not topics.INCIDENTS:  # whose reader in this test takes documents only
                put(topic, value, key=b"k" * 10_000)
    put(topics.HEARTBEATS, b'{"node_sn":"h","time":%d}' % 2**63)
    put(topics.INCIDENTS, msgspec.json.encode(BAD), key=b"BAD")
    for value in (None, b"{", TOWER):
        put(topics.WINDOWS, value, headers=[*Header("punctuation", "small", 1, 1).to_kafka()])
        put(topics.WINDOWS, value, headers=[("kind", None), ("end_s", b"9" * 5000)])
    put(topics.WINDOWS, b"{}", headers=ahead())
    assert producer.flush(30) == 0
    return count


@pytest.mark.parametrize("broker", ["embedded"], indirect=True)
def test_bad_messages_on_every_topic_leave_no_trace_in_the_incidents(
    broker: Broker,
    run: Callable[..., Command],
    read_incidents: IncidentReader,
    seconds: list[Second],
    topology_file: Path,
    expected: set[tuple[Any, ...]],
) -> None:
    def enough(documents: list[Incident]) -> bool:
        return all_resolved(len(expected))([d for d in documents if d.incident_id != "BAD"])

    spoil(broker.bootstrap)
    broker.publish_seconds(seconds[:45])
    spoil(broker.bootstrap)
    broker.publish_seconds(seconds[45:])
    worker = run(
        "stream", "--topology", str(topology_file),
        SKH_KAFKA=broker.bootstrap, SKH_CLICKHOUSE_URL="http://127.0.0.1:1/", SKH_SESSION_S="6",
    )  # fmt: skip
    read_incidents.wait(enough, "every incident over, in spite of the bad messages", 240)
    found = [each for each in read_incidents.documents if each.incident_id != "BAD"]
    assert identities(found) == expected
    assert worker.stop() == 0
    assert topics.PINGS.name in sources_of_letters(broker.bootstrap)


def sources_of_letters(bootstrap: str) -> set[str]:
    """Topics that dead letters speak of."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "letters", "log_level": 3})
    name = topics.DEAD_LETTER.name
    found = set()
    known = consumer.list_topics(name, timeout=60).topics[name].partitions
    consumer.assign([TopicPartition(name, partition, 0) for partition in known])
    while (message := consumer.poll(5)) is not None:
        if message.error() is None:
            found.add(dict(message.headers() or [])["topic"].decode())
    consumer.close()
    return found
