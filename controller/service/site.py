"""Events, registrations and topologies in; documents published and waiting agents woken.

Everything but ``publisher`` is synchronous, so that within one event loop each event is whole: what
a list shows and what its ETag says always belong together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from controller.blacklist.advice import Advice
from controller.blacklist.blacklist import Blacklist, Hosts, Resolved
from controller.ping_lists.jobs.rings import JobPhase
from controller.ping_lists.lists import Delta, PingLists
from controller.service.live_coverage import LiveCoverage
from controller.service.messages import (
    of_changes,
    of_forgotten,
    of_forgotten_skeletons,
    of_skeleton,
)
from controller.service.parameters import DEFAULT, ServiceParameters
from controller.service.publisher import Publisher, Send
from controller.service.registrations import Registrations
from controller.service.waiting import Waiting
from controller.state import ControllerState, Host, Outcome
from controller.tasks import jobs
from controller.tasks.events import AnyEvent
from controller.tasks.tasks import Documents
from controller.traffic.job_skeletons import Attempt, Conclusion, JobSkeletons
from schemas.documents.maintenance import Maintenance
from schemas.documents.placement import Placement
from schemas.documents.tasks.job import Job
from schemas.documents.times import milliseconds_of, rfc3339_of_ms
from schemas.documents.topology import Rnic, Topology
from schemas.metrics import Sample
from schemas.metrics import controller as metrics

NOT_RESTORED = "the documents of the topics are being read"
NOT_LEADING = "this controller does not lead (yet): another one does, or will in seconds"
NOT_STORED = "the broker does not store documents"


class NotStored(Exception):
    """The broker has not stored documents: they wait, and the request may be repeated."""


class Registered(NamedTuple):
    """The answer to a registration.

    known    whether the host is in the topology of its fabric
    ready    containers of the host that are ready
    unknown  containers that the agent named and no source has placed on its host
    """

    known: bool
    ready: list[str]
    unknown: list[str]


class Site:
    """The controller while it runs, for one event loop.

    send    stores messages in the broker
    now_ms  present time [ms since the epoch]
    leads   no other controller of the same topics answers

    skeletons  documents for those who watch jobs: nothing here waits for them to be stored
    """

    def __init__(
        self,
        send: Send,
        now_ms: Callable[[], int],
        *,
        state: ControllerState | None = None,
        parameters: ServiceParameters = DEFAULT,
    ) -> None:
        self.state = ControllerState() if state is None else state
        self.parameters = parameters
        self.publisher = Publisher(send)
        self.skeletons = Publisher(send)
        self.waiting = Waiting()
        self.now_ms = now_ms
        self.refused: Counter[str] = Counter()
        self.traffic = JobSkeletons(self.state)
        self.advice = Advice()
        self._registrations = Registrations()
        self._agents: set[Host] = set()
        self._events: Counter[str] = Counter()
        self._sources: Counter[str] = Counter()
        self.topologies: dict[str, Topology] = {}
        self.coverage = LiveCoverage()
        self._hosts: dict[str, dict[str, list[Rnic]]] = {}
        self._places: dict[str, Hosts] = {}
        self.leads = True
        self._restored = self._failing = False

    def restore(self, documents: Documents, topologies: Iterable[Topology]) -> None:
        """Begin with the content of the compacted topics; ready from then on."""
        held = list(topologies)
        self.state.restore(documents, held)
        for document in held:
            self._know(document)
        self._registrations.restore(self.state.tasks.placements.values())
        self._restored = True

    def not_ready(self) -> str | None:
        """None, or why agents and operators get no answers."""
        if not self.leads:
            return NOT_LEADING
        if not self._restored:
            return NOT_RESTORED
        return NOT_STORED if self._failing else None

    @property
    def restored(self) -> bool:
        """Whether lists may be read: a list of half of the documents would be a wrong one, and so
        may be that of a controller that leads no longer."""
        return self._restored and self.leads

    async def apply(self, events: Sequence[AnyEvent]) -> None:
        """Take events in; returns when their documents are stored.

        Lists change at once, even where the broker does not answer: no agent must go on probing
        what drains. Raises NotStored, and ValueError for an event that makes no valid document;
        those before it hold.
        """
        try:
            self.take(events)
        finally:
            await self.flush()

    def take(self, events: Sequence[AnyEvent]) -> None:
        """As ``apply``, but the documents wait for the next ``flush``: the caller needs no
        answer. Raises ValueError."""
        try:
            for event in events:
                self._events[str(type(event).__struct_config__.tag)] += 1
                self._sources[event.source] += 1
                self._follow(self.state.apply(event))
        except OverflowError as why:  # of a time
            raise ValueError(f"event: {why}") from why

    async def register(self, host: Host, containers: Iterable[str] | None) -> Registered:
        """A host's agent is there, with these containers (None: it says nothing of them)."""
        self._agents.add(host)
        self._wake(self.state.agent(*host, ready=True))
        found = self._registrations.registered(host, containers, self.now_ms())
        if found.events:
            await self.apply(found.events)
        return Registered(
            self.etag(host) is not None, self._registrations.ready_on(host), found.unknown
        )

    async def withdraw(self, host: Host) -> None:
        """A host's agent ends: neither its host nor the containers that it named are probed."""
        self._agents.discard(host)
        self._wake(self.state.agent(*host, ready=False))
        await self.apply(self._registrations.registered(host, (), self.now_ms()).events)

    def topology(self, document: Topology) -> None:
        """A fabric's topology, new or replaced; its agents keep their registrations."""
        self._know(document)
        self._wake(self.state.topology(document))
        for host in self._agents:
            if host[0] == document.fabric:
                self._wake(self.state.agent(*host, ready=True))

    def maintenance(self, document: Maintenance) -> None:
        """A document on the topic, of this controller or of an operator's command."""
        tasks = self.state.tasks
        key = document.fabric, document.component, _normal(document.start)
        old = tasks.maintenance.get(key)
        new = document
        if old is not None and old.planned is not None:
            new = jobs.planned(old, document)
        if document.ended is not None:
            new = jobs.ended(
                new, document.component, document.start, document.fabric, document.ended
            )
        tasks.maintenance[key] = new

    def inferred(self, attempt: Attempt, found: Conclusion | Exception) -> None:
        """What follows from an inference, or the error that ended it."""
        if isinstance(found, Exception):
            self._wake(self.traffic.failed(attempt, str(found)))
        else:
            if self.traffic.holds(attempt):
                self.skeletons.add(of_skeleton(found.inferred))
            self._wake(self.traffic.found(attempt, found))

    def published(self, document: Placement | Job) -> None:
        """A document on the topics, of this controller or of another program."""
        self._follow(self.state.merge(document))

    async def forget(self) -> None:
        """Delete what has been over for long from the state and the topics."""
        works = dict(self.state.tasks.maintenance)
        gone = self.state.forget(self.now_ms())
        self.publisher.add(of_forgotten(gone, works))
        self.skeletons.add(of_forgotten_skeletons(gone.jobs, self.state.lists))
        await self.flush()

    def etag(self, host: Host) -> str | None:
        """ETag of the host's list; None where the host is in no topology."""
        try:
            return self._lists(host).etag(host[1])
        except KeyError:
            return None

    def ping_list(self, host: Host) -> dict[str, object]:
        """The host's list; raises KeyError for one that is in no topology."""
        return self._lists(host).document(host[1])

    def own(self, host: Host) -> list[dict[str, Any]]:
        """The host's own endpoints, as in its list."""
        return self._lists(host).own(host[1])

    def delta(self, host: Host, etag: str) -> Delta | None:
        """What has changed since; None: read the whole list."""
        return self._lists(host).delta(host[1], etag)

    async def changed(
        self, host: Host, etag: str, wait_s: float, now_s: Callable[[], float]
    ) -> None:
        """Return when the host's list has another ETag, or after ``wait_s``."""
        until_s = now_s() + min(wait_s, self.parameters.longest_wait_s)
        while self.etag(host) == etag and (left_s := until_s - now_s()) > 0:
            if not await self.waiting.changed(host, left_s):
                return
            await self.waiting.settle(self.parameters.settle_s)

    def hosts(self, fabric: str) -> Mapping[str, Sequence[Rnic]]:
        """The rnics of each host of the fabric; none for one without a topology."""
        return self._hosts.get(fabric, {})

    def phases(self, job: str) -> dict[str, JobPhase]:
        """By fabric, what the lists of the job are made of."""
        return {
            fabric: known.jobs.phase(job)
            for fabric, known in self.state.lists.items()
            if job in known.jobs.names
        }

    def blacklist(self) -> Blacklist:
        """Hosts that the open incidents speak against."""
        return self.advice.listed(self._places, self.now_ms())

    def resolved(self) -> list[Resolved]:
        """Incidents inside hosts that are over."""
        return self.advice.resolved(self._places)

    def samples(self) -> Iterator[Sample]:
        """Metrics of the service."""
        yield Sample(metrics.CONTROLLER_READY, self.not_ready() is None)
        yield Sample(metrics.CONTROLLER_AGENTS, len(self._agents))
        yield Sample(metrics.CONTROLLER_WAITING, len(self.waiting))
        yield Sample(metrics.CONTROLLER_UNPUBLISHED, self.publisher.waiting)
        for outcome, count in list(self.traffic.samples.items()):
            yield Sample(metrics.CONTROLLER_SAMPLES, count, (outcome,))
        for outcome, count in list(self.traffic.outcomes.items()):
            yield Sample(metrics.CONTROLLER_INFERENCES, count, (outcome,))
        for kind, count in list(self._events.items()):
            yield Sample(metrics.CONTROLLER_EVENTS, count, (kind,))
        for source, count in list(self._sources.items()):
            yield Sample(metrics.CONTROLLER_SOURCES, count, (source,))
        yield from self.coverage.samples()
        yield from self.advice.samples(self.blacklist(), list(self._hosts))
        for reason, count in list(self.refused.items()):
            yield Sample(metrics.CONTROLLER_REFUSED, count, (reason,))

    def _know(self, document: Topology) -> None:
        self.topologies[document.fabric] = document
        hosts = {each.node_sn: each.rnics for each in document.hosts}
        self._hosts[document.fabric], self._places[document.fabric] = hosts, Hosts.of(hosts)

    def _lists(self, host: Host) -> PingLists:
        return self.state.lists[host[0]]

    def _follow(self, outcome: Outcome) -> None:
        self._registrations.changed(outcome.changes.containers)
        self.publisher.add(of_changes(outcome.changes))
        self._wake(outcome)

    def _wake(self, outcome: Outcome) -> None:
        self.waiting.wake(outcome.notified)

    async def flush(self) -> None:
        """Return when all documents are stored; raises NotStored."""
        try:
            await self.publisher.flush()
        except Exception as why:  # of whatever client of the broker there is
            self._failing = True
            raise NotStored(str(why)) from why
        self._failing = False


def _normal(time: str) -> str:
    return rfc3339_of_ms(milliseconds_of(time))
