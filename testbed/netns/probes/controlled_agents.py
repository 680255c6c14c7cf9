"""Agents that know nothing but their controller, or the agent of their host."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from testbed.netns.machine import Process
from testbed.netns.namespaces import Namespaces
from testbed.netns.probes.agent import Agent
from testbed.netns.probes.agents import ALLOWED, start

#: Counters are read below /sys, which shows the ports of the namespace in which it was mounted.
_OWN_SYS: Final = ("unshare", "--mount", "sh", "-c",
                   'mount -t sysfs sysfs /sys && exec "$0" "$@"')  # fmt: skip


def start_controlled_agents(
    fabric: Namespaces,
    directory: Path,
    publish: str,
    controller: str,
    tokens: Mapping[str, str],
    log: Path,
    *,
    trace_interval_s: float = 60.0,
) -> None:
    """Start one agent per host and one per container; they end with the fabric.

    A host's agent registers at the controller and does what that asks of it. A container's agent
    has its list and its requests from its host's, and sends heartbeats in its host's name.

    directory   receives the probe key, the tokens and the hosts' sockets
    publish     where agents publish to; ``unix:PATH`` can be reached from every namespace
    controller  URL, in the network of each host
    tokens      of each host
    log         file that receives the stderr of all agents
    """
    key = directory / "probe.key"
    _secret(key, secrets.token_hex(32))

    def begin(node: str, node_sn: str, *arguments: str) -> None:
        argv = [
            *_OWN_SYS, sys.executable, "-m", "probers.agent.main",
            "--publish", publish, "--key-file", str(key), "--node-sn", node_sn,
            "--fabric", fabric.topology.fabric, *ALLOWED,
            "--trace-interval", str(trace_interval_s), *arguments,
        ]  # fmt: skip
        start(fabric, Agent(node, node_sn, argv, str(log), Process(0, 0)))

    for host in fabric.plan.host_names():
        token = directory / f"{host}.token"
        _secret(token, tokens[host])
        begin(
            host, host, "--controller", controller, "--token-file", str(token), "--layer",
            "underlay", "--throughput", "off", "--containers-listen", _socket(directory, host),
        )  # fmt: skip
    for box in fabric.topology.containers:
        begin(box.node_id, box.node_sn, "--host-agent", _socket(directory, box.node_sn))


def _socket(directory: Path, host: str) -> str:
    """Where the agent of a host listens for containers."""
    return str(directory / f"{host}.sock")


def _secret(path: Path, content: str) -> None:
    path.touch(mode=0o600)
    path.write_text(content)
