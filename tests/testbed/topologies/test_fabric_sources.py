"""Fabrics that are read instead of built: a real cluster's table, and any topology document."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import msgspec
import numpy as np
import pytest

from schemas.documents import topology as topology_document
from testbed.scenarios import scenario
from testbed.scenarios.scenario import ScenarioError
from testbed.simulator import network
from testbed.topologies import clos, fabric_sources, lingjun
from testbed.topologies.clos import ClosSpec
from testbed.topologies.fabric_sources import DocumentSpec
from testbed.topologies.lingjun import LingjunSpec

START_NS = 1_800_000_000_000_000_000
TABLE = "ip,DSW,PSW,ASW\nh1,G6,P1,S1\nh2,G6,P2,S1\nh3,G6,P2,S2\n"


def test_the_real_cluster_has_847_hosts_on_three_tiers() -> None:
    document = lingjun.build(LingjunSpec(), seed=1)
    assert topology_document.parse(msgspec.json.encode(document)) == document
    tiers = Counter(switch.tier for switch in document.switches)
    assert (len(document.hosts), tiers) == (847, {"asw": 48, "psw": 3, "dsw": 1})
    built = network.build(document)
    tors = np.unique(built.rnic_switches)
    assert built.hops[np.ix_(tors, tors)].max() == 2, "ToR, aggregation switch, ToR"


def test_another_table_of_the_same_shape_can_be_used(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(TABLE)
    document = lingjun.build(LingjunSpec(table=str(tmp_path / "t.csv")), seed=1)
    assert document.links == [("P1", "G6"), ("P2", "G6"), ("S1", "P1"), ("S1", "P2"), ("S2", "P2")]


@pytest.mark.parametrize(
    ("body", "reason"),
    [("ip,DSW,PSW\nh1,G,P\n", "line 2: asw is missing"), ("ip,DSW,PSW,ASW\n", "no host")],
)
def test_a_table_without_what_is_needed_is_refused(tmp_path: Path, body: str, reason: str) -> None:
    (tmp_path / "t.csv").write_text(body)
    with pytest.raises(ValueError, match=reason):
        lingjun.build(LingjunSpec(table=str(tmp_path / "t.csv")), seed=1)


def test_a_document_beside_the_scenario_is_its_fabric(tmp_path: Path) -> None:
    document = clos.build(ClosSpec(name="mine", hosts=8, rails=2, hosts_per_segment=4), seed=3)
    (tmp_path / "t.json").write_bytes(msgspec.json.encode(document))
    (tmp_path / "s.toml").write_text(
        'proves = "x"\nduration_s = 5\n[fabric]\nkind = "document"\ntopology = "t.json"\n'
    )
    made = scenario.load(tmp_path / "s.toml").simulation(seed=1, start_ns=START_NS)
    assert made.topology == document


def test_jobs_are_placed_on_a_document_that_has_none(tmp_path: Path) -> None:
    document = clos.build(ClosSpec(hosts=8, rails=2, hosts_per_segment=4), seed=3)
    empty = msgspec.structs.replace(document, containers=[])
    (tmp_path / "t.json").write_bytes(msgspec.json.encode(empty))
    made = fabric_sources.build(DocumentSpec(topology=str(tmp_path / "t.json"), hosts_per_job=4), 1)
    assert len(made.containers) == 8
    assert len({box.job for box in made.containers}) == 2


@pytest.mark.parametrize(
    ("fabric", "reason"),
    [
        ("kind = 'torus'", "no fabric of kind 'torus'; choose one of clos, fat_tree"),
        ("kind = 'fat_tree'\nhosts = 4", "unknown field `hosts`"),
        ("kind = 'document'", "missing required field `topology`"),
    ],
)
def test_a_fabric_that_is_not_understood_is_refused(
    tmp_path: Path, fabric: str, reason: str
) -> None:
    (tmp_path / "s.toml").write_text(f'proves = "x"\nduration_s = 5\n[fabric]\n{fabric}\n')
    with pytest.raises(ScenarioError, match=reason) as caught:
        scenario.load(tmp_path / "s.toml")
    assert "\n" not in str(caught.value)


def test_a_missing_document_is_an_error_of_one_line(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(
        'proves = "x"\nduration_s = 5\n[fabric]\nkind = "document"\ntopology = "none.json"\n'
    )
    with pytest.raises(ScenarioError, match=r"none\.json: No such file"):
        scenario.load(tmp_path / "s.toml").simulation(seed=1, start_ns=START_NS)
