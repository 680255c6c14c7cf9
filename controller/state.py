"""All that the controller knows: jobs and containers, and the ping lists of each fabric. Pure.

A service feeds it what arrives, publishes the documents of an outcome, and notifies its hosts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import msgspec

from controller.ping_lists.jobs.rings import JobPhase
from controller.ping_lists.lists import PingLists
from controller.ping_lists.parameters import DEFAULT, PingListParameters
from controller.tasks.events import AnyEvent
from controller.tasks.tasks import Changes, Documents, Forgotten, Tasks
from schemas.documents.placement import Placement
from schemas.documents.tasks.job import Job
from schemas.documents.topology import Topology

Host = tuple[str, str]  # fabric, node_sn


@dataclass(slots=True)
class Outcome:
    """What follows from an event.

    changes   documents to publish
    notified  (fabric, node_sn) of the hosts whose lists have changed
    """

    changes: Changes = field(default_factory=Changes)
    notified: set[Host] = field(default_factory=set)


class ControllerState:
    """Jobs, containers and lists. Containers of a fabric without a topology wait for it.

    interval_s  between two probes of a five-tuple, where the caps allow it
    dscp        of probes
    """

    def __init__(
        self,
        parameters: PingListParameters = DEFAULT,
        *,
        interval_s: float = 1.0,
        dscp: int = 0,
    ) -> None:
        self.tasks = Tasks()
        self.lists: dict[str, PingLists] = {}
        self.parameters = parameters
        self._interval_s, self._dscp = interval_s, dscp

    def restore(self, documents: Documents, topologies: Iterable[Topology]) -> None:
        """Begin with the content of the compacted topics. Agents register again by themselves."""
        self.tasks = Tasks.restored(documents)
        self.lists = {}
        for topology in topologies:
            self.topology(topology)

    def apply(self, event: AnyEvent) -> Outcome:
        """An event about a job, a container or planned work; any order, any number of times."""
        return self._outcome(self.tasks.apply(event))

    def merge(self, document: Placement | Job) -> Outcome:
        """A document that another program has published."""
        return self._outcome(self.tasks.merge(document))

    def _outcome(self, changes: Changes) -> Outcome:
        """What follows from changes of jobs and containers."""
        outcome = Outcome(changes)
        for job in outcome.changes.jobs:
            self._job(job, outcome)
        for before, after in outcome.changes.containers:
            if before is not None and before.fabric != after.fabric:
                self._container(msgspec.structs.replace(before, state="gone"), outcome)
            self._container(after, outcome)
        return outcome

    def topology(self, topology: Topology) -> Outcome:
        """A fabric's topology, new or replaced."""
        outcome, name = Outcome(), topology.fabric
        if (known := self.lists.get(name)) is not None:
            outcome.notified = {(name, node_sn) for node_sn in known.replace_topology(topology)}
            return outcome
        self.lists[name] = PingLists(
            topology, self.parameters, interval_s=self._interval_s, dscp=self._dscp
        )
        for job in self.tasks.jobs.values():
            self._job(job, outcome)
        for document in self.tasks.documents().placements:
            if document.fabric == name:
                self._container(document, outcome)
        return outcome

    def agent(self, fabric: str, node_sn: str, *, ready: bool) -> Outcome:
        """A host's own agent has registered, or it drains or is gone."""
        outcome = Outcome()
        if (known := self.lists.get(fabric)) is not None:
            outcome.notified = {(fabric, each) for each in known.host(node_sn, ready=ready)}
        return outcome

    def skeleton(
        self, fabric: str, job: str, pairs: Iterable[tuple[str, str]], generation: int, of: int = 0
    ) -> Outcome:
        """An inferred skeleton of the job, begun when its phase had that generation.

        of  as for ``PingLists.use_skeleton``
        """
        changed = self.lists[fabric].use_skeleton(job, pairs, generation, of=of)
        return Outcome(notified={(fabric, each) for each in changed})

    def no_skeleton(self, fabric: str, job: str, reason: str) -> Outcome:
        """Inference has declined."""
        known = self.lists[fabric]
        return Outcome(
            notified={(fabric, each) for each in known.decline_skeleton(job, reason)}
        )  # fmt: skip

    def phases(self, fabric: str) -> dict[str, JobPhase]:
        """What the lists of each job are made of."""
        known = self.lists[fabric]
        return {name: known.jobs.phase(name) for name in known.jobs.names}

    def forget(self, now_ms: int) -> Forgotten:
        """Drop what has been over for long; returns the keys, to be deleted from the topics."""
        gone = self.tasks.forget(now_ms)
        for name in gone.jobs:
            for known in self.lists.values():
                known.jobs.forget(name)
        return gone

    def _job(self, job: Job, outcome: Outcome) -> None:
        for fabric, known in self.lists.items():
            outcome.notified |= {(fabric, node_sn) for node_sn in known.job(job)}

    def _container(self, document: Placement, outcome: Outcome) -> None:
        if (known := self.lists.get(document.fabric)) is not None:
            changed = known.container(document)
            outcome.notified |= {(document.fabric, node_sn) for node_sn in changed}
