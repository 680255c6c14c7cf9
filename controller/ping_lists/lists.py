"""Containers, agents and skeletons come and go -> the ping list of every host, kept up to date.

Three phases. *Preload*: when a container is placed, its endpoints are paired with those of its job
on the same rail. *Activation*: a pair is in the lists only while both of its ends are ready.
*Skeleton*: pairs that carry traffic replace those of the rail. An event costs the peers of the
endpoints that it names, and tells the hosts whose lists it changes; no I/O, no clock.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import NamedTuple

from controller.ping_lists import endpoints, underlay
from controller.ping_lists.endpoints import Document, Endpoint
from controller.ping_lists.host_list import HostList
from controller.ping_lists.job_rings import JobPhase, JobRings, Membership
from controller.ping_lists.pair_graph import Agent, PairGraph
from controller.ping_lists.parameters import DEFAULT, FIRST_PORT, RESPONDER_PORT, PingListParameters
from controller.ping_lists.spread import thinned
from controller.ping_lists.underlay import Pair
from schemas.documents.placement import Placement
from schemas.documents.tasks.job import Job
from schemas.documents.times import milliseconds_of
from schemas.documents.topology import Topology

OPTED_OUT = "the job has opted out"
_CHANGED = "the job's containers have changed since the skeleton was inferred"


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
    """

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
        self._generation = 0
        self._lists: dict[str, HostList] = {}
        self._begin(topology)

    def _begin(self, topology: Topology) -> None:
        """Lists for a topology, without containers; versions of hosts that were there go on."""
        self.fabric = topology.fabric
        self._rnics = endpoints.underlay(topology)
        self._documents: dict[str, Placement] = {}
        self._jobs: dict[str, JobRings] = {}
        before = self._lists
        self._lists = {
            host.node_sn: HostList(
                self._parameters, self._interval_s,
                before[host.node_sn].version if host.node_sn in before else 0,
            )
            for host in topology.hosts
        }  # fmt: skip
        self._graph = PairGraph(self._lists)
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

    @property
    def jobs(self) -> list[str]:
        """Jobs that have containers here, sorted."""
        return sorted(
            name
            for name, job in self._jobs.items()
            if job.containers and not name.startswith("container:")
        )

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
                self._leave(key)
            return self._graph.settle()
        self._documents[document.node_id] = document
        since_ms = milliseconds_of(document.valid_from)
        own = self._undisputed(key, endpoints.overlay(self._rnics, document), since_ms)
        job = document.job or key
        if key in agents and (agents[key].endpoints, agents[key].job) != (own, job):
            self._leave(key)
        if key not in agents:
            self._graph.enter(key, Agent(document.node_sn, own, job))
            self._join(key)
        agents[key].since_ms = since_ms
        self._set_ready(key, ready=document.state == "ready")
        return self._graph.settle()

    def job(self, document: Job) -> set[str]:
        """A job's document: its size when complete, and whether a skeleton may be used."""
        job = self._job(document.job)
        job.allowed = document.submitted is None or document.submitted.skeleton
        size = document.size.containers if document.size else 0
        if size != job.size:
            old = self._on_two_hosts(job.pairs())
            job.resize(size)
            self._redraw(old, self._on_two_hosts(job.pairs()))
        if not job.allowed:
            self._to_rails(job, OPTED_OUT)
        return self._graph.settle()

    def forget_job(self, name: str) -> None:
        """Drop what a job's document said, once all of its containers are gone."""
        if (job := self._jobs.get(name)) is not None and not job.containers:
            del self._jobs[name]

    def places(self, name: str) -> dict[str, int]:
        """real_ip -> place on its ring, for each rnic of a job: the order of ``thinned``."""
        job = self._jobs[name]
        return {
            own.real_ip: job.ring(own.rail).place(own.ip)
            for key in job.containers
            for own in self._graph.agents[key].endpoints
        }

    def use_skeleton(
        self,
        name: str,
        pairs: Iterable[tuple[str, str]],
        generation: int | None = None,
        *,
        of: int = 0,
    ) -> set[str]:
        """Probe only these pairs of rnics (real_ip) of the job, in both directions.

        Where they give an endpoint more than ``skeleton_targets`` peers, some are left out: an
        inferred skeleton holds all pairs that may carry traffic, as those of a whole ring.
        generation  of ``phase`` when the inference began
        of          pairs of the whole skeleton, where the caller has left out some already [count]
        Without effect, but for the reason in ``phase``, where the job has opted out or has changed
        since, or where a pair names an rnic that the job does not use, or none joins two hosts.
        """
        job = self._job(name)
        behind: defaultdict[str, list[str]] = defaultdict(list)
        for key in job.containers:
            for own in self._graph.agents[key].endpoints:
                behind[own.real_ip].append(own.ip)
        wanted = {(min(pair), max(pair)) for pair in pairs}
        unknown = sorted({ip for pair in wanted for ip in pair if ip not in behind})
        found = frozenset(
            self._on_two_hosts(
                (min(a, b), max(a, b))
                for one, other in wanted
                for a in behind.get(one, ())
                for b in behind.get(other, ())
            )
        )
        if not job.allowed:
            return self.decline_skeleton(name, OPTED_OUT)
        if generation is not None and generation != job.generation:
            return self.decline_skeleton(name, _CHANGED)
        if unknown:
            why = f"the inferred skeleton names rnic {unknown[0]}, which the job does not use"
            return self.decline_skeleton(name, why)
        if not found:
            return self.decline_skeleton(name, "the inferred skeleton has no pair of two hosts")
        old = self._on_two_hosts(job.pairs())
        limit = self._parameters.skeleton_targets
        at = {ip: job.ring(self._graph.endpoint[ip].rail).place(ip) for ip in chain(*found)}
        kept = frozenset(thinned(found, limit, at))
        job.skeleton, job.reason = kept, "inferred"
        if len(kept) < (whole := max(of, len(found))):
            job.reason += f"; {len(kept):,} of {whole:,} pairs, {limit} targets an endpoint"
        self._redraw(old, self._on_two_hosts(job.pairs()))
        return self._graph.settle()

    def decline_skeleton(self, name: str, reason: str) -> set[str]:
        """Probe the rails of the job, and say why."""
        self._to_rails(self._job(name), reason)
        return self._graph.settle()

    def phase(self, name: str) -> JobPhase:
        """What the lists of a job are made of."""
        job = self._jobs.get(name) or JobRings(self._parameters.targets_per_endpoint)
        pairs = self._on_two_hosts(job.pairs())
        return job.phase(len(pairs), sum(self._graph.active(a, b) for a, b in pairs))

    def membership(self, name: str) -> Membership:
        """Who is in a job that has containers here; raises KeyError for another."""
        return self._jobs[name].membership()

    def rnics(self, name: str) -> list[Endpoint]:
        """The rnics of a job, each once, by host and rail."""
        used = {
            own.real_ip
            for key in self._jobs[name].containers
            for own in self._graph.agents[key].endpoints
        }
        return sorted(self._rnics[ip] for ip in used)

    def replace_topology(self, topology: Topology) -> set[str]:
        """Lists for another topology of the same fabric; costs as much as all events together.

        Jobs keep their containers, and skeletons whose rnics are still there.
        """
        etags = {node_sn: known.etag for node_sn, known in self._lists.items()}
        documents, jobs, graph = self._documents, self._jobs, self._graph
        self._begin(topology)
        for name, job in jobs.items():
            self._jobs[name] = JobRings(job.limit, job.size, job.allowed, job.reason)
        for document in documents.values():
            self.container(document)
        for node_sn in self._lists:
            known = graph.agents.get(f"host:{node_sn}")
            self.host(node_sn, ready=known is not None and known.ready)
        for name, job in jobs.items():
            if job.skeleton is not None:
                rnic = {ip: own.real_ip for ip, own in graph.endpoint.items()}
                self.use_skeleton(name, [(rnic[a], rnic[b]) for a, b in job.skeleton])
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
        graph = self._graph
        return [
            each.document()
            for key in graph.on_host[node_sn]
            for each in graph.agents[key].endpoints
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

    def _job(self, name: str) -> JobRings:
        if name not in self._jobs:
            self._jobs[name] = JobRings(self._parameters.targets_per_endpoint)
        return self._jobs[name]

    def _undisputed(self, key: str, own: list[Endpoint], since_ms: int) -> list[Endpoint]:
        """The endpoints whose addresses no newer container has; an older one leaves the lists."""
        kept = []
        for each in own:
            other = self._graph.owner.get(each.ip, key)
            if other != key and not other.startswith("host:"):
                if self._graph.agents[other].since_ms <= since_ms:
                    self._leave(other)
                else:
                    continue
            kept.append(each)
        return kept

    def _join(self, key: str) -> None:
        """Pair a container's endpoints with those of its job."""
        agent = self._graph.agents[key]
        job = self._job(agent.job)
        self._changed(job, f"container {key.partition(':')[2]} joined")
        job.containers.add(key)
        for own in agent.endpoints:
            ring = job.ring(own.rail)
            if ring.full:
                old = self._on_two_hosts(ring.pairs())
                ring.grow()
                self._redraw(old, self._on_two_hosts(ring.pairs()))
            ring.join(own.ip)
            new = self._on_two_hosts((own.ip, peer) for peer in ring.peers(own.ip))
            self._redraw([], new)

    def _leave(self, key: str) -> None:
        """Remove a container from lists and job."""
        agent = self._graph.agents[key]
        job = self._jobs[agent.job]
        self._changed(job, f"container {key.partition(':')[2]} left")
        self._set_ready(key, ready=False)
        job.containers.discard(key)
        self._graph.leave(key)
        for own in agent.endpoints:
            ring = job.ring(own.rail)
            ring.leave(own.ip)
            if ring.sparse:
                old = self._on_two_hosts(ring.pairs())
                ring.shrink()
                self._redraw(old, self._on_two_hosts(ring.pairs()))
        if not job.containers and not job.size and job.allowed:
            del self._jobs[agent.job]

    def _set_ready(self, key: str, *, ready: bool) -> None:
        if self._graph.set_ready(key, ready=ready):
            self._jobs[self._graph.agents[key].job].ready += 1 if ready else -1

    def _changed(self, job: JobRings, what: str) -> None:
        """The members of the job change: its skeleton does not hold any more."""
        self._generation += 1
        job.generation = self._generation
        if job.skeleton is not None:
            self._to_rails(job, f"{what}: the skeleton is inferred again")

    def _to_rails(self, job: JobRings, reason: str) -> None:
        job.reason = reason
        if job.skeleton is not None:
            old, job.skeleton = self._on_two_hosts(job.pairs()), None
            self._redraw(old, self._on_two_hosts(job.pairs()))

    def _redraw(self, old: Iterable[tuple[str, str]], new: Iterable[tuple[str, str]]) -> None:
        self._graph.redraw(old, new, self._parameters.ports_per_pair)

    def _on_two_hosts(self, pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
        """The pairs without those on one host: their packets do not leave the vSwitch."""
        at = self._graph.endpoint
        return [(a, b) for a, b in pairs if at[a].node_sn != at[b].node_sn]
