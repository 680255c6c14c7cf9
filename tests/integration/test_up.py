"""``skeletonhunter up``: agents' socket in, page and API out, one process, no settings."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from probers.ping_list.controller import ControllerClient, Ready, read_token
from probers.ping_list.document import PingListError, parse
from probers.publishing.signer import Signer, read_key
from probers.publishing.unix import UnixPublisher
from schemas import topics
from schemas.documents import heartbeat
from schemas.signing.keys import KeyRing
from testbed.simulator import publish
from testbed.simulator.simulator import Second

from .conftest import Command


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as other:
        yield other.getsockname()[1]


def test_records_sent_to_the_socket_become_an_incident_of_the_api(
    run: Callable[..., Command],
    taken: int,
    seconds: list[Second],
    topology_file: Path,
    expected: set[tuple[Any, ...]],
    tmp_path: Path,
) -> None:
    data = tmp_path / "var"
    up = run("up", "--port", str(taken), "--data", str(data), "--topology", str(topology_file))
    up.wait_for(lambda: "stop with" in up.log.read_text(), "it says what it serves")
    said = up.log.read_text()
    assert f"port {taken} is taken" in said
    url = re.search(r"page\s+(http://\S+)", said)
    path = re.search(r"agents\s+unix:(\S+)", said)
    assert url is not None
    assert path is not None
    assert (data / "probe.key").stat().st_mode & 0o077 == 0, "only its owner may read the key"
    assert str(data / "probe.key") in said

    agent = UnixPublisher(path[1])
    agent.connect(5)
    for second in seconds:
        for beat in second.heartbeats:
            raw = heartbeat.encode(beat)
            agent.publish(topics.HEARTBEATS.name, beat.node_sn, raw, topics.JSON)
    for message in publish.published(seconds):
        agent.publish(topics.PINGS.name, message.node_sn, message.value, topics.ARROW)
    agent.close(10)

    with httpx.Client(base_url=url[1]) as client:

        def components() -> set[str]:
            found = client.get("/api/v1/incidents").raise_for_status().json()
            return {each["component"] for each in found.get("incidents", found.get("items", []))}

        up.wait_for(lambda: {e[1] for e in expected} <= components(), "the API names the culprit")
        up.wait_for(lambda: client.get("/readyz").status_code == 200, "it is ready")
        metrics = client.get("/metrics").text
        assert client.get("/api/v1/topology").json()["source"] == "document"
        up.wait_for(lambda: client.get("/api/v1/fleet").json()["agents"], "it shows the agents")
        process = {name for name, _, _ in client.get("/api/v1/pipeline").json()["process"]}
        assert {"skh_stream_records_total", "skh_sink_rows_total"} <= process
    assert 'skh_stream_records_total{outcome="judged"}' in metrics
    assert up.stop() == 0, up.log.read_text()
    assert up.log.read_text().rstrip().endswith("stopped")
    assert not (data / "relay.sock").exists()


def test_up_refuses_a_data_directory_that_another_up_uses_in_one_line(
    run: Callable[..., Command], tmp_path: Path
) -> None:
    first = run("up", "--port", "0", "--data", str(tmp_path / "var"))
    first.wait_for(lambda: "stop with" in first.log.read_text(), "it says what it serves")
    second = run("up", "--port", "0", "--data", str(tmp_path / "var"))
    assert second.process.wait(300) == 2
    assert second.log.read_text().count("\n") == 1, second.log.read_text()
    assert first.stop() == 0


def test_an_agent_of_this_host_gets_its_list_from_the_controller_of_up(
    run: Callable[..., Command], tmp_path: Path
) -> None:
    data = tmp_path / "var"
    up = run("up", "--port", "0", "--data", str(data), SKH_CONTROLLER_PORT="0")
    up.wait_for(lambda: "stop with" in up.log.read_text(), "it says what it serves")
    said = up.log.read_text()
    where = re.search(r"controller (http://\S+)", said)
    assert where is not None
    assert f"--token-file {data / 'this-host.token'}" in said
    assert {path.stat().st_mode & 0o077 for path in data.glob("*token*")} == {0}
    token = read_token(str(data / "this-host.token"))
    client = ControllerClient([where[1]], "this-host", token, Ready)
    up.wait_for(lambda: _answers(client), "the controller has read its topics")
    document = parse(client(client.location, 10), client.location)
    assert {target.layer for target in document.targets} == {"underlay"}
    assert len({(target.src_ip, target.ip) for target in document.targets}) == 6
    operator = {"Authorization": f"Bearer {read_token(str(data / 'operator.token'))}"}
    assert httpx.get(f"{where[1]}api/v1/jobs", headers=operator).json() == []
    assert up.stop() == 0, up.log.read_text()


def _answers(client: ControllerClient) -> bool:
    try:
        client(client.location, 10)
    except PingListError:
        return False
    return True


def test_with_a_key_ring_only_signed_senders_are_accepted(
    run: Callable[..., Command], seconds: list[Second], topology_file: Path, tmp_path: Path
) -> None:
    ring = tmp_path / "ring"
    ring.touch(mode=0o600)
    ring.write_text("k1:" + "ab" * 32)
    keys = KeyRing.parse(ring.read_text())
    data = tmp_path / "var"
    up = run(
        "up", "--port", "0", "--data", str(data), "--topology", str(topology_file),
        SKH_SENDER_KEYS=str(ring),
    )  # fmt: skip
    up.wait_for(lambda: "stop with" in up.log.read_text(), "it says what it serves")
    said = up.log.read_text()
    assert f"--sender-key-file {data / 'sender.key'}" in said
    assert read_key(data / "sender.key", "this-host", None) == keys.host_key("default", "this-host")
    url = re.search(r"page\s+(http://\S+)", said)
    path = re.search(r"agents\s+unix:(\S+)", said)
    assert url is not None
    assert path is not None

    hosts = sorted({beat.node_sn for beat in seconds[0].heartbeats})
    agents = {
        host: UnixPublisher(path[1], signer=Signer(keys.host_key("small", host))) for host in hosts
    }
    for each in agents.values():
        each.connect(10)
    forger = UnixPublisher(path[1])
    forger.connect(10)
    messages = list(publish.published(seconds[:30]))
    for message in messages:
        agents[message.node_sn].publish(
            topics.PINGS.name, message.node_sn, message.value, topics.ARROW
        )
    first = messages[0]
    forger.publish(topics.PINGS.name, first.node_sn, first.value, topics.ARROW)
    beat = heartbeat.encode(seconds[0].heartbeats[0])
    agents[hosts[-1]].publish(topics.HEARTBEATS.name, hosts[-1], beat, topics.JSON)
    assert [each.close(10) for each in (*agents.values(), forger)] == [0] * (len(hosts) + 1)

    with httpx.Client(base_url=url[1]) as client:

        def counted() -> bool:
            text = client.get("/metrics").text
            return all(
                f"{name}\n" in text
                for name in (
                    'skh_stream_refused_total{reason="unsigned"} 1.0',
                    'skh_stream_refused_total{reason="foreign_record"} 1.0',
                    'skh_stream_refused_total{reason="bad_signature"} 0.0',
                    'skh_stream_records_total{outcome="dead_lettered"} 1.0',
                )
            ) and not re.search(r'outcome="judged"} 0\.0', text)

        up.wait_for(counted, "what is forged is refused and counted, what is signed is judged")
    assert up.stop() == 0, up.log.read_text()
