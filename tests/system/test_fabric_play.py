"""The short form of `make fabric-test`: a few issue types with real packets, scored.

Without evidence of hosts, for which a fault stays half a minute longer: `test_controlled_fabric.py`
has counters that are asked for and judged.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from builders.fabric_site import require_root

from evaluation.fabric_suite.player import Player
from evaluation.fabric_suite.result import Result, table
from testbed.netns import machine
from testbed.netns.fault_suite import suite
from testbed.scoring import score, truth

pytestmark = [pytest.mark.netns, pytest.mark.slow]

#: Faults of a round share no host and no link, so they are in place at the same time.
ROUNDS = (
    ("crc_error", "agent crash", "rnic_port_down"),
    ("container_crash", "not_using_rdma"),
)


@pytest.fixture(scope="module")
def result() -> Result:
    require_root()
    by_name = {each.name: each for each in suite()}
    with Player(print, evidence=False) as player:
        prefix = player.fabric.prefix
        played = player.play([[by_name[name] for name in names] for names in ROUNDS])
    assert machine.present(prefix) == [], "nothing is left of the fabric"
    print(table(played))
    return played


def test_the_pipeline_finds_every_fault(result: Result) -> None:
    assert result.names == [name for names in ROUNDS for name in names]
    assert not result.missed, "\n".join(result.missed)


def test_an_incident_names_the_faulty_component_itself_or_its_class(result: Result) -> None:
    link, agent = result.matches["crc_error"], result.matches["agent crash"]
    assert link, result.missed
    assert agent, result.missed
    assert link.top1, f"traceroutes tell the link from its switches, not {link.component}"
    assert agent.component == "agent:host-7"


def test_losses_are_found_within_fifteen_seconds_and_latency_within_thirty(result: Result) -> None:
    seconds = {name: match.seconds for name, match in result.matches.items() if match}
    limits = {name: 30 if name == "not_using_rdma" else 15 for name in seconds}
    late = {name: took for name, took in seconds.items() if took >= limits[name]}
    assert not late, f"seconds to detect: {late}"


def test_truth_and_incidents_are_scored_alike_from_files(result: Result, tmp_path: Path) -> None:
    result.write(tmp_path)
    again = score.score(
        truth.load(tmp_path / "truth.json"), score.load_incidents(tmp_path / "incidents.jsonl")
    )
    assert len(again.matched) == len(result.score.matched)
