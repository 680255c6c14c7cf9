"""The nodes of a plan as network namespaces, and the processes that run in them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from itertools import count
from types import TracebackType
from typing import Any, NamedTuple, Self

from schemas.documents.topology import Topology
from testbed.netns import build, cpu_groups, machine, openvswitch
from testbed.netns.faults.fault import Fault
from testbed.netns.machine import FabricError, Process
from testbed.netns.plan.document import topology
from testbed.netns.plan.plan import Plan
from testbed.netns.probes.agent import Agent

_run_numbers = count()


class Helper(NamedTuple):
    """A process that keeps a fault in place."""

    process: Process
    popen: subprocess.Popen[bytes]

    def first_line(self) -> str:
        """The first line of its output, which is closed afterwards."""
        out = self.popen.stdout
        if out is None:
            return ""
        with out:
            return out.readline().decode().strip()


class Namespaces:
    """Hosts, containers and switches, one namespace each; a context manager.

    name    of a fabric that outlives this process; None: the fabric belongs to this process, and
            the next process removes what is left of it when this one was killed
    faults  by id, while they last
    agents  by node
    """

    def __init__(self, plan: Plan | None = None, *, name: str | None = None) -> None:
        self.plan = plan or Plan()
        self.topology: Topology = topology(self.plan)
        self.name = name or f"{os.getpid()}-{next(_run_numbers)}"
        self.faults: dict[str, Fault] = {}
        self.last_fault = 0
        self.agents: dict[str, Agent] = {}
        self._nodes = frozenset(self.plan.nodes())
        self._children: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        require_tools(self.plan)
        machine.remove_stale()
        cpu_groups.remove_stale()
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
        """Build everything, or leave nothing behind and raise FabricError."""
        require_tools(self.plan)
        if machine.present(self.prefix):
            raise FabricError(f"namespaces {self.prefix}… exist already; take that fabric down")
        try:
            build.build(self.plan, self.namespace)
        except BaseException:
            self.close()
            raise

    @property
    def prefix(self) -> str:
        """The common prefix of the namespaces' names."""
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
        """Start a process that keeps a fault in place: a group leader that outlives this process.
        Raises FabricError if it ends at once."""
        child = self.popen(
            node, argv, stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
        known = machine.process(child.pid)
        if known is None:
            raise FabricError(f"{argv[0]} in {node} ended at once")
        return Helper(known, child)

    def close(self) -> None:
        """End all processes and remove all namespaces; raises FabricError if one stays."""
        for child in self._children:
            if child.poll() is None:
                child.terminate()
        try:
            machine.remove(machine.present(self.prefix))
        finally:
            for child in self._children:
                child.wait(machine.END_TIMEOUT_S)
            for group in cpu_groups.present(self.prefix):
                cpu_groups.remove(group)
            self.faults.clear()
            self.agents.clear()


def require_tools(plan: Plan) -> None:
    """Raises FabricError unless this machine has the tools to build such a fabric."""
    if lacks := machine.missing() + openvswitch.missing() * (plan.vswitch == "ovs"):
        raise FabricError(f"a namespace fabric needs {', '.join(lacks)}")
