"""Scenario files: the shipped ones hold, bad ones are refused with one line."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import msgspec
import pytest

from schemas.component_ids import kind_of
from testbed.faults.kinds import NETWORK_KINDS
from testbed.scenarios import scenario
from testbed.scenarios.scenario import ScenarioError
from testbed.simulator.records import plain

START_NS = 1_800_000_000_000_000_000


def write(path: Path, body: str) -> Path:
    file = path / "s.toml"
    file.write_text(f'proves = "x"\nduration_s = 20\n{body}')
    return file


@pytest.mark.parametrize("name", scenario.names())
def test_shipped_scenarios_fit_their_fabrics(name: str) -> None:
    plan = scenario.load(name)
    made = plan.simulation(seed=1, start_ns=START_NS)
    assert len(made.faults) >= sum(fault.count for fault in plan.faults)
    assert plan.clean == (not made.faults)
    assert plan.proves.strip().endswith(".")
    assert all(fault.start_s < plan.duration_s for fault in made.faults)
    assert made.second(0).pings.num_rows > 0


def test_the_demo_breaks_five_things_one_after_the_other() -> None:
    plan = scenario.load("demo")
    truths = plan.simulation(seed=7, start_ns=START_NS).truths(plan.duration_s)
    kinds = [kind_of(truth.component) for truth in truths]
    assert kinds == ["rnic", "tor", "link", "vswitch", "agent"]
    assert all(a.end and a.end < b.start for a, b in pairwise(truths))
    assert 0.05 <= truths[2].magnitude <= 0.2


def test_the_seed_chooses_the_places() -> None:
    plan = scenario.load("demo")
    first, again, other = (
        [fault.component for fault in plan.simulation(seed=seed, start_ns=START_NS).faults]
        for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other
    assert len(set(first)) == 5


def test_every_type_that_probes_can_show_has_its_turn() -> None:
    plan = scenario.load("issue_types")
    assert [fault.kind for fault in plan.faults] == list(NETWORK_KINDS)
    assert all(a.at + (a.lasting or 0) + 15 <= b.at for a, b in pairwise(plan.faults)), (
        "time to heal between"
    )


def test_shipped_scenarios_in_folders_are_found_by_their_names() -> None:
    assert {"demo", "cadence-25", "gray"} <= set(scenario.names())
    assert scenario.load("cadence-25").probing.every_s == 25


def test_a_scenario_that_ends_before_its_faults_is_refused(tmp_path: Path) -> None:
    turn = "[in_turn]\nstart_s = 10\nlasting_s = 5\nlatency_lasting_s = 5\ngap_s = 5"
    with pytest.raises(ScenarioError, match="duration_s is 20; the faults in turn take 190"):
        scenario.load(write(tmp_path, turn))


@pytest.mark.parametrize(
    "name", ["fat-tree-sparse", "fat-tree-noisy", "many-links-burst", "many-links-burst-dense"]
)
def test_the_published_trees_have_52_lossy_directions_on_26_links_between_switches(
    name: str,
) -> None:
    made = scenario.load(name).simulation(seed=3, start_ns=START_NS)
    assert len({fault.component for fault in made.faults}) == 26
    assert all("rnic" not in fault.component for fault in made.faults)
    assert sum(len(fault.ways) for fault in made.faults) == 52


def test_routes_of_half_of_the_five_tuples_stay_unknown() -> None:
    whole, half = (
        msgspec.structs.replace(plan, probing=msgspec.structs.replace(plan.probing, traced=share))
        for plan in [scenario.load("small")]
        for share in (1.0, 0.5)
    )
    traced = []
    for plan in (whole, half):
        made = plan.simulation(seed=1, start_ns=START_NS)
        rows = [row for i in (0, 1) for row in plain(made.second(i).pings).to_pylist()]
        traced.append({(row["src_ip"], row["src_port"]) for row in rows
                     if row["task_type"] == "TRACEROUTE"})  # fmt: skip
    assert traced[1] < traced[0]
    assert 0.35 < len(traced[1]) / len(traced[0]) < 0.65


def test_records_only_has_no_heartbeats_and_no_routes_of_replies() -> None:
    made = scenario.load("records-only").simulation(seed=1, start_ns=START_NS)
    seconds = [made.second(index) for index in range(60)]
    assert not any(second.heartbeats for second in seconds)
    rows = [row for second in seconds for row in plain(second.pings).to_pylist()]
    probed = {(row["src_ip"], row["dst_ip"], row["src_port"]) for row in rows
              if row["task_type"] != "TRACEROUTE"}  # fmt: skip
    traced = {(row["src_ip"], row["dst_ip"], row["src_port"]) for row in rows
              if row["task_type"] == "TRACEROUTE"}  # fmt: skip
    assert traced
    assert traced <= probed, "a reply's addresses are the other way round"


def test_random_faults_are_part_of_a_scenario() -> None:
    plan = scenario.load("rail-512")
    made = plan.simulation(seed=2, start_ns=START_NS)
    assert plan.arrivals is not None
    assert len(made.faults) > len(plan.faults)
    assert made.faults == plan.simulation(seed=2, start_ns=START_NS).faults


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("[arrivals]\nper_hour = 0", "give per_hour > 0"),
        ("[arrivals]\nper_hour = 1\nmix = 'all'", "no mix or kind 'all'; use one of observable"),
        ("[probing]\nlayers = ['middle']", "Invalid enum value 'middle'"),
        ("[fabric]\nkind = 'torus'", "no fabric of kind 'torus'"),
        ("colour = 1", "unknown field `colour`"),
        ("[fabric]\nhosts = 0", "hosts is 0; give at least 1"),
        ("[fabric]\nhosts = 'many'", "Expected `int`"),
        ("[noise]\nloudness = 3", "unknown field `loudness`"),
        ("[noise]\nlink_loss = [0.5, 0.1]", "give 0 <= low <= high"),
        ("[[faults]]\nkind = 'tor_loss'\nat = 1", "missing required field `component`"),
        ("[fabric", "Expected ']'"),
    ],
)
def test_a_bad_file_is_refused_with_one_line(tmp_path: Path, body: str, reason: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        scenario.load(write(tmp_path, body))
    assert reason in str(caught.value)
    assert "s.toml" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "component", "reason"),
    [
        ("gremlin", "any tor", "no fault named 'gremlin'"),
        ("tor_loss", "any balloon", "matches no component"),
        ("tor_loss", "any tor or agg", "is not understood"),
        ("tor_loss", "any rnic", "of kind tor"),
        ("tor_loss", "tor:nowhere", "no such component in fabric 'sim'"),
    ],
)
def test_a_fault_that_does_not_fit_the_fabric_is_refused(
    tmp_path: Path, kind: str, component: str, reason: str
) -> None:
    file = write(tmp_path, f"[[faults]]\nkind = '{kind}'\nat = 1\ncomponent = '{component}'")
    with pytest.raises(ScenarioError, match=reason):
        scenario.load(file).simulation(seed=1, start_ns=START_NS)


def test_a_missing_file_is_refused_with_the_names_that_exist() -> None:
    with pytest.raises(ScenarioError, match=r"No such file.*clean, .*demo, .*small"):
        scenario.load("does-not-exist")
