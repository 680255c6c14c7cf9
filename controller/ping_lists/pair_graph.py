"""Agents, the pairs of their endpoints, and the lists: a pair is in them while both ends are ready.

The graph keeps the symmetry: a pair is in both lists or in none. No I/O.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from controller.ping_lists.endpoints import Endpoint
from controller.ping_lists.host_list import HostList


@dataclass(slots=True)
class Agent:
    """A host's agent or a container: endpoints that become ready together.

    job       that its endpoints are paired in; empty for a host's own agent
    rnics     of its host that a container uses by their own addresses: they are endpoints of the
              host's agent, and ready with it
    since_ms  when its document was stated [ms since the epoch]
    """

    node_sn: str
    endpoints: list[Endpoint]
    job: str = ""
    since_ms: int = 0
    ready: bool = False
    rnics: list[Endpoint] = field(default_factory=list)

    def same_as(self, other: Agent) -> bool:
        """Whether it has the same endpoints in the same job."""
        return (self.node_sn, self.endpoints, self.rnics, self.job) == (
            other.node_sn, other.endpoints, other.rnics, other.job
        )  # fmt: skip


class PairGraph:
    """Agents by key, endpoints by address, and for each endpoint its peers with their ports."""

    def __init__(self, lists: dict[str, HostList]) -> None:
        self.lists = lists
        self.agents: dict[str, Agent] = {}
        self.endpoint: dict[str, Endpoint] = {}
        self.owner: dict[str, str] = {}
        self.on_host: defaultdict[str, dict[str, None]] = defaultdict(dict)
        self._peers: dict[str, dict[str, int]] = {}
        #: Further jobs that draw a pair of rnics which the plan, or another job, has drawn already.
        self._also_drawn: Counter[tuple[str, str]] = Counter()
        self._touched: set[str] = set()

    def enter(self, key: str, agent: Agent) -> None:
        """Add an agent that is not ready and has no pairs."""
        self.agents[key] = agent
        self.on_host[agent.node_sn][key] = None
        self._touched.add(agent.node_sn)
        for own in agent.endpoints:
            self.owner[own.ip], self.endpoint[own.ip], self._peers[own.ip] = key, own, {}
            self.lists[agent.node_sn].serve(own, added=True)
        for rnic in agent.rnics:
            self.lists[agent.node_sn].use(rnic, added=True)

    def leave(self, key: str) -> None:
        """Remove an agent with its pairs."""
        self.set_ready(key, ready=False)
        agent = self.agents.pop(key)
        for own in agent.endpoints:
            for peer in self._peers.pop(own.ip):
                if peer in self._peers:
                    del self._peers[peer][own.ip]
            self.lists[agent.node_sn].serve(own, added=False)
            del self.owner[own.ip], self.endpoint[own.ip]
        for rnic in agent.rnics:
            self.lists[agent.node_sn].use(rnic, added=False)
        self._touched.add(agent.node_sn)
        del self.on_host[agent.node_sn][key]

    def connect(self, a: str, b: str, ports: int) -> None:
        """Pair two endpoints, with so many source ports in each direction."""
        self._peers[a][b] = self._peers[b][a] = ports
        if self._ready(a) and self._ready(b):
            self._activate(a, b, ports)

    def disconnect(self, a: str, b: str) -> None:
        """Undo ``connect``."""
        del self._peers[a][b], self._peers[b][a]
        if self._ready(a) and self._ready(b):
            self._deactivate(a, b)

    def redraw(
        self, old: Iterable[tuple[str, str]], new: Iterable[tuple[str, str]], ports: int
    ) -> None:
        """Exchange pairs of a job; those that are in both stay as they are.

        So do pairs of rnics that the underlay's plan holds anyway, or another job on these hosts.
        """
        before = {(min(pair), max(pair)) for pair in old}
        after = {(min(pair), max(pair)) for pair in new}
        for a, b in sorted(before - after):
            if self._also_drawn[a, b]:
                self._also_drawn[a, b] -= 1
            else:
                del self._also_drawn[a, b]
                self.disconnect(a, b)
        for a, b in sorted(after - before):
            if b in self._peers[a]:
                self._also_drawn[a, b] += 1
            else:
                self.connect(a, b, ports)

    def set_ready(self, key: str, *, ready: bool) -> bool:
        """Activate or deactivate all pairs of an agent whose other end is ready.

        Returns whether the agent was in the other state. Costs the pairs of the agent.
        """
        agent = self.agents[key]
        if agent.ready == ready:
            return False
        inside = {own.ip for own in agent.endpoints}
        for own in agent.endpoints:
            for peer, ports in self._peers[own.ip].items():
                if self._ready(peer) if peer not in inside else own.ip < peer:
                    if ready:
                        self._activate(own.ip, peer, ports)
                    else:
                        self._deactivate(own.ip, peer)
        agent.ready = ready
        return True

    def active(self, a: str, b: str) -> bool:
        """Whether both endpoints are ready."""
        return self._ready(a) and self._ready(b)

    def settle(self) -> set[str]:
        """End of an event: the hosts whose lists have changed since the last one."""
        touched, self._touched = self._touched, set()
        return {node_sn for node_sn in touched if self.lists[node_sn].settle()}

    def _ready(self, ip: str) -> bool:
        return self.agents[self.owner[ip]].ready

    def _activate(self, a: str, b: str, ports: int) -> None:
        one, other = self.endpoint[a], self.endpoint[b]
        self.lists[one.node_sn].add(one, other, ports)
        self.lists[other.node_sn].add(other, one, ports)
        self._touched.update((one.node_sn, other.node_sn))

    def _deactivate(self, a: str, b: str) -> None:
        one, other = self.endpoint[a], self.endpoint[b]
        self.lists[one.node_sn].remove(one, other)
        self.lists[other.node_sn].remove(other, one)
        self._touched.update((one.node_sn, other.node_sn))
