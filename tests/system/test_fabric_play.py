"""The short form of `make fabric-test`: a few issue types with real packets, scored."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluation.fabric_suite.player import Player, Result, table
from testbed.netns import machine, missing
from testbed.netns.fault_suite import scenes
from testbed.scoring import score, truth

pytestmark = [pytest.mark.netns, pytest.mark.slow]

PLAYED = ("crc_error", "rnic_port_down", "not_using_rdma", "container_crash", "agent crash")


@pytest.fixture(scope="module")
def result() -> Result:
    if lacks := missing():
        pytest.skip(f"a namespace fabric needs {', '.join(lacks)}")
    with Player(print) as player:
        prefix = player.fabric.prefix
        played = player.play([scene for scene in scenes() if scene.name in PLAYED])
    assert machine.present(prefix) == [], "nothing is left of the fabric"
    print(table(played))
    return played


def test_every_one_of_them_is_found(result: Result) -> None:
    assert result.names == list(PLAYED)
    assert result.score.missed == []


def test_what_is_broken_is_named_itself_or_in_its_class(result: Result) -> None:
    by_name = dict(zip(result.names, result.score.matched, strict=True))
    assert by_name["crc_error"].top1, "traceroutes tell the link from its switches"
    assert by_name["agent crash"].component == "agent:host-7"


def test_losses_are_found_within_fifteen_seconds_and_latency_within_thirty(result: Result) -> None:
    seconds = {match.truth.issue_type: match.seconds for match in result.score.matched}
    assert seconds.pop("not_using_rdma") < 30
    assert max(seconds.values()) < 15


def test_truth_and_incidents_can_be_scored_again_from_files(result: Result, tmp_path: Path) -> None:
    result.write(tmp_path)
    again = score.score(
        truth.load(tmp_path / "truth.json"), score.load_incidents(tmp_path / "incidents.jsonl")
    )
    assert len(again.matched) == len(result.score.matched)
