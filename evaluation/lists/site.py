"""A controller beside a simulation: placements and throughput in, what agents probe out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import msgspec
import numpy as np

from controller.skeleton.inference import infer
from controller.state import ControllerState
from controller.tasks.events import JobSubmitted
from controller.traffic.job_skeletons import JobSkeletons
from probers.ping_list.document import PingList, parse
from schemas.documents.placement import Placement
from testbed.simulator.simulator import SECOND_NS, Simulation
from testbed.workload.jobs import static_schedule
from testbed.workload.listed import listed
from testbed.workload.throughput import Throughput

_MOST_STAGES = 8


class SimulatedSite:
    """The controller of one simulated fabric; agents have each list as soon as it changes.

    simulation  whose agents probe the lists; begins without containers
    changed     times that lists have changed and agents have followed [count]
    """

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = self.simulation = simulation
        self.changed = 0
        topology = simulation.topology
        self._fabric, self._state = topology.fabric, ControllerState()
        self._state.topology(msgspec.structs.replace(topology, containers=[]))
        for host in topology.hosts:
            self._state.agent(self._fabric, host.node_sn, ready=True)
        for job, size in Counter(box.job for box in topology.containers if box.job).items():
            self._state.apply(
                JobSubmitted(
                    time_ms=simulation.start_ns // 10**6, source="rest", job=job,
                    fabric=self._fabric, size=0 if simulation.schedule.changes else size,
                )
            )  # fmt: skip
        self._ready: dict[str, bool] = {}
        self._version = -1
        self._follow()

    def place(self, documents: Iterable[Placement]) -> None:
        """Containers come, get ready, drain and go; agents have their lists afterwards."""
        for document in documents:
            self._state.merge(document)
            self._ready[document.node_id] = document.state == "ready"
        self._follow()

    def unready(self) -> int:
        """Targets in the lists whose containers are not ready [count]."""
        return sum(
            not self._ready.get(target.node_id, False)
            for each in self._parsed()
            for target in each.targets
            if target.layer == "overlay"
        )

    def targets(self) -> float:
        """Mean targets of a container's endpoint."""
        targets = sum(
            target.layer == "overlay" for each in self._parsed() for target in each.targets
        )
        endpoints = sum(own.layer == "overlay" for each in self._parsed() for own in each.endpoints)
        return targets / max(endpoints, 1)

    def learn(self, seconds: int) -> dict[str, str]:
        """Let all jobs train for so long, as pipelines, and infer their skeletons.

        Returns each job's reason where its lists stay on the rails, else an empty text.
        """
        simulation = self._simulation
        hosts = Counter(box.job for box in simulation.topology.containers if box.job)
        stages = min([_MOST_STAGES, *(count // 2 for count in hosts.values())])
        schedule = static_schedule(simulation.topology, pp=max(1, stages))
        made = Throughput(simulation, schedule, simulation.start_ns)
        traffic = JobSkeletons(self._state)
        traffic.follow(simulation.start_ns // 10**6)
        for second in range(seconds):
            rows = made.second(second)
            columns = {name: rows[name] for name in ("node_sn", "real_ip")}
            names = {name: column.to_pylist() for name, column in columns.items()}
            time, tx, rx = (
                np.asarray(rows[name].to_numpy(zero_copy_only=False), np.int64)
                for name in ("time", "tx_bytes", "rx_bytes")
            )
            now_ms = (simulation.start_ns + (second + 1) * SECOND_NS) // 10**6
            traffic.add(self._fabric, names["node_sn"], names["real_ip"], time, tx, rx, now_ms)
        while (attempt := traffic.due()) is not None:
            traffic.found(attempt, traffic.conclude(attempt, infer(attempt.given)))
        self._follow()
        phases = self._state.phases(self._fabric)
        return {
            job: "" if each.phase == "skeleton" else each.reason for job, each in phases.items()
        }

    def _parsed(self) -> list[PingList]:
        known = self._state.lists[self._fabric]
        return [parse(msgspec.json.encode(known.document(host)), host) for host in known.hosts]

    def _follow(self) -> None:
        known = self._state.lists[self._fabric]
        version = sum(known.version(node_sn) for node_sn in known.hosts)
        if version != self._version:
            self._version = version
            self.changed += 1
            network = self._simulation.network
            self.simulation = self._simulation.probing(listed(network, self._parsed()))
