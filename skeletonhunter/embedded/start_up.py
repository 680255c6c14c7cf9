"""The demo before it breaks anything: jobs start, their traffic is seen, their skeletons are found.

Simulated hosts begin to probe at the end of it: only lists and throughput need its event time,
which can therefore run faster than that of probes.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Iterator
from typing import Final

from controller.ping_lists.lists import PingLists
from controller.skeleton import parameters as inference
from schemas import topics
from skeletonhunter.embedded.demo_screen import Lines, Screen
from skeletonhunter.embedded.demo_state import DemoState
from skeletonhunter.embedded.rounds import Rounds, full_mesh
from skeletonhunter.embedded.runtime import EmbeddedRuntime
from skeletonhunter.embedded.simulated_site import SimulatedSite
from testbed.simulator.publish import throughput_messages
from testbed.simulator.simulator import Simulation
from testbed.workload.jobs import static_schedule
from testbed.workload.listed import listed
from testbed.workload.throughput import Throughput

#: Event seconds per second.
_SPEED: Final = 60.0
#: Event time in which all containers register, one after the other [s].
_REGISTERING_S: Final = 40
#: Agents report throughput so often, in event time [s].
_REPORTED_S: Final = 10
#: Event time in which skeletons may be found: the least, and until the second inference [s].
_LEARNING_S: Final = 2 * inference.DEFAULT.least_s
_MOST_STAGES: Final = 8


class JobTraffic:
    """Throughput of the demo's jobs, from the time at which all of their containers are ready.

    Jobs that come and go have traffic from second 0 on, by their own schedule; others train in
    pipelines of up to eight stages with two replicas or more, ``first_s`` seconds from second 0.
    """

    def __init__(self, simulation: Simulation, first_s: int) -> None:
        schedule, self._shift_s = simulation.schedule, 0
        if not schedule.changes:
            hosts = Counter(box.job for box in simulation.topology.containers if box.job)
            stages = min([_MOST_STAGES, *(count // 2 for count in hosts.values())])
            schedule = static_schedule(simulation.topology, pp=max(1, stages))
            self._shift_s = -first_s
        self.before_start = self._shift_s > 0
        start_ns = simulation.start_ns - self._shift_s * 1_000_000_000
        self._made = Throughput(simulation, schedule, start_ns)

    def messages(self, first_s: int, end_s: int) -> Iterator[tuple[str, bytes]]:
        """What each host reports of seconds first_s .. end_s - 1."""
        return throughput_messages([
            self._made.second(second + self._shift_s) for second in range(first_s, end_s)
        ])  # fmt: skip


class DemoJobs:
    """The jobs of the demo, from their submission on: what the controller gets, and gives."""

    def __init__(self, state: DemoState, runtime: EmbeddedRuntime, site: SimulatedSite) -> None:
        self._state, self._runtime, self._site = state, runtime, site
        site.url = runtime.controller.url
        self._traffic = JobTraffic(state.simulation, -_LEARNING_S)
        self._reported_s = -_LEARNING_S if self._traffic.before_start else 0
        self._versions = 0
        state.rounds = Rounds(full_mesh(state.simulation.topology.containers))

    async def start(self, screen: Lines | Screen) -> None:
        """Submit the jobs, let agents register, and report throughput until skeletons are found."""
        state = self._state
        state.now_s = -_LEARNING_S - _REGISTERING_S
        await self._runtime.controller.restored.wait()
        first = [each for each in state.simulation.placements(0) if each.state != "gone"]
        await asyncio.to_thread(self._site.submit, first, state.event_ms)
        self._update(screen)
        ready: dict[str, list[str]] = {host.node_sn: [] for host in state.simulation.topology.hosts}
        for each in first:
            if each.state == "ready":
                ready[each.node_sn].append(each.node_id)
        waiting = deque(ready.items())
        while waiting:
            node_sn, containers = waiting.popleft()
            state.now_s = -_LEARNING_S - _REGISTERING_S * len(waiting) / len(ready)
            await asyncio.gather(
                asyncio.to_thread(self._site.register, node_sn, containers),
                asyncio.sleep(_REGISTERING_S / _SPEED / len(ready)),
            )
            self._update(screen)
        while self._traffic.before_start and state.now_s < 0 and state.rounds.declined:
            state.now_s += _REPORTED_S
            await asyncio.gather(
                asyncio.to_thread(self._report), asyncio.sleep(_REPORTED_S / _SPEED)
            )
            self._update(screen)
        while self._traffic.before_start and state.now_s < 0:  # the rest, as fast as it goes
            state.now_s += _REPORTED_S
            await asyncio.to_thread(self._report)
        state.now_s = 0.0
        await self._follow()

    async def second(self, index: int, screen: Lines | Screen) -> None:
        """One second of the scenario: containers come and go, hosts report, lists are followed."""
        state = self._state
        if index and (changes := state.simulation.placements(index)):
            await asyncio.to_thread(self._site.change, changes)
        if index and index % _REPORTED_S == 0:
            await asyncio.to_thread(self._report)
            self._update(screen)
            if self._version() != self._versions:  # agents read a new list within some seconds
                await self._follow()

    def _report(self) -> None:
        now_s = int(self._state.now_s)
        headers = {topics.CONTENT_TYPE: topics.ARROW.encode()}
        for node_sn, message in self._traffic.messages(self._reported_s, now_s):
            self._runtime.broker.produce(topics.THROUGHPUT.name, node_sn, headers, message)
        self._reported_s = now_s

    async def _follow(self) -> None:
        """Let the simulated agents probe what their lists say."""
        simulation = self._state.simulation
        self._versions = self._version()
        lists = await asyncio.to_thread(self._site.lists)
        self._state.simulation = simulation.probing(listed(simulation.network, lists))

    @property
    def _lists(self) -> PingLists:
        return self._runtime.controller.site.state.lists[self._state.simulation.topology.fabric]

    def _version(self) -> int:
        known = self._lists
        return sum(known.version(node_sn) for node_sn in known.hosts)

    def _update(self, screen: Lines | Screen) -> None:
        site, fabric = self._runtime.controller.site, self._lists.fabric
        phases = site.state.phases(fabric)
        progress = {job: site.traffic.progress(fabric, job) for job in phases}
        self._state.rounds.update(phases, progress)
        screen.tick()
        screen.lists()
