"""A real agent with a sender's key, and a container behind its relay, before the analyzer."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

from builders.agents.waiting import Until

from probers.publishing.encoding.encode import to_arrow
from probers.publishing.relay import Headers, Relay
from probers.publishing.unix import UnixPublisher
from schemas import topics
from schemas.signing.keys import KeyRing
from streams.admission.admission import Admission
from streams.admission.replays import Replays
from streams.kafka.messages import InMessage

RING = KeyRing({"k1": b"m" * 32})
PINGS, BEATS = topics.PINGS.name, topics.HEARTBEATS.name


class Arrived:
    """What reached the broker, in its order."""

    def __init__(self) -> None:
        self.messages: list[tuple[str, InMessage]] = []

    def __call__(self, topic: str, key: str, headers: Headers, payload: bytes) -> None:
        at_ms = time.time_ns() // 10**6
        self.messages.append((topic, InMessage(0, at_ms, payload, headers, key.encode())))

    def count(self, topic: str, client: bytes = b"") -> int:
        """Messages of a topic, from the host itself or from a relay's client."""
        return sum(
            each == topic and message.headers.get("relay-client", b"") == client
            for each, message in list(self.messages)
        )


def record(box: str, tenant: str, **other: object) -> dict[str, object]:
    return {
        "agent_type": "overlay", "task_type": "UDP_PING", "dial": "success", "src_idc": "f1",
        "src_node_sn": "host-a", "src_node_id": box, "src_tenant_id": tenant,
        "src_ip": "172.16.0.1", "dst_ip": "172.16.0.2", "ping_time": time.time_ns(), **other,
    }  # fmt: skip


def test_an_agent_signs_its_own_records_and_limits_its_relays_client_to_one_container(
    tmp_path: Path, eventually: Until
) -> None:
    for name, text in (("probe", "a probe key for tests"),
                       ("sender", RING.host_key("f1", "host-a").document())):  # fmt: skip
        (tmp_path / name).touch(mode=0o600)
        (tmp_path / name).write_text(text + "\n")
    own = [{"ip": f"127.0.1.{n}", "real_ip": f"127.0.1.{n}", "layer": "underlay"} for n in (1, 2)]
    target = {"src_ip": "127.0.1.1", "ip": "127.0.1.2", "real_ip": "127.0.1.2", "port": 65312,
              "node_sn": "host-a", "layer": "underlay", "src_ports": [51100]}  # fmt: skip
    document = {"version": 1, "fabric": "f1", "node_sn": "host-a", "interval_s": 0.1,
                "endpoints": own, "targets": [target]}  # fmt: skip
    (tmp_path / "list.json").write_text(json.dumps(document))
    arrived, box = Arrived(), tmp_path / "box.sock"
    with Relay(tmp_path / "relay.sock", arrived):
        agent = subprocess.Popen(
            [
                sys.executable, "-m", "probers.agent.main",
                "--ping-list", str(tmp_path / "list.json"),
                "--publish", f"unix:{tmp_path / 'relay.sock'}", "--node-sn", "host-a",
                "--key-file", str(tmp_path / "probe"), "--listen-port", "65312",
                "--sender-key-file", str(tmp_path / "sender"),
                "--relay-listen", f"{box}=box-1,t1",
            ],
            stderr=subprocess.PIPE,
        )  # fmt: skip
        try:
            eventually(box.exists)
            client = UnixPublisher(str(box))
            client.connect(60.0)
            rows = [record("box-1", "t1"), record("box-2", "t1"), record("box-1", "t2"),
                    record("box-1", "t1", src_node_sn="host-b")]  # fmt: skip
            client.publish(PINGS, "whatever", to_arrow(rows), topics.ARROW)
            client.publish(BEATS, "host-a", b'{"node_sn":"host-a","time":1}', topics.JSON)
            assert client.close(60.0) == 0
            eventually(lambda: arrived.count(PINGS, b"box-1") == 1)
            eventually(lambda: arrived.count(PINGS) >= 3 and arrived.count(BEATS) >= 2)
        finally:
            agent.send_signal(signal.SIGTERM)
            _, errors = agent.communicate(timeout=600)
    assert agent.returncode == 0, errors
    admission, replays = Admission(lambda: RING), Replays()
    rows, refused = [], []
    for topic, message in arrived.messages:
        if topic == BEATS:
            assert admission.heartbeat(message, 0).node_sn == "host-a"
            continue
        joined = admission.pings([message], [0], {0: replays})
        rows += joined.batch.to_pylist()
        refused += [reject.reason for _, reject in joined.rejects]
    assert [row["src_node_id"] for row in rows if row["agent_type"] == "overlay"] == ["box-1"]
    assert all("'box-1' of host 'host-a'" in reason for reason in refused)
    found = {reason: count for reason, count in admission.refused.items() if count}
    assert found == {"foreign_record": 3}, refused
    assert RING.host_key("f1", "host-a").secret.hex().encode() not in errors
