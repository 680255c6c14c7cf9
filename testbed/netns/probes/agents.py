"""Real agents in the hosts and containers of a fabric, with the controller's own ping lists."""

from __future__ import annotations

import secrets
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import msgspec

from controller.ping_lists.same_rail import same_rail
from testbed.netns import machine
from testbed.netns.machine import FabricError, Process
from testbed.netns.namespaces import Namespaces
from testbed.netns.probes.agent import Agent

#: Networks of a fabric that agents may probe: underlay, overlay.
_NETWORKS: Final = ("10.1.0.0/16", "172.16.0.0/12", "fd00:1::/32", "fd01::/16")
ALLOWED: Final = tuple(word for network in _NETWORKS for word in ("--allow-cidr", network))


def start(fabric: Namespaces, agent: Agent, **popen: Any) -> tuple[Agent, subprocess.Popen[bytes]]:
    """Start an agent, or start it again, from its record; returns the record with its process.

    popen  for subprocess.Popen; without ``stderr``, the agent's own log receives it
    Raises FabricError if it ends at once.
    """
    options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, **popen}
    if "stderr" in popen:
        child = fabric.popen(agent.node, agent.argv, start_new_session=True, **options)
    else:
        with open(agent.log or "/dev/null", "ab") as log:
            child = fabric.popen(
                agent.node, agent.argv, start_new_session=True, stderr=log, **options
            )
    process = machine.process(child.pid)
    if process is None:
        raise FabricError(f"the agent in {agent.node} ended at once; see {agent.log or 'its log'}")
    agent = msgspec.structs.replace(agent, process=process)
    fabric.agents[agent.node] = agent
    return agent, child


def start_agents(
    fabric: Namespaces,
    directory: Path,
    publish: str,
    *,
    ports_per_pair: int = 4,
    interval_s: float = 1.0,
    trace_interval_s: float = 60.0,
    arguments: tuple[str, ...] = (),
    log: Path | None = None,
    **popen: Any,
) -> dict[str, subprocess.Popen[bytes]]:
    """Start one agent per host and one per container; returns node -> process.

    The agents end with the fabric. A container's agent sends heartbeats in its host's name, as a
    sidecar does.

    directory  receives the probe key and one ping list per host
    publish    where agents publish to; ``unix:PATH`` can be reached from every namespace
    arguments  more options for every agent
    log        file that receives the stderr of all agents; popen: for subprocess.Popen instead
    """
    key = directory / "probe.key"
    key.touch(mode=0o600)
    key.write_text(secrets.token_hex(32))
    documents = same_rail(fabric.topology, ports_per_pair=ports_per_pair, interval_s=interval_s)
    nodes = [(host, host, ["--layer", "underlay"]) for host in fabric.plan.host_names()]
    for box in fabric.topology.containers:
        layer = ["--layer", "overlay", "--node-id", box.node_id]
        nodes.append((box.node_id, box.node_sn, layer))
    agents = {}
    for node, node_sn, layer in nodes:
        path = directory / f"{node_sn}.json"
        if node == node_sn:
            path.write_bytes(msgspec.json.encode(documents[node_sn]))
        argv = [
            sys.executable, "-m", "probers.agent.main",
            "--ping-list", str(path),
            "--publish", publish,
            "--key-file", str(key),
            "--node-sn", node_sn,
            "--fabric", fabric.topology.fabric,
            *ALLOWED,
            "--trace-interval", str(trace_interval_s),
            *layer,
            *arguments,
        ]  # fmt: skip
        agent = Agent(node, node_sn, argv, str(log or ""), Process(0, 0))
        _, agents[node] = start(fabric, agent, **popen)
    return agents
