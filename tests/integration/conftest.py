"""Brokers, the real command as a subprocess, and the input that every test here judges."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from schemas import topics
from schemas.documents import heartbeat
from schemas.documents.incident import Incident, decode_incident
from streams.kafka import admin as kafka_topics
from streams.kafka.embedded_broker import EmbeddedBroker
from streams.sink import batch
from testbed.scenarios import scenario
from testbed.services import kafka_server
from testbed.simulator import publish
from testbed.simulator.simulator import Second, Simulation

START_NS = 1_780_000_000 * 10**9
SECONDS = 90

_QUERY = """
import json, sys
from store.client import open_store
store = open_store(sys.argv[1])
print(json.dumps([store.rows(sql) for sql in sys.argv[2:]], default=str))
"""


class Broker:
    """A broker with all topics, and what tests do with one."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap
        # As agents do: a broker that has just started makes a producer repeat messages, and without
        # it those after them come first.
        self._producer = Producer(
            {"bootstrap.servers": bootstrap, "enable.idempotence": True, "log_level": 3}
        )
        self._admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 3})

    def produce(
        self,
        topic: str,
        key: str,
        value: bytes,
        at_ns: int,
        headers: dict[str, bytes] | None = None,
    ) -> None:
        self._producer.produce(
            topic, key=key, value=value, timestamp=at_ns // 10**6,
            headers=list((headers or {}).items()),
        )  # fmt: skip

    def publish_seconds(self, seconds: Sequence[Second]) -> int:
        """Publish what all agents measured in some seconds; returns the number of ping records."""
        for second in seconds:
            for beat in second.heartbeats:
                self.produce(
                    topics.HEARTBEATS.name, beat.node_sn, heartbeat.encode(beat), beat.time
                )
        records = 0
        for message in publish.published(seconds):
            headers = {topics.CONTENT_TYPE: topics.ARROW.encode()}
            self.produce(
                topics.PINGS.name, message.node_sn, message.value, message.publish_ns, headers
            )
            records += message.records
        assert self._producer.flush(30) == 0
        return records

    def members(self, group: str = "skh-stream") -> int:
        """Members of a group that has finished its rebalance, else 0."""
        described = self._admin.describe_consumer_groups([group])[group].result(60)
        return len(described.members) if described.state.name == "STABLE" else 0

    def lag(self, group: str) -> int:
        """Messages of what the sink reads that a group has not committed yet."""
        consumer = Consumer(
            {"bootstrap.servers": self.bootstrap, "group.id": group, "log_level": 3}
        )
        behind = 0
        try:
            for topic in batch.TOPICS:
                partitions = [TopicPartition(topic.name, p) for p in range(topic.partitions)]
                for at in consumer.committed(partitions, timeout=60):
                    _, high = consumer.get_watermark_offsets(at, timeout=60)
                    behind += max(0, high - max(at.offset, 0))
        finally:
            consumer.close()
        return behind


class IncidentReader:
    """Every document on skh.incidents so far, and what the consumer said was wrong meanwhile."""

    def __init__(self, bootstrap: str) -> None:
        self.documents: list[Incident] = []
        self.errors: list[str] = []
        self._consumer = Consumer({
            "bootstrap.servers": bootstrap, "group.id": "test", "log_level": 3,
            "auto.offset.reset": "earliest", "enable.auto.commit": False,
        })  # fmt: skip
        self._consumer.subscribe([topics.INCIDENTS.name])

    def wait(
        self, enough: Callable[[list[Incident]], bool], what: str, within_s: float = 300
    ) -> None:
        deadline = time.monotonic() + within_s
        while not enough(self.documents):
            if time.monotonic() > deadline:
                states = [(i.component, i.state, i.opened_at) for i in self.documents]
                pytest.fail(f"not within {within_s} s: {what}; seen: {states}, {self.errors}")
            message = self._consumer.poll(0.2)
            if message is None:
                continue
            if (error := message.error()) is not None:
                self.errors.append(error.str())
            else:
                self.documents.append(decode_incident(message.value() or b""))

    def close(self) -> None:
        self._consumer.close()


class Command:
    """``skeletonhunter ...`` as a process of its own."""

    def __init__(self, arguments: list[str], environment: dict[str, str], log: Path) -> None:
        self.log = log
        with log.open("ab") as out:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "skeletonhunter.cli", *arguments],
                stdout=out, stderr=out, env={**os.environ, **environment},
            )  # fmt: skip

    def wait_for(self, condition: Callable[[], bool], what: str, within_s: float = 300) -> None:
        """Until the condition holds; fails when the process ends or the time is over."""
        deadline = time.monotonic() + within_s
        while not condition():
            if self.process.poll() is not None or time.monotonic() > deadline:
                pytest.fail(f"{what}: rc {self.process.poll()}\n{self.log.read_text()[-3000:]}")
            time.sleep(0.1)  # between two looks at a condition with a deadline

    def stop(self, sent: signal.Signals = signal.SIGTERM, within_s: float = 300) -> int:
        """Send a signal and wait for the end; returns the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(sent)
            try:
                self.process.wait(within_s)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait(10)
                pytest.fail(f"did not stop within {within_s} s\n{self.log.read_text()[-3000:]}")
        return self.process.returncode


@pytest.fixture
def embedded() -> Broker:
    embedded = EmbeddedBroker()
    broker = Broker(embedded.bootstrap)
    broker.owner = embedded  # type: ignore[attr-defined]  # lives as long as the broker
    return broker


@pytest.fixture
def apache(tmp_path: Path) -> Iterator[Broker]:
    if why := kafka_server.missing():
        pytest.skip(why)
    (tmp_path / "kafka").mkdir()
    server = kafka_server.KafkaServer(tmp_path / "kafka")
    try:
        kafka_topics.create({"bootstrap.servers": server.bootstrap})
        yield Broker(server.bootstrap)
    finally:
        server.stop()


@pytest.fixture(params=["embedded", pytest.param("apache", marks=pytest.mark.kafka)])
def broker(request: pytest.FixtureRequest) -> Broker:
    """The same test on librdkafka's in-process broker and on Apache Kafka."""
    found: Broker = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Callable[..., Command]]:
    """Start commands that are ended with the test."""
    started: list[Command] = []

    def start(*arguments: str, **environment: str) -> Command:
        log = tmp_path / f"command-{len(started)}.log"
        started.append(Command(list(arguments), environment, log))
        return started[-1]

    yield start
    for command in started:
        if command.process.poll() is None:
            command.process.kill()
            command.process.wait(10)
        print(command.log.read_text(errors="replace")[-8000:])  # shown when the test has failed


@pytest.fixture
def read_incidents(broker: Broker) -> Iterator[IncidentReader]:
    reader = IncidentReader(broker.bootstrap)
    yield reader
    reader.close()


@pytest.fixture(scope="session")
def simulation() -> Simulation:
    """Eight hosts; from second 40 to 70 one ToR-spine link drops three probes in ten."""
    return scenario.load("small").simulation(seed=3, start_ns=START_NS)


@pytest.fixture(scope="session")
def seconds(simulation: Simulation) -> list[Second]:
    return list(simulation.seconds(SECONDS))


@pytest.fixture(scope="session")
def topology_file(simulation: Simulation, tmp_path_factory: pytest.TempPathFactory) -> Path:
    import msgspec

    path = tmp_path_factory.mktemp("topology") / "topology.json"
    path.write_bytes(msgspec.json.encode(simulation.topology))
    return path


@pytest.fixture(scope="session")
def expected(simulation: Simulation, seconds: list[Second]) -> set[tuple[Any, ...]]:
    """Identity, component and opening of the incidents, without any broker."""
    from evaluation.chaos.load import load
    from evaluation.chaos.reference import judge

    found = judge(simulation.topology, load(seconds))
    assert found, "the reference run found nothing; the test would prove nothing"
    return identities(found)


def query(url: str, *statements: str) -> list[list[dict[str, Any]]]:
    """Results of statements, by a process of its own: chDB's directories are not shared."""
    done = subprocess.run(
        [sys.executable, "-c", _QUERY, url, *statements], check=True, capture_output=True, text=True
    )
    found: list[list[dict[str, Any]]] = json.loads(done.stdout)
    return found


def identities(documents: list[Incident]) -> set[tuple[Any, ...]]:
    """What an undisturbed and a disturbed run must agree on, of each incident's last document."""
    last = {each.incident_id: each for each in documents}
    return {(i.incident_id, i.component, i.opened_at, i.parent) for i in last.values()}


def all_resolved(count: int) -> Callable[[list[Incident]], bool]:
    """A condition: that many incidents are there, and the last word on each is that it is over."""

    def enough(documents: list[Incident]) -> bool:
        last = {each.incident_id: each.state for each in documents}
        return len(last) >= count and set(last.values()) == {"resolved"}

    return enough
