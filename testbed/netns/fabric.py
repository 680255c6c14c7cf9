"""A real data-centre fabric on one machine: network namespaces, veth cables, ECMP, real faults.

Needs root, iproute2, nftables and util-linux. Everything it makes carries a name of its own, so
several fabrics can stand at once; all of it is gone when it is closed.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from itertools import count
from types import TracebackType
from typing import Any, NamedTuple

from schemas.component_ids import component
from schemas.documents.topology import Topology
from testbed.netns import build, machine, openvswitch
from testbed.netns.faults import actions, filters
from testbed.netns.faults.fault import Fault
from testbed.netns.machine import FabricError, Process
from testbed.netns.plan.plan import Plan
from testbed.netns.probes.agents import Agent

_run_numbers = count()


class Helper(NamedTuple):
    """A process that makes a fault last."""

    process: Process
    popen: subprocess.Popen[bytes]

    def first_line(self) -> str:
        """What it says first; then its output is closed."""
        out = self.popen.stdout
        if out is None:
            return ""
        with out:
            return out.readline().decode().strip()


class Fabric:
    """Hosts behind ToRs and spines; a context manager, or built and closed by hand.

    with Fabric(Plan()) as fabric:
        agent = fabric.popen("host-0", ["skeletonhunter-agent", ...])
        fabric.loss(("tor-0", "spine-1"), 30.0)
        fabric.heal()

    name    of a fabric that outlives this process; None: it belongs to this process, and what is
            left of it when the process was killed is removed by the next one
    faults  by id, while they last; agents: by node
    """

    def __init__(self, plan: Plan | None = None, *, name: str | None = None) -> None:
        self.plan = plan or Plan()
        self.topology: Topology = self.plan.topology()
        self.name = name or f"{os.getpid()}-{next(_run_numbers)}"
        self.faults: dict[str, Fault] = {}
        self.last_fault = 0
        self.agents: dict[str, Agent] = {}
        self._nodes = frozenset(self.plan.nodes())
        self._children: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Fabric:
        machine_lacks(self.plan)
        machine.sweep()
        self.build()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def build(self) -> None:
        """Make everything; when something fails, nothing stays. Raises FabricError."""
        machine_lacks(self.plan)
        if machine.present(self.prefix):
            raise FabricError(f"namespaces {self.prefix}… exist already; take that fabric down")
        try:
            build.build(self.plan, self.namespace)
        except BaseException:
            self.close()
            raise

    @property
    def prefix(self) -> str:
        """How the names of its namespaces begin."""
        return f"{machine.PREFIX}-{self.name}-"

    def namespace(self, node: str) -> str:
        """Name of the network namespace of a host, container or switch."""
        if node not in self._nodes:
            raise ValueError(
                f"no node {node!r} here; there are host-N, cont-N-M, tor-N, agg-N, spine-N"
            )
        return f"{self.prefix}{node}"

    def popen(self, host: str, argv: Sequence[str], **kwargs: Any) -> subprocess.Popen[bytes]:
        """Start a process in a node's network (its files are this machine's); ended on close."""
        command = machine.inside(self.namespace(host), argv)
        child: subprocess.Popen[bytes] = subprocess.Popen(command, **kwargs)  # noqa: S603  # the caller's command is the point
        self._children.append(child)
        return child

    def helper(self, node: str, argv: Sequence[str], stdout: int = subprocess.DEVNULL) -> Helper:
        """Start a process that makes a fault last; it leads a group and outlives this process."""
        child = self.popen(
            node, argv, stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
        known = machine.process(child.pid)
        if known is None:
            raise FabricError(f"{argv[0]} in {node} ended at once")
        return Helper(known, child)

    def restart(self, agent: Agent) -> None:
        """Start an agent again as it was started before."""
        self.agents[agent.node] = agent.started(self)[0]

    def create(self, fault: Fault) -> Fault:
        """Make a fault and read back that it is there; see ``faults``."""
        return actions.create(self, fault)

    def destroy(self, fault: Fault) -> None:
        """Undo a fault and read back that it is gone."""
        actions.destroy(self, fault)

    def loss(self, link: tuple[str, str], percent: float) -> None:
        """Drop ``percent`` of the IP packets that cross a link, in both directions. Link: two
        switches, or a switch and a NIC's address. Verified to be in place; heal() removes it."""
        at = self.plan.link_id(self.plan.cable(*link))
        self.create(Fault(target="network", action="loss", at=at, percent=percent))

    def dropped(self, link: tuple[str, str]) -> int:
        """Packets that losses on this link have eaten so far, both directions."""
        at = self.plan.link_id(self.plan.cable(*link))
        return sum(filters.hit(self, each) for each in self.faults.values() if each.at == at)

    def nic_down(self, host: str, nic: int) -> None:
        """Pull a NIC's cable (at the switch's end: the NIC loses its carrier, keeps its routes)."""
        address = self.plan.nic_address(int(host.removeprefix("host-")), nic)
        self.create(Fault(target="network", action="down", at=component("rnic", address)))

    def heal(self) -> None:
        """Remove every fault, the newest first; verified to be gone."""
        for fault in reversed(list(self.faults.values())):
            self.destroy(fault)

    def close(self) -> None:
        """End all processes, remove all namespaces; raises FabricError if something stays."""
        for child in self._children:
            if child.poll() is None:
                child.terminate()
        try:
            machine.remove(machine.present(self.prefix))
        finally:
            for child in self._children:
                child.wait(machine.PATIENCE_S)
            self.faults.clear()
            self.agents.clear()


def machine_lacks(plan: Plan) -> None:
    """Raises FabricError unless such a fabric can be built here."""
    if lacks := machine.missing() + openvswitch.missing() * (plan.vswitch == "ovs"):
        raise FabricError(f"a namespace fabric needs {', '.join(lacks)}")
