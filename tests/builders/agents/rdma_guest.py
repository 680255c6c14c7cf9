"""Agents with --engine rdma in an RDMA guest, one for each of its rnics, as if each were a host."""

from __future__ import annotations

import base64
import gzip
import json
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec
import pytest

from schemas.documents.heartbeat import Heartbeat, decode
from schemas.documents.topology import Host, Topology
from testbed.netns import Fabric
from testbed.netns import missing as fabric_missing
from testbed.rdma_vm import Guest, GuestError
from testbed.rdma_vm import missing as guest_missing
from testbed.rdma_vm.attach import Rail
from testbed.rdma_vm.image import packages
from testbed.rdma_vm.kernel import kernel

AGENT = "python3 -m probers.agent.main"
KEY_FILE = "/root/probe.key"
ALLOWED = "--allow-cidr 10.0.0.0/8 --allow-cidr fd00::/8"
_LINE = 900  # characters of a file that one command carries
_LIMIT_S = 300.0


def need_guest(*, fabric: bool = False, agent: bool = False) -> None:
    """Skip where this machine cannot run a guest."""
    lacks = [*guest_missing(), *(fabric_missing() if fabric else [])]
    if agent and not packages():
        lacks.append("the release of Python that the system has, for the agent's packages")
    if lacks:
        pytest.skip(f"an RDMA guest needs {', '.join(lacks)}")
    try:
        kernel()
    except GuestError as why:
        pytest.skip(f"an RDMA guest needs its kernel: {why}")


class Published(NamedTuple):
    """What agents have published, and their logs."""

    records: list[dict[str, Any]]
    beats: list[Heartbeat]
    log: str


class GuestAgents:
    """Started with the first list; ``stop`` returns what they published."""

    def __init__(self, guest: Guest, fabric: Fabric, rails: list[Rail]) -> None:
        self._guest = guest
        self.addresses = [rail.address for rail in rails]
        (host,) = fabric.topology.hosts
        hosts = [
            Host(f"host-{number}", [msgspec.structs.replace(rnic, rail=0)], host.pod)
            for number, rnic in enumerate(host.rnics)
        ]
        #: A host for each rnic.
        self.topology: Topology = msgspec.structs.replace(fabric.topology, hosts=hosts)

    def start(self, *, interval_s: float, arguments: str = "") -> None:
        """Every rnic probes all others."""
        self._guest.run(f"echo a key of this guest only >{KEY_FILE}; chmod 600 {KEY_FILE}")
        for number, host in enumerate(self.topology.hosts):
            self._write(f"/root/list{number}", self._list(number, interval_s))
            self._guest.run(
                f"{AGENT} --engine rdma --ping-list /root/list{number} --key-file {KEY_FILE} "
                f"--node-sn {host.node_sn} --publish file:/root/out{number} --encoding ndjson "
                f"{ALLOWED} {arguments} >/root/log{number} 2>&1 & "
                f"echo $! >>/root/agents"
            )

    def count(self, task_type: str) -> int:
        """Records of this type so far."""
        counted = self._guest.run(f"cat /root/out* 2>/dev/null | grep -o '{task_type}' | wc -l")
        return int(counted.lines[-1])

    def wait(self, what: str, reached: Callable[[], bool]) -> None:
        """Poll the guest; fails the test after a bound on hangs, with the agents' logs."""
        deadline = time.monotonic() + _LIMIT_S
        while not reached():
            if time.monotonic() > deadline:
                logs = self._guest.run("cat /root/log*").lines
                pytest.fail(f"not within {_LIMIT_S} s: {what}; " + "\n".join(logs[-20:]))
            time.sleep(0.5)  # between two questions over the serial line

    def stop(self) -> Published:
        """End the agents and read their files."""
        self._guest.run(
            "kill $(cat /root/agents); "
            "while kill -0 $(cat /root/agents) 2>/dev/null; do usleep 100000; done",
            within_s=_LIMIT_S,
        )
        log = "\n".join(self._guest.run("cat /root/log*").lines)
        packed = self._guest.run("cat /root/out* | gzip | base64", within_s=_LIMIT_S)
        records, beats = [], []
        for line in gzip.decompress(base64.b64decode("".join(packed.lines))).splitlines():
            message = json.loads(line)
            payload: str = message["payload"]
            if message["topic"] == "skh.pings":
                records += [json.loads(each) for each in payload.splitlines()]
            elif message["topic"] == "skh.heartbeats":
                beats.append(decode(payload.encode()))
        return Published(records, beats, log)

    def _list(self, number: int, interval_s: float) -> bytes:
        ends = [
            {"ip": ip, "real_ip": ip, "layer": "underlay", "asw": host.rnics[0].asw}
            for ip, host in zip(self.addresses, self.topology.hosts, strict=True)
        ]
        targets = [
            {**end, "src_ip": self.addresses[number], "node_sn": f"host-{other}",
             "src_ports": [50_000], "dscp": 26}
            for other, end in enumerate(ends) if other != number
        ]  # fmt: skip
        return json.dumps(
            {"version": 1, "fabric": self.topology.fabric, "node_sn": f"host-{number}",
             "interval_s": interval_s, "endpoints": [ends[number]], "targets": targets}
        ).encode()  # fmt: skip

    def _write(self, path: str, content: bytes) -> None:
        text = base64.b64encode(content).decode()
        for begin in range(0, len(text), _LINE):
            self._guest.run(f"echo {text[begin : begin + _LINE]} >>{path}.b64")
        assert self._guest.run(f"base64 -d {path}.b64 >{path}").code == 0
