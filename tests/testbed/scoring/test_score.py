"""Hand-made cases of matching incidents with the truth."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from schemas.documents.times import rfc3339, seconds_of
from testbed.scoring import score as scoring
from testbed.scoring.score import ReportedIncident, ScoreError, score
from testbed.scoring.truth import Truth, TruthError, load

TOR = "tor:asw-1"
RNIC = "rnic:10.0.0.1"


def clock(second: int) -> str:
    return rfc3339((1_800_000_000 + second) * 1_000_000_000)


def truth(component: str, start: int = 0, end: int | None = 30, symptom: str = "loss") -> Truth:
    stop = None if end is None else clock(end)
    return Truth("f1", component, None, symptom, "underlay", "both", clock(start), stop, 0.3)


def claim(name: str, component: str, at: int = 5, **more: object) -> ReportedIncident:
    fields: dict[str, object] = {"fabric": "f1", "symptom": "loss", "tie_set": [component], **more}
    return msgspec.convert(
        {"incident_id": name, "component": component, "detected_at": clock(at), **fields},
        ReportedIncident,
    )


def test_the_right_name_in_time_is_a_match() -> None:
    result = score([truth(TOR)], [claim("i1", TOR, at=7)])
    assert (result.top1, result.missed, result.false) == (1, [], [])
    assert result.seconds == [7.0]
    assert result.precision == result.recall == 1.0


def test_a_second_incident_for_one_fault_is_false() -> None:
    result = score([truth(TOR)], [claim("i1", TOR), claim("i2", TOR, at=8)])
    assert [match.incident_id for match in result.matched] == ["i1"]
    assert [false[0] for false in result.false] == ["i2"]
    assert result.precision == 0.5


@pytest.mark.parametrize(("at", "found"), [(-1, False), (0, True), (90, True), (91, False)])
def test_detection_counts_from_the_start_until_a_minute_after_the_end(at: int, found: bool) -> None:
    result = score([truth(TOR, 0, 30)], [claim("i1", TOR, at)])
    assert len(result.matched) == len([1] if found else [])
    assert len(result.false) == len(result.missed) == int(not found)


def test_a_fault_that_still_lasts_can_be_found_at_any_time() -> None:
    assert score([truth(TOR, 0, None)], [claim("i1", TOR, at=5000)]).recall == 1.0


def test_incidents_with_a_parent_are_not_counted() -> None:
    child = claim("i2", RNIC, parent="i1")
    result = score([truth(TOR)], [claim("i1", TOR), child])
    assert result.perfect
    assert score([truth(RNIC)], [child]).missed, "a consequence finds nothing either"


def test_a_tie_set_of_four_is_a_class_match_and_one_of_five_is_not() -> None:
    others = [f"tor:x{i}" for i in range(3)]
    four = score([truth(TOR)], [claim("i1", others[0], tie_set=[*others, TOR])])
    assert (len(four.matched), four.top1) == (1, 0)
    five = score([truth(TOR)], [claim("i1", others[0], tie_set=[*others, TOR, RNIC])])
    assert len(five.missed) == len(five.false) == 1


def test_naming_the_component_itself_matches_whatever_the_size_of_the_tie_set() -> None:
    tied = [TOR, *(f"tor:x{i}" for i in range(9))]
    assert score([truth(TOR)], [claim("i1", TOR, tie_set=tied)]).top1 == 1


def test_an_incident_of_another_fabric_does_not_match() -> None:
    assert not score([truth(TOR)], [claim("i1", TOR, fabric="f2")]).matched


def test_the_last_version_of_an_incident_counts() -> None:
    versions = [
        claim("i1", TOR, version=2),
        claim("i1", RNIC, version=1),
        claim("i1", RNIC, version=3, parent="i0"),
    ]
    assert score([truth(TOR)], versions[:2]).top1 == 1
    assert not score([truth(TOR)], versions).matched


def test_agent_and_host_incidents_match_only_agent_and_host_truths() -> None:
    crash = truth("agent:h1", symptom="agent_down")
    agent = claim("i1", "agent:h1", symptom="agent_down")
    assert score([crash], [agent]).perfect
    blamed = claim("i2", "rnic:10.0.0.9", tie_set=["rnic:10.0.0.9", "agent:h1"])
    assert len(score([crash], [blamed]).false) == 1, "the network was blamed for the agent"
    assert len(score([truth(TOR)], [claim("i1", TOR, symptom="host_down")]).false) == 1


def test_pairs_are_chosen_so_that_most_faults_are_found() -> None:
    tied = ["rnic:a", "rnic:b"]
    result = score(
        [truth("rnic:a"), truth("rnic:b")],
        [claim("i1", "rnic:a", tie_set=tied), claim("i2", "rnic:a", at=9, tie_set=["rnic:a"])],
    )
    assert len(result.matched) == 2
    assert result.top1 == 1


def test_a_duplicate_is_false_and_distinguished_from_a_false_alarm_elsewhere() -> None:
    result = score(
        [truth(TOR)], [claim("i1", TOR), claim("i2", TOR, at=40), claim("i3", RNIC, at=9)]
    )
    assert sorted(false[0] for false in result.false) == ["i2", "i3"]
    assert result.duplicates == ["i2"]
    assert "i2  (blamed already)" in scoring.to_text(result)


def test_a_late_incident_is_a_miss_and_a_false_alarm_but_no_duplicate() -> None:
    result = score([truth(TOR, 0, 30)], [claim("i1", TOR, at=91)])
    assert (len(result.missed), len(result.false), result.duplicates) == (1, 1, [])


def test_two_faults_of_one_component_each_match_the_incident_of_their_time() -> None:
    result = score(
        [truth(TOR, 0, 30), truth(TOR, 200, 230)],
        [claim("late", TOR, at=204), claim("early", TOR, at=3)],
    )
    assert [match.incident_id for match in result.matched] == ["early", "late"]
    assert result.seconds == [3.0, 4.0]


def test_children_neither_match_nor_count_however_many() -> None:
    children = [claim(f"c{i}", f"rnic:{i}", parent="i1") for i in range(64)]
    result = score([truth(TOR), truth("rnic:3")], [claim("i1", TOR), *children])
    assert (len(result.matched), len(result.missed), len(result.false)) == (1, 1, 0)


def test_another_symptom_of_the_network_still_names_the_fault() -> None:
    found = score([truth(TOR, symptom="unconnectivity")], [claim("i1", TOR, symptom="loss")])
    assert found.perfect
    assert [row.same_symptom for row in found.rows] == [False]


def test_a_symptom_of_the_wrong_family_is_a_miss_and_a_false_alarm() -> None:
    host = truth("host:h1", symptom="high_latency")
    result = score([host], [claim("i1", "host:h1", symptom="host_down")])
    assert (len(result.missed), len(result.false)) == (1, 1)


def test_each_truth_has_a_row_with_its_outcome() -> None:
    crc = msgspec.structs.replace(truth(TOR, 10), issue_type="crc_error")
    tied = claim("i2", "vswitch:h", at=4, tie_set=["vswitch:h", RNIC])
    named = claim("i1", TOR, at=17, issue_type="crc_error")
    result = score([crc, truth(RNIC), truth("tor:x", 20)], [named, tied])
    rows = [(row.found, row.top1, row.tied, row.seconds, row.same_type) for row in result.rows]
    assert rows == [
        (True, False, True, 4.0, False), (True, True, False, 7.0, True),
        (False, False, False, None, False),
    ]  # fmt: skip
    assert [match.tied for match in result.matched] == [1, 2]


def test_faults_are_summed_up_by_symptom_and_by_issue_type() -> None:
    truths = [truth(f"tor:{i}") for i in range(20)]
    truths.append(msgspec.structs.replace(truth(RNIC, symptom="unconnectivity"), issue_type="x"))
    result = score(truths, [claim(f"i{i}", f"tor:{i}", at=i + 1) for i in range(20)])
    loss, dead = result.by_symptom()
    assert (loss.name, loss.truths, loss.found, loss.top1) == ("loss", 20, 20, 20)
    assert loss.mean_seconds == pytest.approx(10.5)
    assert loss.p95_seconds == result.p95_seconds == pytest.approx(19.05)
    assert (dead.name, dead.truths, dead.found, dead.p95_seconds) == ("unconnectivity", 1, 0, None)
    assert [group.name for group in result.by_issue_type()] == ["loss", "x"]
    document = json.loads(scoring.to_json(result))
    assert [group["name"] for group in document["by_issue_type"]] == ["loss", "x"]


def test_a_score_without_faults_and_incidents_is_perfect() -> None:
    empty = score([], [])
    assert empty.perfect
    assert empty.precision == empty.recall == 1.0


def test_the_score_is_printed_as_text_and_as_json() -> None:
    result = score([truth(TOR), truth(RNIC)], [claim("i1", TOR), claim("i2", "tor:asw-9")])
    assert scoring.to_text(result).splitlines()[-1] == (
        "1 of 2 faults found (1 named exactly), 1 false, mean 5.0 s to detect"
    )
    document = json.loads(scoring.to_json(result))
    assert (document["top1"], document["class"], document["truths"]) == (1, 1, 2)
    assert document["missed"][0]["component"] == RNIC


def test_incident_lines_are_read_leniently_and_refused_by_line_number(tmp_path: Path) -> None:
    file = tmp_path / "incidents.jsonl"
    good = {**msgspec.to_builtins(claim("i1", TOR)), "severity": "P1", "evidence": {}}
    file.write_text(f"{json.dumps(good)}\n\n{{}}\n")
    with pytest.raises(ScoreError, match=r"line 3: .*missing required field"):
        scoring.load_incidents(file)
    file.write_text(json.dumps(good))
    assert scoring.load_incidents(file) == [claim("i1", TOR)]
    with pytest.raises(ScoreError, match="No such file"):
        scoring.load_incidents(tmp_path / "none")


def test_unreadable_truth_is_an_error_of_one_line(tmp_path: Path) -> None:
    with pytest.raises(TruthError, match="No such file"):
        load(tmp_path / "truth.json")
    (tmp_path / "truth.json").write_text("{}")
    with pytest.raises(TruthError, match="Expected `array`"):
        load(tmp_path / "truth.json")
    with pytest.raises(ValueError, match="no zone"):
        seconds_of("2026-01-01T00:00:00")


def test_an_error_of_the_pipeline_itself_is_not_scored() -> None:
    ours = claim("i2", "pipeline:f1", symptom="judging_failed")
    result = score([truth(TOR)], [claim("i1", TOR), ours])
    assert (result.perfect, result.precision, result.false) == (True, 1.0, [])
