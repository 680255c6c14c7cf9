"""A controller's state with one job, and the throughput of its rnics."""

from __future__ import annotations

from builders.controller.clusters import T0_MS, placement, two_tiers
from controller.state import ControllerState
from controller.tasks.events import (
    Box,
    ContainerGone,
    ContainerPlaced,
    ContainerReady,
    JobSubmitted,
)
from controller.traffic.job_skeletons import Attempt, JobSkeletons
from controller.traffic.parameters import DEFAULT, TrafficParameters
from testbed.training.cases import LabelledTraffic

RAILS = 8
T0_S = T0_MS // 1000
_NS = 1_000_000_000


class TrainingSite:
    """Job job-a on all hosts of a fabric f1, ready at T0; samples begin at T0."""

    def __init__(
        self, made: LabelledTraffic, *, skeleton: bool = True, ready: bool = True,
        parameters: TrafficParameters = DEFAULT,
    ) -> None:  # fmt: skip
        self.made = made
        self.hosts = len(set(made.host.tolist()))
        self.topology = two_tiers(self.hosts, RAILS)
        self.state = ControllerState()
        self.state.topology(self.topology)
        boxes = []
        for number in range(self.hosts):
            box = placement(number, number, rails=RAILS)
            boxes.append(
                Box(node_id=box.node_id, node_sn=box.node_sn, job="job-a", fabric="f1",
                    endpoints=box.endpoints)
            )  # fmt: skip
        self.boxes = boxes
        self.state.apply(
            JobSubmitted(time_ms=T0_MS, source="rest", job="job-a", fabric="f1", skeleton=skeleton,
                         containers=boxes)
        )  # fmt: skip
        if ready:
            for box in boxes:
                self.ready(box, T0_MS)
        self.skeletons = JobSkeletons(self.state, parameters)
        self.skeletons.follow(T0_MS)

    def ready(self, box: Box, time_ms: int) -> None:
        self.state.apply(
            ContainerReady(
                time_ms=time_ms, source="agent", node_id=box.node_id, node_sn=box.node_sn
            )
        )

    def gone(self, box: Box, time_ms: int) -> None:
        self.state.apply(ContainerGone(time_ms=time_ms, source="rest", node_id=box.node_id))

    def join(self, number: int, time_ms: int) -> None:
        """One more container joins the job, on the host of another."""
        box = self.boxes[number]
        self.state.apply(
            ContainerPlaced(
                time_ms=time_ms, source="rest",
                container=Box(node_id=f"{box.node_id}-new", node_sn=box.node_sn, job="job-a",
                              fabric="f1"),
            )
        )  # fmt: skip

    def play(self, first: int, end: int) -> list[Attempt]:
        """Samples of seconds first .. end - 1 after T0, and the attempts that become due."""
        attempts = []
        for second in range(first, end):
            self.skeletons.follow(T0_MS + second * 1000)
            self.sample(second)
            if (attempt := self.skeletons.due()) is not None:
                attempts.append(attempt)
        return attempts

    def sample(self, second: int) -> None:
        made = self.made
        hosts = [f"h{host:03}" for host in made.host.tolist()]
        ips = [f"10.{r}.{h}.1" for h, r in zip(made.host.tolist(), made.rail.tolist(), strict=True)]
        at = second % made.tx.shape[1]
        self.skeletons.add(
            "f1", hosts, ips, made.host * 0 + (T0_S + second) * _NS,
            made.tx[:, at].astype("int64"), made.rx[:, at].astype("int64"),
            T0_MS + second * 1000,
        )  # fmt: skip
