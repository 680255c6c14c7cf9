"""Containers, agents and skeletons come and go -> the ping list of every host, kept up to date.

Three phases. *Preload*: when a container is placed, its endpoints are paired with those of its job
on the same rail. *Activation*: a pair is in the lists only while both of its ends are ready.
*Skeleton*: pairs that carry traffic replace those of the rail. An event costs the peers of the
endpoints that it names, and tells the hosts whose lists it changes; no I/O, no clock.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from controller.ping_lists import endpoints, underlay
from controller.ping_lists.endpoints import Document, Endpoint
from controller.ping_lists.host_list import HostList
from controller.ping_lists.jobs.pairs import JobPairs
from controller.ping_lists.pair_graph import Agent, PairGraph
from controller.ping_lists.parameters import DEFAULT, FIRST_PORT, RESPONDER_PORT, PingListParameters
from controller.ping_lists.underlay import Pair
from schemas.documents.placement import Placement
from schemas.documents.tasks.job import Job
from schemas.documents.times import milliseconds_of
from schemas.documents.topology import Topology


class Delta(NamedTuple):
    """How a list has changed: entries to add or to replace, (src_ip, ip) to remove."""

    etag: str
    interval_s: float
    added: list[Document]
    removed: list[tuple[str, str]]


class PingLists:
    """The lists of one fabric. Methods that take an event return the hosts whose lists changed.

    topology    hosts and switches; its containers are not used
    pairs       of the underlay; None: those of ``underlay.plan``
    interval_s  between two probes of a five-tuple, where the caps allow it
    dscp        of probes; agents mark packets with it
    jobs        their pairs
    """

    jobs: JobPairs

    def __init__(
        self,
        topology: Topology,
        parameters: PingListParameters = DEFAULT,
        *,
        pairs: Iterable[Pair] | None = None,
        interval_s: float = 1.0,
        first_port: int = FIRST_PORT,
        listen_port: int = RESPONDER_PORT,
        dscp: int = 0,
    ) -> None:
        self._parameters = parameters
        self._pairs = pairs
        self._interval_s = interval_s
        self._first_port, self._listen_port, self._dscp = first_port, listen_port, dscp
        self._lists: dict[str, HostList] = {}
        self._begin(topology)

    def _begin(self, topology: Topology, generation: int = 0) -> None:
        """Lists for a topology, without containers; versions of hosts that were there go on."""
        self.fabric = topology.fabric
        self._rnics = endpoints.underlay(topology)
        self._documents: dict[str, Placement] = {}
        before = self._lists
        self._lists = {
            host.node_sn: HostList(
                self._parameters, self._interval_s,
                before[host.node_sn].version if host.node_sn in before else 0,
            )
            for host in topology.hosts
        }  # fmt: skip
        self._graph = PairGraph(self._lists)
        self.jobs = JobPairs(self._graph, self._rnics, self._parameters, generation)
        own: defaultdict[str, list[Endpoint]] = defaultdict(list)
        for rnic in self._rnics.values():
            own[rnic.node_sn].append(rnic)
        for node_sn in self._lists:
            self._graph.enter(f"host:{node_sn}", Agent(node_sn, own[node_sn]))
        if self._pairs is None:
            pairs: Iterable[Pair] = underlay.plan(topology, self._rnics, self._parameters)
        else:
            pairs = self._pairs
        for pair in pairs:
            self._graph.connect(pair.a, pair.b, pair.ports)
        self._graph.settle()

    @property
    def hosts(self) -> list[str]:
        """All hosts, in the order of the topology."""
        return list(self._lists)

    def host(self, node_sn: str, *, ready: bool) -> set[str]:
        """A host's own agent has registered, or it drains or is gone: its part of the underlay."""
        if node_sn in self._lists:
            self._graph.set_ready(f"host:{node_sn}", ready=ready)
        return self._graph.settle()

    def container(self, document: Placement) -> set[str]:
        """A container's document: it is placed, moves, becomes ready, drains, is gone."""
        key = f"container:{document.node_id}"
        agents = self._graph.agents
        if document.state == "gone" or document.node_sn not in self._lists:
            self._documents.pop(document.node_id, None)
            if key in agents:
                self.jobs.leave(key)
            return self._graph.settle()
        self._documents[document.node_id] = document
        since_ms = milliseconds_of(document.valid_from)
        own = self._undisputed(key, endpoints.overlay(self._rnics, document), since_ms)
        agent = Agent(
            document.node_sn, own, document.job or key,
            rnics=endpoints.own_rnics(self._rnics, document),
        )  # fmt: skip
        if key in agents and not agents[key].same_as(agent):
            self.jobs.leave(key)
        if key not in agents:
            self._graph.enter(key, agent)
            self.jobs.join(key)
        agents[key].since_ms = since_ms
        self.jobs.set_ready(key, ready=document.state == "ready")
        return self._graph.settle()

    def job(self, document: Job) -> set[str]:
        """A job's document: its size when complete, and whether a skeleton may be used."""
        self.jobs.job(document)
        return self._graph.settle()

    def use_skeleton(
        self,
        name: str,
        pairs: Iterable[tuple[str, str]],
        generation: int | None = None,
        *,
        of: int = 0,
    ) -> set[str]:
        """See ``JobPairs.use_skeleton``."""
        self.jobs.use_skeleton(name, pairs, generation, of=of)
        return self._graph.settle()

    def decline_skeleton(self, name: str, reason: str) -> set[str]:
        """See ``JobPairs.decline_skeleton``."""
        self.jobs.decline_skeleton(name, reason)
        return self._graph.settle()

    def replace_topology(self, topology: Topology) -> set[str]:
        """Lists for another topology of the same fabric; costs as much as all events together.

        Jobs keep their containers, and skeletons whose rnics are still there.
        """
        etags = {node_sn: known.etag for node_sn, known in self._lists.items()}
        documents, jobs, graph = self._documents, self.jobs, self._graph
        skeletons = jobs.skeletons()
        self._begin(topology, jobs.generation)
        self.jobs.adopt(jobs)
        for document in documents.values():
            self.container(document)
        for node_sn in self._lists:
            known = graph.agents.get(f"host:{node_sn}")
            self.host(node_sn, ready=known is not None and known.ready)
        for name, pairs in skeletons.items():
            self.use_skeleton(name, pairs)
        return {
            node_sn for node_sn, known in self._lists.items() if etags.get(node_sn) != known.etag
        }

    def etag(self, node_sn: str) -> str:
        """Identifies the content of a host's list; raises KeyError for a host that is unknown."""
        return self._lists[node_sn].etag

    def version(self, node_sn: str) -> int:
        """Rises with each change of a host's list."""
        return self._lists[node_sn].version

    def five_tuples(self, node_sn: str) -> int:
        """Five-tuples that a host probes."""
        return self._lists[node_sn].five_tuples

    def interval_s(self, node_sn: str) -> float:
        """Time between two probes of a five-tuple of the host [s]."""
        return self._lists[node_sn].interval_s

    def document(self, node_sn: str) -> Document:
        """The list as the host's agents read it; raises KeyError for a host that is unknown."""
        known, graph = self._lists[node_sn], self._graph
        both = sorted((graph.endpoint[a], graph.endpoint[b]) for a, b in known.entries)
        return {
            "version": 1,
            "fabric": self.fabric,
            "node_sn": node_sn,
            "interval_s": known.interval_s,
            "endpoints": self.own(node_sn),
            "targets": [self._entry(a, b, known.entries[a.ip, b.ip]) for a, b in both],
        }

    def probed(self, node_sn: str) -> Iterator[tuple[Endpoint, Endpoint, int]]:
        """Source, target and source ports [count] of each entry of a host, in no order."""
        known, endpoint = self._lists[node_sn], self._graph.endpoint
        for (a, b), ports in known.entries.items():
            yield endpoint[a], endpoint[b], ports

    def own(self, node_sn: str) -> list[Document]:
        """The part of the list that names the host's own endpoints."""
        agents = [self._graph.agents[key] for key in self._graph.on_host[node_sn]]
        in_job = {rnic.ip for agent in agents for rnic in agent.rnics}
        return [
            {**each.document(), "in_job": True} if each.ip in in_job else each.document()
            for agent in agents
            for each in agent.endpoints
        ]

    @property
    def members(self) -> Mapping[str, Agent]:
        """Hosts' own agents (``host:NODE_SN``) and containers (``container:NODE_ID``), by key."""
        return self._graph.agents

    def member(self, ip: str) -> tuple[Endpoint, Agent] | None:
        """An endpoint by address, and whose it is; None for an address that no list may hold."""
        owner = self._graph.owner.get(ip)
        return None if owner is None else (self._graph.endpoint[ip], self._graph.agents[owner])

    def entries(self, node_sn: str) -> Mapping[tuple[str, str], int]:
        """Source and target address of the host's active entries -> source ports [count]."""
        return self._lists[node_sn].entries

    def target(self, source: Endpoint, peer: Endpoint, first: int, ports: int) -> Document:
        """An entry as in lists, with other source ports.

        first  port [count] after those that begin every entry
        """
        used = range(self._first_port + first, self._first_port + first + ports)
        return endpoints.entry(source, peer, used, self._listen_port, self._dscp)

    def delta(self, node_sn: str, etag: str) -> Delta | None:
        """What has changed since the list had this ETag; None: ask for the whole list."""
        known = self._lists[node_sn]
        edits = known.edits_since(etag)
        if edits is None:
            return None
        address = self._graph.endpoint
        added = [
            self._entry(address[edit.key[0]], address[edit.key[1]], edit.ports)
            for edit in edits
            if edit.ports
        ]
        removed = [edit.key for edit in edits if not edit.ports]
        return Delta(known.etag, known.interval_s, added, removed)

    def _entry(self, source: Endpoint, peer: Endpoint, ports: int) -> Document:
        used = range(self._first_port, self._first_port + ports)
        return endpoints.entry(source, peer, used, self._listen_port, self._dscp)

    def _undisputed(self, key: str, own: list[Endpoint], since_ms: int) -> list[Endpoint]:
        """The endpoints whose addresses no newer container has; an older one leaves the lists."""
        kept = []
        for each in own:
            other = self._graph.owner.get(each.ip, key)
            if other != key and not other.startswith("host:"):
                if self._graph.agents[other].since_ms <= since_ms:
                    self.jobs.leave(other)
                else:
                    continue
            kept.append(each)
        return kept
