"""The result of a fault suite names what was missed, and what was reported instead."""

from __future__ import annotations

from evaluation.fabric_suite.result import Result, scored, table
from schemas.documents.incident import Incident, Symptom
from testbed.scoring.truth import Truth

LINK, AGENT = "link:spine:spine-0|tor:tor-1", "agent:host-7"


def truth(component: str, symptom: str, start_s: int) -> Truth:
    return Truth(
        fabric="play", component=component, issue_type=None, symptom=symptom, layer="underlay",
        direction="both", start=f"2026-01-01T00:00:{start_s:02}Z",
        end=f"2026-01-01T00:00:{start_s + 9:02}Z", magnitude=1.0,
    )  # fmt: skip


def incident(component: str, symptom: Symptom, at_s: int) -> Incident:
    at = f"2026-01-01T00:00:{at_s:02}Z"
    return Incident(
        incident_id=f"i{at_s}", version=1, state="open", fabric="play", component=component,
        kind="", layer="underlay", symptom=symptom, issue_type=None, direction="both",
        opened_at=at, detected_at=at, updated_at=at, closed_at=None, severity="P1",
        confidence=0.9, p_value=1e-9, tie_set=[component], parent=None, paths_bad=1, paths_total=2,
    )  # fmt: skip


def result(*incidents: Incident) -> Result:
    made = [truth(LINK, "loss", 5), truth(AGENT, "agent_down", 30)]
    return scored(["crc_error", "agent crash"], made, [*incidents], 100, 60.0)


def test_a_missed_fault_is_named_with_the_incidents_of_its_time() -> None:
    played = result(incident(LINK, "loss", 8), incident("host:host-7", "loss", 33))
    assert played.missed == [
        "agent crash at agent:host-7 (agent_down) is missed; incidents meanwhile: host:host-7 loss"
    ]
    assert played.missed[0] in table(played)


def test_a_missed_fault_without_any_incident_says_so() -> None:
    assert result(incident(LINK, "loss", 8)).missed == [
        "agent crash at agent:host-7 (agent_down) is missed; no incident meanwhile"
    ]


def test_each_fault_has_its_own_match() -> None:
    played = result(incident(AGENT, "agent_down", 34), incident(LINK, "loss", 8))
    assert not played.missed
    found = {name: match.component for name, match in played.matches.items() if match}
    assert found == {"crc_error": LINK, "agent crash": AGENT}


def test_a_busy_machine_is_part_of_the_table() -> None:
    assert "machine too busy" in table(result()._replace(busy="machine too busy, measured: …"))


def test_the_table_ends_with_the_issue_types() -> None:
    lines = table(result(incident(LINK, "loss", 8))).splitlines()
    assert lines[-1] == "issue types: 0 of 0 exactly", "these faults are of no type"
    assert "untyped" in lines[1]
    assert "missed" in lines[2]
