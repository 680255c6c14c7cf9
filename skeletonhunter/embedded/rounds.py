"""How many probes a round of the demo's ping lists has, phase by phase."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from controller.ping_lists.jobs.rings import JobPhase
from controller.traffic.job_skeletons import Progress
from schemas.documents.topology import Container


@dataclass
class Rounds:
    """Probes in a round of the overlay, each endpoint to each of its targets [count].

    full_mesh   each endpoint to all others of its job on other hosts
    same_rail   of the rail lists, with all containers ready
    now         of the lists as they are
    containers, ready  of all jobs [count]
    seconds     of throughput that are known of each job
    phases      by job, as the controller says; confidence of the skeletons that are used
    """

    full_mesh: int
    same_rail: int = 0
    now: int = 0
    containers: int = 0
    ready: int = 0
    seconds: int = 0
    phases: dict[str, JobPhase] = field(default_factory=dict)
    confidence: dict[str, float] = field(default_factory=dict)

    @property
    def skeletons(self) -> int:
        """Jobs whose lists are their skeleton [count]."""
        return sum(each.phase == "skeleton" for each in self.phases.values())

    @property
    def declined(self) -> dict[str, str]:
        """Why jobs have no skeleton, by job."""
        return {job: each.reason for job, each in self.phases.items() if each.phase != "skeleton"}

    def update(self, phases: dict[str, JobPhase], progress: dict[str, Progress]) -> None:
        """The phases of all jobs, and how far the inference of each is."""
        self.phases = phases
        self.seconds = min((each.seconds for each in progress.values()), default=0)
        self.containers = sum(each.containers for each in phases.values())
        self.ready = sum(each.ready for each in phases.values())
        self.now = 2 * sum(each.active for each in phases.values())
        if not self.skeletons:
            self.same_rail = 2 * sum(each.pairs for each in phases.values())
        self.confidence = {
            job: each.last.confidence
            for job, each in progress.items()
            if each.last is not None and phases[job].phase == "skeleton"
        }


def full_mesh(containers: list[Container]) -> int:
    """Pairs (source, target) of endpoints of a job on two hosts [count]."""
    of_job: Counter[str] = Counter()
    of_host: Counter[tuple[str, str]] = Counter()
    for box in containers:
        if box.job:
            of_job[box.job] += len(box.endpoints)
            of_host[box.job, box.node_sn] += len(box.endpoints)
    return sum(each**2 for each in of_job.values()) - sum(each**2 for each in of_host.values())
