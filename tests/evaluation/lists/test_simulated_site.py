"""A controller beside a simulation: only what is ready is probed, and skeletons are learnt."""

from __future__ import annotations

import msgspec
import pytest

from evaluation.lists.site import SimulatedSite
from schemas.wire import codecs
from testbed.scenarios import scenario
from testbed.simulator.simulator import SECOND_NS
from testbed.topologies.clos import ClosSpec

START_NS = 1_780_000_000 * SECOND_NS


def overlay_pairs(site: SimulatedSite, second: int) -> set[tuple[str, str]]:
    pings = codecs.conform(site.simulation.second(second).pings).batch.to_pylist()
    return {
        (each["src_node_id"], each["dst_node_id"])
        for each in pings
        if each["agent_type"] == "overlay" and each["task_type"] != "TRACEROUTE"
    }


def test_nothing_is_probed_before_it_is_ready_nor_after_it_drains() -> None:
    simulation = scenario.load("churn").simulation(seed=1, start_ns=START_NS)
    site = SimulatedSite(simulation)
    assert overlay_pairs(site, 0) == set()
    documents = simulation.placements(0)
    site.place(documents)
    ready = {each.node_id for each in documents if each.state == "ready"}
    assert {name for pair in overlay_pairs(site, 0) for name in pair} <= ready
    assert overlay_pairs(site, 0)
    gone = msgspec.structs.replace(
        next(each for each in documents if each.state == "ready"), state="draining"
    )
    site.place([gone])
    assert gone.node_id not in {name for pair in overlay_pairs(site, 0) for name in pair}
    assert site.unready() == 0


def test_lists_of_a_training_job_are_those_of_its_skeleton() -> None:
    plan = msgspec.structs.replace(
        scenario.load("small"),
        fabric=ClosSpec(name="small", hosts=8, rails=4, hosts_per_segment=4, hosts_per_job=8),
        faults=[],
    )
    simulation = plan.simulation(seed=1, start_ns=START_NS)
    site = SimulatedSite(simulation)
    site.place(simulation.placements(0))
    rails = site.targets()
    jobs = {box.job for box in simulation.topology.containers}
    assert site.learn(300) == dict.fromkeys(jobs, "")
    assert 1 <= site.targets() < rails == pytest.approx(7)
