"""A namespace fabric whose agents know nothing but their controller, which `up` runs."""

from __future__ import annotations

import re
import secrets
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import msgspec
import pytest
from confluent_kafka import Consumer

from controller.service.tokens import agent_line, operator_line
from schemas import topics
from schemas.signing.keys import KeyRing
from testbed.netns import Fabric, Plan
from testbed.netns.machine import Process
from testbed.netns.probes.agent import Agent
from testbed.netns.probes.agents import start
from testbed.netns.probes.loopback_port import LoopbackPort

HANG_S = 300.0
_OPERATOR = "operator-token"


class ControlledFabric:
    """A running fabric, and clients of what watches it; ``kafka``: address of the broker."""

    def __init__(self, fabric: Fabric, directory: Path, printed: str) -> None:
        self.fabric, self.directory = fabric, directory
        page, controller, self.kafka = (
            re.search(rf"^{name}\s+(\S+)", printed, re.MULTILINE)[1]  # type: ignore[index]
            for name in ("page", "controller", "kafka")
        )
        self._consumers: dict[str, Consumer] = {}
        self.controller_port = urlsplit(controller).port or 0
        self.api = httpx.Client(base_url=f"{page}api/v1/", timeout=HANG_S)
        self.operator = httpx.Client(
            base_url=f"{controller}api/v1/", timeout=HANG_S,
            headers={"Authorization": f"Bearer {_OPERATOR}"},
        )  # fmt: skip

    def start_host_agent(self, host: str, *arguments: str) -> None:
        """The agent of a host: all that it is given are its name, its token and its keys."""
        self.start_agent(
            host, host, "--controller", f"http://127.0.0.1:{self.controller_port}",
            "--token-file", str(self.directory / f"{host}.token"),
            "--sender-key-file", str(self.directory / f"{host}.key"),
            "--publish", f"unix:{self.directory / 'relay.sock'}",
            "--containers-listen", str(self.containers_socket(host)),
            "--relay-listen", str(self.directory / f"{host}.relay"), *arguments,
        )  # fmt: skip
        self.wait(f"the socket of {host}", 60, self.containers_socket(host).exists)

    def start_container_agent(self, container: str, host: str, *arguments: str) -> None:
        """The agent of a container, in its network: all that it is given are its host's sockets."""
        self.start_agent(
            container, host, "--host-agent", str(self.containers_socket(host)),
            "--publish", f"unix:{self.directory / f'{host}.relay'}", *arguments,
        )  # fmt: skip

    def containers_socket(self, host: str) -> Path:
        """Where the agent of a host listens for containers."""
        return self.directory / f"{host}.sock"

    def start_agent(self, node: str, host: str, *arguments: str) -> None:
        """An agent in a node's network, with the /sys of that network; its log is NODE.log."""
        own_sys = 'mount -t sysfs sysfs /sys && exec "$0" "$@"'
        argv = [
            "unshare", "--mount", "sh", "-c", own_sys,
            sys.executable, "-m", "probers.agent.main", "--node-sn", host,
            "--key-file", str(self.directory / "probe.key"), "--trace-interval", "10",
            "--allow-cidr", "10.1.0.0/16", "--allow-cidr", "172.16.0.0/12",
            "--list-interval", "1", *arguments,
        ]  # fmt: skip
        start(self.fabric, Agent(node, host, argv, str(self.log(node)), Process(0, 0)))

    def log(self, node: str) -> Path:
        """What the agent of a node has written to stderr."""
        return self.directory / f"{node}.log"

    def wait(self, what: str, within_s: float, reached: Callable[[], Any]) -> Any:
        """Poll until ``reached()`` is true, and return it; fails the test after ``within_s``."""
        deadline = time.monotonic() + within_s
        while not (answer := reached()):
            if time.monotonic() > deadline:
                logs = {p.name: p.read_text()[-1500:] for p in self.directory.glob("*.log")}
                pytest.fail(f"not within {within_s} s: {what}; logs: {logs}")
            time.sleep(0.25)  # between two requests
        return answer

    def messages(self, topic: str) -> Iterator[tuple[bytes, str]]:
        """Payload and content type of messages that have arrived, each once."""
        if topic not in self._consumers:
            self._consumers[topic] = made = Consumer({
                "bootstrap.servers": self.kafka, "group.id": f"test-{topic}",
                "auto.offset.reset": "earliest",
            })  # fmt: skip
            made.subscribe([topic])
        for message in self._consumers[topic].consume(100, 0.25):
            assert message.error() is None
            headers = dict(message.headers())
            yield message.value(), headers[topics.CONTENT_TYPE].decode()

    def close(self) -> None:
        """Close the clients."""
        for client in (self.api, self.operator, *self._consumers.values()):
            client.close()

    def incidents(self) -> list[dict[str, Any]]:
        """The newest version of each incident."""
        found: list[dict[str, Any]] = self.api.get("incidents?limit=100").json()["items"]
        return found


@contextmanager
def controlled_fabric(directory: Path, plan: Plan) -> Iterator[ControlledFabric]:
    """A fabric, and `up` with its topology but no containers; the agents are to be started."""
    hosts = plan.host_names()
    tokens = {host: secrets.token_hex(8) for host in hosts}
    lines = [agent_line((plan.fabric, host), token) for host, token in tokens.items()]
    files = {f"{host}.token": token for host, token in tokens.items()}
    files |= {
        "tokens": "".join([operator_line("operator", _OPERATOR), *lines]),
        "probe.key": secrets.token_hex(32),
        "ring": f"k1:{secrets.token_hex(32)}",
    }
    ring = KeyRing.parse(files["ring"])
    files |= {f"{host}.key": ring.host_key(plan.fabric, host).document() for host in hosts}
    for name, content in files.items():
        (directory / name).touch(mode=0o600)
        (directory / name).write_text(content)
    with Fabric(plan) as fabric:
        bare = msgspec.structs.replace(fabric.topology, containers=[])
        (directory / "topology.json").write_bytes(msgspec.json.encode(bare))
        command = [
            sys.executable, "-m", "skeletonhunter.cli", "up", "--port", "0",
            "--relay", str(directory / "relay.sock"), "--data", str(directory / "var"),
            "--topology", str(directory / "topology.json"),
        ]  # fmt: skip
        environment = {
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "SKH_CONTROLLER_PORT": "0",
            "SKH_CONTROLLER_TOKENS": str(directory / "tokens"),
            "SKH_SENDER_KEYS": str(directory / "ring"),
        }  # fmt: skip
        with (directory / "up.log").open("wb") as errors:
            served = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment
            )
        assert served.stdout is not None
        try:
            printed = ""
            while "stop with" not in printed and (line := served.stdout.readline()):
                printed += line
            assert printed, (directory / "up.log").read_text()
            made = ControlledFabric(fabric, directory, printed)
            spaces = [fabric.namespace(host) for host in hosts]
            with closing(made), LoopbackPort(spaces, made.controller_port):
                yield made
        finally:
            served.terminate()
            served.wait(HANG_S)
            served.stdout.close()
    assert served.returncode == 0, (directory / "up.log").read_text()
