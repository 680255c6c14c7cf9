"""Containers that are restarted while their jobs start."""

from __future__ import annotations

from itertools import pairwise

import msgspec
import pytest

from evaluation.lists.restarts import restarted
from testbed.scenarios import scenario
from testbed.workload.skeleton import NEVER

PLAN = scenario.load("churn")
JOBS = msgspec.structs.replace(PLAN.jobs, fresh=1.0, churn=0.0)
FIRST = msgspec.structs.replace(PLAN, jobs=JOBS).simulation(seed=1, start_ns=0)


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_so_many_containers_have_a_successor_on_their_host_after_their_end(share: float) -> None:
    before = FIRST.schedule
    topology, schedule = restarted(FIRST.topology, before, share, 900, seed=1)
    count = len(before.containers)
    assert len(schedule.containers) == count + round(share * count)
    assert tuple(topology.containers) == schedule.containers
    addresses = [each.ip for box in schedule.containers for each in box.endpoints]
    assert len(set(addresses)) == len(addresses)
    number = {box.node_id: index for index, box in enumerate(schedule.containers)}
    for box, life in zip(schedule.containers[count:], schedule.lives[count:], strict=True):
        old = schedule.lives[number[box.node_id.removesuffix("-again")]]
        assert old.gone_s < life.starting_s < life.ready_s < NEVER
        assert old.ready_s == NEVER or old.ready_s < old.dies_s
    for job in {phase.job for phase in schedule.phases}:
        parts = [phase for phase in schedule.phases if phase.job == job]
        assert all(a.until_s <= b.from_s for a, b in pairwise(parts))
