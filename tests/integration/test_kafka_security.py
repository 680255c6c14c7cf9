"""Every client of ours against Apache Kafka with TLS: SCRAM users, client certificates, signatures.

The records travel as agents send them: through the agent's own publisher, signed by each host.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from probers.publishing.kafka import KafkaPublisher
from probers.publishing.publisher import PublishError
from probers.publishing.signer import Signer
from schemas import topics
from schemas.documents import heartbeat
from schemas.signing.keys import KeyRing
from testbed.services import kafka_server
from testbed.services.kafka_server import PASSWORD, USER, KafkaServer
from testbed.simulator import publish
from testbed.simulator.simulator import Second

from .conftest import Broker, Command, IncidentReader, all_resolved, identities, query

pytestmark = pytest.mark.kafka
Run = Callable[..., Command]
MASTER = "k1:" + "ab" * 32


def started(folder: Path) -> Iterator[KafkaServer]:
    if why := kafka_server.missing():
        pytest.skip(why)
    server = KafkaServer(folder, secure=True)
    yield server
    server.stop()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaServer]:
    yield from started(tmp_path_factory.mktemp("kafka"))


@pytest.fixture
def empty_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaServer]:
    yield from started(tmp_path_factory.mktemp("kafka"))


def secret(path: Path, text: str) -> Path:
    path.touch(mode=0o600)
    path.write_text(text + "\n")
    return path


class Access:
    """How clients reach the server: settings of the analyser, and the same for an agent."""

    def __init__(self, server: KafkaServer, kind: str, folder: Path, password: str) -> None:
        self.address = server.scram if kind == "scram" else server.mtls
        options: dict[str, Any] = {"ssl.ca.location": str(server.folder / "ca.pem")}
        self.environment = {"SKH_KAFKA": self.address}
        self.agent = dict(options)
        if kind == "scram":
            options |= {
                "security.protocol": "SASL_SSL", "sasl.mechanism": "SCRAM-SHA-512",
                "sasl.username": USER,
            }  # fmt: skip
            file = secret(folder / "password", password)
            self.environment["SKH_KAFKA_PASSWORD_FILE"] = str(file)
            self.agent = options | {"sasl.password": password}
        else:
            options |= {
                "security.protocol": "ssl",
                "ssl.certificate.location": str(server.folder / "client.pem"),
                "ssl.key.location": str(server.folder / "client.key"),
            }
            self.agent = options
        self.environment["SKH_KAFKA_OPTIONS"] = json.dumps(options)


@pytest.mark.parametrize("kind", ["scram", "mtls"])
def test_signed_records_become_incidents_and_rows_over_tls(
    kind: str,
    empty_server: KafkaServer,
    run: Run,
    tmp_path: Path,
    seconds: list[Second],
    topology_file: Path,
    expected: set[tuple[Any, ...]],
) -> None:
    access = Access(empty_server, kind, tmp_path, PASSWORD)
    ring = secret(tmp_path / "ring", MASTER)
    environment = access.environment | {
        "SKH_SENDER_KEYS": str(ring),
        "SKH_TOPOLOGY": str(topology_file),
        "SKH_CLICKHOUSE_URL": f"chdb:{tmp_path / 'chdb'}",
        "SKH_SESSION_S": "6",
    }
    finished(run("topics", "--create", **environment), 0)
    finished(run("migrate", "apply", **environment), 0)
    broker = Broker(empty_server.bootstrap)
    reader = IncidentReader(broker.bootstrap)
    worker, sink = run("stream", **environment), run("sink", **environment)

    records = say(access, KeyRing.parse(MASTER), seconds)
    reader.wait(all_resolved(len(expected)), "every incident over", 150)
    assert identities(reader.documents) == expected
    reader.close()
    sink.wait_for(lambda: broker.lag("skh-sink") == 0, "everything stored")
    assert worker.stop() == 0
    assert sink.stop() == 0

    counts = query(
        environment["SKH_CLICKHOUSE_URL"],
        "SELECT count() AS n FROM pings_unique",
        "SELECT count() AS n FROM dead_letters",
    )
    assert counts == [[{"n": records}], [{"n": 0}]]
    for each in (worker, sink):
        assert PASSWORD not in each.log.read_text()


def say(access: Access, ring: KeyRing, seconds: list[Second]) -> int:
    """All agents publish, each with its own key; second by second, as time would have it."""
    hosts = sorted({beat.node_sn for second in seconds for beat in second.heartbeats})
    publishers = {
        host: KafkaPublisher(
            access.address, signer=Signer(ring.host_key("small", host)), options=access.agent
        )
        for host in hosts
    }
    for each in publishers.values():
        each.connect(30.0)
    records = 0
    messages = list(publish.published(seconds))
    for second in seconds:
        for beat in second.heartbeats:
            publishers[beat.node_sn].publish(
                topics.HEARTBEATS.name, beat.node_sn, heartbeat.encode(beat), topics.JSON
            )
        while messages and messages[0].publish_ns < second.start_ns + 10**9:
            message = messages.pop(0)
            assert publishers[message.node_sn].publish(
                topics.PINGS.name, message.node_sn, message.value, topics.ARROW
            )
            records += message.records
        for each in publishers.values():
            assert each._producer.flush(30) == 0  # noqa: SLF001 — seconds in their order
    for message in messages:
        publishers[message.node_sn].publish(
            topics.PINGS.name, message.node_sn, message.value, topics.ARROW
        )
        records += message.records
    assert [each.close(30.0) for each in publishers.values()] == [0] * len(publishers)
    return records


def finished(command: Command, code: int, within_s: float = 300) -> str:
    """What a command said that had to end by itself with that exit code."""
    assert command.process.wait(within_s) == code, command.log.read_text()[-3000:]
    return command.log.read_text()


@pytest.mark.parametrize("command", [["topics", "--create"], ["stream"], ["sink"]], ids=str)
def test_a_wrong_password_ends_a_command_soon_in_one_line_without_the_password(
    command: list[str], server: KafkaServer, run: Run, tmp_path: Path
) -> None:
    access = Access(server, "scram", tmp_path, "not-the-password")
    environment = access.environment | {"SKH_CLICKHOUSE_URL": f"chdb:{tmp_path / 'chdb'}"}
    started = time.monotonic()
    said = finished(run(*command, **environment), 3)
    assert time.monotonic() - started < 60
    (line,) = said.splitlines()
    assert "authentication" in line.lower()
    assert "not-the-password" not in said


def test_an_agent_with_a_wrong_password_or_no_certificate_reports_it(
    server: KafkaServer, tmp_path: Path
) -> None:
    wrong = Access(server, "scram", tmp_path, "not-the-password")
    distrusted = {"security.protocol": "SSL", "ssl.ca.location": str(server.folder / "client.pem")}
    unknown = {"security.protocol": "SSL", "ssl.ca.location": str(server.folder / "ca.pem")}
    for address, options, says in (
        (wrong.address, wrong.agent, "authentication"),
        (server.mtls, distrusted, "certificate"),
        (server.mtls, unknown, "certificate"),  # the broker just hangs up
    ):
        with pytest.raises(PublishError, match=f"(?i){says}") as why:
            KafkaPublisher(address, options=options).connect(10.0)
        assert "\n" not in str(why.value)
        assert "not-the-password" not in str(why.value)
