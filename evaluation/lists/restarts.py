"""Containers that are restarted while their jobs start: a schedule in, one with successors out."""

from __future__ import annotations

from collections import defaultdict
from typing import Final

import msgspec
import numpy as np

from schemas.documents.topology import Container, Topology
from testbed.topologies.clos import overlay_endpoints
from testbed.workload.jobs import ContainerLifetime, Phase, Schedule
from testbed.workload.skeleton import NEVER

#: Restarts are over by then, as a share of the time; what a successor needs to be placed, and then
#: to be ready; and the notice of a container that drains [s].
_LATEST: Final = 0.8
_PLACED_S: Final = (2, 30)
_READY_S: Final = (5, 120)
_NOTICE_S: Final = (1, 15)


def restarted(
    topology: Topology, schedule: Schedule, share: float, duration_s: int, seed: int
) -> tuple[Topology, Schedule]:
    """This share of the containers ends, before or after it was ready, half of them without notice;
    a successor with other addresses takes the place of each on the same host.

    schedule  of containers that start at once and do not end
    """
    rng = np.random.default_rng([seed, 61])
    boxes, lives = list(schedule.containers), list(schedule.lives)
    hosts = {host.node_sn: host for host in topology.hosts}
    after: defaultdict[str, list[tuple[int, int, int]]] = defaultdict(list)
    for index in sorted(rng.permutation(len(boxes))[: round(share * len(boxes))].tolist()):
        box, life, new = boxes[index], lives[index], len(boxes)
        over_s = int(rng.integers(life.starting_s + 1, max(2, int(_LATEST * duration_s))))
        notice = int(rng.integers(*_NOTICE_S)) if rng.random() < 0.5 else 0
        draining_s = over_s if notice and life.ready_s < over_s else NEVER
        dies_s = over_s + notice if draining_s < NEVER else over_s
        ready_s = life.ready_s if life.ready_s < over_s else NEVER
        lives[index] = ContainerLifetime(life.starting_s, ready_s, draining_s, dies_s, dies_s)
        placed_s = dies_s + int(rng.integers(*_PLACED_S))
        host = hosts[box.node_sn]
        boxes.append(
            Container(f"{box.node_id}-again", box.node_sn, box.job, box.tenant,
                      overlay_endpoints(host, new))
        )  # fmt: skip
        lives.append(ContainerLifetime(placed_s, placed_s + int(rng.integers(*_READY_S))))
        after[box.job].append((lives[-1].ready_s, index, new))
    phases = [part for phase in schedule.phases for part in _parts(phase, sorted(after[phase.job]))]
    made = Schedule(tuple(boxes), tuple(lives), tuple(phases), schedule.refresh_s)
    return msgspec.structs.replace(topology, containers=boxes), made


def _parts(phase: Phase, changes: list[tuple[int, int, int]]) -> list[Phase]:
    """A phase cut where a successor (second, before, after) takes the place of a member."""
    found = []
    for second, before, after in changes:
        from_s = max(phase.from_s, min(second, phase.until_s))
        found.append(phase._replace(until_s=from_s))
        members = tuple(after if each == before else each for each in phase.members)
        phase = phase._replace(from_s=from_s, members=members)
    return [*(each for each in found if each.from_s < each.until_s), phase]
