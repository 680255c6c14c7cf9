"""The pairs of each job's endpoints: on rings of its rails, or those of its skeleton. No I/O.

A container that joins or leaves costs the peers of its endpoints; methods that change pairs leave
it to the caller to settle the graph.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from controller.ping_lists.endpoints import Endpoint
from controller.ping_lists.jobs.rings import JobPhase, JobRings, Membership
from controller.ping_lists.jobs.spread import thinned
from controller.ping_lists.pair_graph import PairGraph
from controller.ping_lists.parameters import PingListParameters
from schemas.documents.tasks.job import Job

OPTED_OUT = "the job has opted out"
_CHANGED = "the job's containers have changed since the skeleton was inferred"


class JobPairs:
    """The jobs whose containers are in a graph.

    rnics       by real_ip
    generation  of the first change of members is one more
    """

    def __init__(
        self,
        graph: PairGraph,
        rnics: dict[str, Endpoint],
        parameters: PingListParameters,
        generation: int = 0,
    ) -> None:
        self.generation = generation
        self._graph, self._rnics, self._parameters = graph, rnics, parameters
        self._jobs: dict[str, JobRings] = {}

    @property
    def names(self) -> list[str]:
        """Jobs that have containers here, sorted."""
        return sorted(
            name
            for name, job in self._jobs.items()
            if job.containers and not name.startswith("container:")
        )

    def job(self, document: Job) -> None:
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

    def forget(self, name: str) -> None:
        """Drop what a job's document said, once all of its containers are gone."""
        if (job := self._jobs.get(name)) is not None and not job.containers:
            del self._jobs[name]

    def places(self, name: str) -> dict[str, int]:
        """real_ip -> place in the job, for each rnic of a job: the order of ``thinned``."""
        places = self._places(self._jobs[name])
        return {self._graph.endpoint[ip].real_ip: place for ip, place in places.items()}

    def use_skeleton(
        self,
        name: str,
        pairs: Iterable[tuple[str, str]],
        generation: int | None = None,
        *,
        of: int = 0,
    ) -> None:
        """Probe only these pairs of rnics (real_ip) of the job, in both directions.

        Where they give an endpoint more than ``skeleton_targets`` peers, some are left out: an
        inferred skeleton holds all pairs that may carry traffic, as those of a whole ring.
        generation  of ``phase`` when the inference began
        of          pairs of the whole skeleton, where the caller has left out some already [count]
        Without effect, but for the reason in ``phase``, where the job has opted out or has changed
        since, or where a pair names an rnic that the job does not use, or none joins two hosts.
        """
        job = self._job(name)
        at, endpoint = self._places(job), self._graph.endpoint
        behind: defaultdict[str, list[str]] = defaultdict(list)
        for ip in at:
            behind[endpoint[ip].real_ip].append(ip)
        wanted = {(min(pair), max(pair)) for pair in pairs}
        unknown = sorted({ip for pair in wanted for ip in pair if ip not in behind})
        found = frozenset(
            self._on_two_hosts(
                (min(a, b), max(a, b))
                for one, other in wanted
                for a in behind.get(one, ())
                for b in behind.get(other, ())
                if endpoint[a].layer == endpoint[b].layer
            )
        )
        if not job.allowed:
            self.decline_skeleton(name, OPTED_OUT)
            return
        if generation is not None and generation != job.generation:
            self.decline_skeleton(name, _CHANGED)
            return
        if unknown:
            why = f"the inferred skeleton names rnic {unknown[0]}, which the job does not use"
            self.decline_skeleton(name, why)
            return
        if not found:
            self.decline_skeleton(name, "the inferred skeleton has no pair of two hosts")
            return
        old = self._on_two_hosts(job.pairs())
        limit = self._parameters.skeleton_targets
        kept = frozenset(thinned(found, limit, at))
        job.skeleton, job.reason = kept, "inferred"
        if len(kept) < (whole := max(of, len(found))):
            job.reason += f"; {len(kept):,} of {whole:,} pairs, {limit} targets an endpoint"
        self._redraw(old, self._on_two_hosts(job.pairs()))

    def decline_skeleton(self, name: str, reason: str) -> None:
        """Probe the rails of the job, and say why."""
        self._to_rails(self._job(name), reason)

    def skeletons(self) -> dict[str, list[tuple[str, str]]]:
        """Pairs of rnics (real_ip) of the jobs that use a skeleton."""
        rnic = {ip: own.real_ip for ip, own in self._graph.endpoint.items()}
        return {
            name: [(rnic[a], rnic[b]) for a, b in job.skeleton]
            for name, job in self._jobs.items()
            if job.skeleton is not None
        }

    def adopt(self, other: JobPairs) -> None:
        """Of each job of another graph what its documents said, without containers and pairs."""
        for name, job in other._jobs.items():
            self._jobs[name] = JobRings(job.limit, job.size, job.allowed, job.reason)

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
        used = {self._graph.endpoint[ip].real_ip for ip in self._places(self._jobs[name])}
        return sorted(self._rnics[ip] for ip in used)

    def join(self, key: str) -> None:
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

    def leave(self, key: str) -> None:
        """Remove a container from lists and job."""
        agent = self._graph.agents[key]
        job = self._jobs[agent.job]
        self._changed(job, f"container {key.partition(':')[2]} left")
        self.set_ready(key, ready=False)
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

    def set_ready(self, key: str, *, ready: bool) -> None:
        """A container answers probes, or not any more."""
        if self._graph.set_ready(key, ready=ready):
            self._jobs[self._graph.agents[key].job].ready += 1 if ready else -1

    def _places(self, job: JobRings) -> dict[str, int]:
        """Address -> place in the job: that on its ring, and of a host's own rnics, which have no
        ring, the place of the host among those that the job has so."""
        agents = [self._graph.agents[key] for key in job.containers]
        whole = sorted({agent.node_sn for agent in agents if agent.rnics})
        of_host = {node_sn: place for place, node_sn in enumerate(whole)}
        return {
            own.ip: of_host[own.node_sn] if own in agent.rnics else job.ring(own.rail).place(own.ip)
            for agent in agents
            for own in (*agent.endpoints, *agent.rnics)
        }

    def _job(self, name: str) -> JobRings:
        if name not in self._jobs:
            self._jobs[name] = JobRings(self._parameters.targets_per_endpoint)
        return self._jobs[name]

    def _changed(self, job: JobRings, what: str) -> None:
        """The members of the job change: its skeleton does not hold any more."""
        self.generation += 1
        job.generation = self.generation
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
