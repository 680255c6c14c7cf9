"""Jobs come and go: placements, and pings that follow them."""

from __future__ import annotations

import json
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.documents.placement import Placement
from schemas.documents.times import seconds_of
from testbed.faults.fault_plans import FaultPlan, place
from testbed.simulator.simulator import SECOND_NS, Simulation
from testbed.topologies import clos
from testbed.topologies.clos import ClosSpec
from testbed.workload import layout_truth
from testbed.workload.churn import deal
from testbed.workload.jobs import JobsPlan, Schedule
from testbed.workload.skeleton import NEVER

START_NS = 1_800_000_000 * SECOND_NS
FABRIC = clos.build(ClosSpec(name="t", hosts=24, rails=2, hosts_per_segment=6, aggs=2), 1)
PLAN = JobsPlan(hosts=(6, 4), pp=2, spare=0.3, fresh=0.5, churn=10.0, spread_s=60, drain_s=5)
SPAN_S = 300


def restless(seed: int = 1, skeleton: str = "layout", plan: JobsPlan = PLAN) -> Simulation:
    topology, schedule = deal(FABRIC, plan, SPAN_S, seed)
    return Simulation(
        topology, seed=seed, start_ns=START_NS, schedule=schedule,
        skeleton="ring" if skeleton == "ring" else "layout",
    )  # fmt: skip


RESTLESS = restless()


def by_container(simulation: Simulation) -> dict[str, list[Placement]]:
    out: dict[str, list[Placement]] = {}
    for document in simulation.placements():
        out.setdefault(document.node_id, []).append(document)
    return out


def second_of(document: Placement) -> int:
    return round(seconds_of(document.valid_from)) - START_NS // SECOND_NS


def state(documents: list[Placement], second: int) -> str:
    """What the controller says at the end of a second."""
    said = [each.state for each in documents if second_of(each) <= second]
    return said[-1] if said else "unknown"


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 1000))
def test_a_host_has_one_container_at_a_time_and_each_lives_once(seed: int) -> None:
    _, schedule = deal(FABRIC, PLAN, SPAN_S, seed)
    spans: dict[str, list[tuple[int, int]]] = {}
    for box, life in zip(schedule.containers, schedule.lives, strict=True):
        assert life.starting_s <= life.ready_s <= life.dies_s <= life.gone_s
        spans.setdefault(box.node_sn, []).append((life.starting_s, life.gone_s))
    for host in spans.values():
        host.sort()
        assert all(gone < starting for (_, gone), (starting, _) in pairwise(host))
    assert len({box.node_id for box in schedule.containers}) == len(schedule.containers)
    addresses = [end.ip for box in schedule.containers for end in box.endpoints]
    assert len(set(addresses)) == len(addresses)


def test_phases_of_a_job_follow_each_other_and_their_layouts_fit_their_members() -> None:
    jobs: dict[str, list[tuple[int, int]]] = {}
    for phase in RESTLESS.schedule.phases:
        assert phase.layout.hosts == len(phase.members) == len(set(phase.members))
        jobs.setdefault(phase.job, []).append((phase.from_s, phase.until_s))
    for spans in jobs.values():
        assert all(until == start for (_, until), (start, _) in pairwise(spans))
    assert any(len(spans) > 1 for spans in jobs.values()), "jobs changed"
    sizes = {
        name: {len(p.members) for p in RESTLESS.schedule.phases if p.job == name} for name in jobs
    }
    assert any(len(each) > 1 for each in sizes.values()), "a job grew or shrank"


def test_states_come_in_order_and_say_where_a_container_runs() -> None:
    order = ["starting", "ready", "draining", "gone"]
    boxes = {box.node_id: box for box in RESTLESS.topology.containers}
    for name, documents in by_container(RESTLESS).items():
        states = [order.index(each.state) for each in documents]
        assert states == sorted(set(states))
        for each in documents:
            assert (each.node_sn, each.job) == (boxes[name].node_sn, boxes[name].job)
            assert each.endpoints == boxes[name].endpoints
    assert len(by_container(RESTLESS)) > len(RESTLESS.placements(0)) / 2 > 0


def test_placements_of_each_second_are_all_placements_in_order() -> None:
    parts = [RESTLESS.placements(second) for second in range(SPAN_S + 200)]
    assert [each for part in parts for each in part] == RESTLESS.placements()


@pytest.mark.parametrize("skeleton", ["ring", "layout"])
def test_containers_ping_only_between_ready_of_both_and_lose_only_to_those_that_end(
    skeleton: str,
) -> None:
    simulation = restless(skeleton=skeleton)
    said = by_container(simulation)
    quiet = simulation.noise.link_loss[1]
    unexplained = missed = seen = 0
    for second in range(0, SPAN_S, 7):
        for row in simulation.second(second).pings.to_pylist():
            if row["agent_type"] == "underlay":
                continue
            seen += 1
            source, target = (state(said[row[f"{end}_node_id"]], second) for end in ("src", "dst"))
            assert source in ("ready", "draining"), "who is not there cannot ping"
            assert target not in ("unknown", "starting")
            if target == "gone":
                assert row["dial"] == "timeout"
                left = next(d for d in said[row["dst_node_id"]] if d.state == "gone")
                assert second - second_of(left) < PLAN.refresh_s, "lists are fetched again"
                missed += 1
            elif row["dial"] != "success" and target == "ready":
                unexplained += 1
    assert missed > 0
    assert unexplained <= 20 * quiet * seen, "background loss only"


def test_overlay_five_tuples_come_and_go_while_the_underlay_stays() -> None:
    def tuples(second: int, layer: str) -> set[tuple[object, ...]]:
        rows = RESTLESS.second(second).pings.to_pylist()
        return {
            (row["src_ip"], row["dst_ip"], row["src_port"])
            for row in rows
            if row["agent_type"] == layer and row["task_type"] == "RDMA_PING"
        }

    assert tuples(10, "underlay") == tuples(280, "underlay")
    early, late = tuples(10, "overlay"), tuples(280, "overlay")
    assert early - late
    assert late - early
    assert early & late


def test_the_same_seed_deals_the_same_and_another_one_otherwise() -> None:
    assert restless().placements() == RESTLESS.placements()
    assert restless(2).placements() != RESTLESS.placements()


def test_a_longer_simulation_begins_like_a_shorter_one() -> None:
    def before(schedule: Schedule, second: int) -> list[Placement]:
        return [each for at, each in schedule.placements("t", START_NS) if at < second]

    longer, shorter = (deal(FABRIC, PLAN, span, 1)[1] for span in (SPAN_S, 100))
    assert before(longer, 100) == before(shorter, 100)


def test_a_fault_is_placed_on_a_component_that_is_probed_while_it_lasts() -> None:
    plan = FaultPlan(kind="container_crash", component="any container", at=200, lasting=30)
    for seed in range(10):
        (fault,) = place([plan], RESTLESS, seed)
        life = next(
            life
            for box, life in zip(RESTLESS.schedule.containers, RESTLESS.schedule.lives, strict=True)
            if fault.component == f"container:{box.node_id}"
        )
        assert life.ready_s <= 200
        assert life.dies_s >= 230


def test_without_churn_all_containers_are_ready_from_the_beginning() -> None:
    calm = Simulation(FABRIC, seed=1, start_ns=START_NS)
    assert {each.state for each in calm.placements()} == {"ready"}
    assert len(calm.placements(0)) == len(FABRIC.containers)
    assert all(life.dies_s == NEVER for life in calm.schedule.lives)


def test_layout_json_has_the_position_of_every_endpoint_and_the_pinged_pairs() -> None:
    topology, schedule = deal(FABRIC, JobsPlan(hosts=(8,), pp=2, ep=2), SPAN_S, 1)
    simulation = Simulation(
        topology, seed=1, start_ns=START_NS, schedule=schedule, skeleton="layout"
    )
    layouts = json.loads(b"".join(layout_truth.encode(simulation)))
    assert [(job["tp"], job["pp"], job["dp"]) for job in layouts] == [(2, 2, 4)] * 3
    pinged = {
        (row["src_ip"], row["dst_ip"])
        for row in simulation.second(3).pings.to_pylist()
        if row["agent_type"] == "overlay"
    }
    assert pinged == {(a, b) for job in layouts for a, b, _ in job["pairs"]}
    for job in layouts:
        places = {(gpu["dp"], gpu["pp"], gpu["tp"]) for gpu in job["gpus"]}
        assert len(places) == len(job["gpus"]) == 16
        assert all(gpu["tp"] == gpu["rail"] for gpu in job["gpus"])
        assert job["until"] is None


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"hosts": []}, "list of sizes"),
        ({"hosts": [0]}, "list of sizes"),
        ({"pp": 0}, "pp is 0; give at least 1"),
        ({"tp": -1}, "tp is -1"),
        ({"spare": 1.5}, "spare is 1.5; give a share"),
        ({"churn": -1}, "churn is -1.0 a minute"),
        ({"refresh": 3}, "unknown field `refresh`"),
    ],
)
def test_an_invalid_jobs_plan_is_refused_with_one_line(
    wrong: dict[str, object], reason: str
) -> None:
    with pytest.raises(msgspec.ValidationError, match=reason) as caught:
        msgspec.convert(wrong, JobsPlan)
    assert "\n" not in str(caught.value)


def test_jobs_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="the first needs 30 hosts and 24 may be used"):
        deal(FABRIC, JobsPlan(hosts=(30,)), SPAN_S, 1)


def test_a_schedule_of_other_containers_is_refused() -> None:
    _, schedule = deal(FABRIC, PLAN, SPAN_S, 1)
    with pytest.raises(ValueError, match="deal them together"):
        Simulation(FABRIC, seed=1, start_ns=START_NS, schedule=schedule)
