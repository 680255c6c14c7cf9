"""An agent in a process of its own: its files, its relay's sink, and the records that arrived."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa

from probers.ping_list.document import RESPONDER_PORT
from probers.publishing.relay import Headers
from schemas import topics
from schemas.documents import heartbeat

SECRET = "a key that must never be shown"  # noqa: S105  # of these tests only
LISTEN_PORT = 65311


def own_network() -> str:
    """Three bytes of random loopback addresses: agents of parallel runs bind the same ports."""
    return f"127.{Random().randint(1, 254)}.{Random().randint(0, 255)}"


class Site:
    """A directory with an agent's files; ``rows`` and ``beats`` are what the agent published."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.network = own_network()
        self.ips = (f"{self.network}.1", f"{self.network}.2")
        self.processes: list[subprocess.Popen[bytes]] = []
        self.command = [sys.executable, "-m", "probers.agent.main"]
        self.rows: list[dict[str, Any]] = []
        self.beats: list[heartbeat.Heartbeat] = []
        (directory / "key").touch(mode=0o600)
        (directory / "key").write_text(SECRET + "\n")

    def sink(self, topic: str, key: str, headers: Headers, payload: bytes) -> None:
        assert key == "host-a"
        if topic == topics.PINGS.name:
            self.rows += pa.ipc.open_stream(payload).read_all().to_pylist()
        else:
            self.beats.append(heartbeat.decode(payload))

    def write_list(self, targets: list[str], *, port: int = RESPONDER_PORT, **changes: Any) -> None:
        """Replace the list: every own address probes every target at ``port``."""
        own = [{"ip": ip, "real_ip": ip, "layer": "underlay", "asw": "tor-1"} for ip in self.ips]
        document = {
            "version": 1, "fabric": "f1", "node_sn": "host-a", "interval_s": 0.1, "endpoints": own,
            "targets": [
                {"src_ip": source["ip"], "ip": ip, "real_ip": ip, "node_sn": "host-b",
                 "layer": "underlay", "src_ports": [51000, 51001], "dscp": 26,
                 "port": port}
                for source in own for ip in targets if ip != source["ip"]
            ], **changes,
        }  # fmt: skip
        fresh = self.directory / "list.new"
        fresh.write_text(json.dumps(document))
        fresh.replace(self.directory / "list.json")

    def start(self, *arguments: str, **options: Any) -> subprocess.Popen[bytes]:
        """An agent that replies on LISTEN_PORT; ``arguments`` take precedence."""
        command = [
            *self.command,
            *("--ping-list", str(self.directory / "list.json")),
            *("--publish", f"unix:{self.directory / 'relay.sock'}"),
            *("--node-sn", "host-a", "--key-file", str(self.directory / "key")),
            *("--list-interval", "0.1", "--listen-port", str(LISTEN_PORT)),
            *arguments,
        ]
        process = subprocess.Popen(command, **{"stderr": subprocess.PIPE, **options})
        self.processes.append(process)
        return process

    def close(self) -> None:
        """Kill the agents that a failed test left running."""
        for process in self.processes:
            if process.poll() is None:
                process.kill()
                process.communicate(timeout=600)

    @property
    def pings(self) -> list[dict[str, Any]]:
        """Records of probes so far."""
        return [row for row in self.rows if row["task_type"] == "UDP_PING"]

    def quiet(self) -> bool:
        """Two heartbeats in a row with the same counts: nothing was sent between them."""
        counts = [{ip: c.sent for ip, c in beat.rnics.items()} for beat in self.beats[-2:]]
        return len(counts) == 2 and counts[0] == counts[1] and sum(counts[0].values()) > 0


def ended(process: subprocess.Popen[bytes], number: int = signal.SIGTERM) -> tuple[int, str]:
    """Send a signal; returns exit code and stderr."""
    process.send_signal(number)
    _, errors = process.communicate(timeout=600)
    return process.returncode, errors.decode()
