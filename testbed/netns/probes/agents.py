"""Real agents in the hosts and containers of a fabric, with the controller's own ping lists."""

from __future__ import annotations

import secrets
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from controller.pinglist import same_rail
from testbed.netns import machine
from testbed.netns.machine import FabricError, Process

if TYPE_CHECKING:
    from testbed.netns.fabric import Fabric


class Agent(msgspec.Struct, frozen=True):
    """An agent that runs in a node, and how to start it again.

    node_sn  the host that it speaks for; log: where its stderr goes, "" = nowhere
    """

    node: str
    node_sn: str
    argv: list[str]
    log: str
    process: Process

    def started(self, fabric: Fabric, **popen: Any) -> tuple[Agent, subprocess.Popen[bytes]]:
        """The same agent, started (again)."""
        said = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, **popen}
        if "stderr" in popen:
            child = fabric.popen(self.node, self.argv, start_new_session=True, **said)
        else:
            with open(self.log or "/dev/null", "ab") as log:
                child = fabric.popen(
                    self.node, self.argv, start_new_session=True, stderr=log, **said
                )
        known = machine.process(child.pid)
        if known is None:
            raise FabricError(
                f"the agent in {self.node} ended at once; see {self.log or 'its log'}"
            )
        return msgspec.structs.replace(self, process=known), child


def start_agents(
    fabric: Fabric,
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
    """Start one agent per host and one per container; node_sn or node_id -> process. They end
    with the fabric. A container's agent sends heartbeats in its host's name, as a sidecar does.

    directory  receives the probe key and one ping list per host
    publish    where agents publish to; ``unix:PATH`` is reached from every namespace
    arguments  more options for every agent
    log        file that all append to what they have to say; popen: for subprocess.Popen instead
    """
    key = directory / "probe.key"
    key.touch(mode=0o600)
    key.write_text(secrets.token_hex(32))
    documents = same_rail(fabric.topology, ports_per_pair=ports_per_pair, interval_s=interval_s)
    places = [(host, host, ["--layer", "underlay"]) for host in fabric.plan.host_names()]
    for box in fabric.topology.containers:
        part = ["--layer", "overlay", "--node-id", box.node_id]
        places.append((box.node_id, box.node_sn, part))
    agents = {}
    for node, node_sn, part in places:
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
            "--allow-cidr", "10.1.0.0/16",
            "--allow-cidr", "172.16.0.0/12",
            "--trace-interval", str(trace_interval_s),
            *part,
            *arguments,
        ]  # fmt: skip
        agent = Agent(node, node_sn, argv, str(log or ""), Process(0, 0))
        fabric.agents[node], agents[node] = agent.started(fabric, **popen)
    return agents
