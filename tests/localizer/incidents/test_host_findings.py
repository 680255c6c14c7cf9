"""Findings of hosts in incidents: written once, kept over restarts, dropped with what they name."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import numpy as np

from localizer.explanation import refined
from localizer.host_evidence.finding import UNCHANGED, HostFinding, Question
from localizer.incidents.tracked_incident import Impact
from localizer.incidents.tracker import IncidentTracker
from localizer.verdicts.verdict import IssueTypes, Verdict
from schemas.documents.incident import Incident, decode_incident, encode

START_S = 1_780_000_000
RNIC, CABLE = "rnic:r1", "link:rnic:r1|tor:t1"
CRC = HostFinding(CABLE, "crc_error", "rnic r1: damaged", decides=True, symptom="loss")
LOSS = Verdict(
    RNIC, [RNIC, CABLE], "underlay", "loss", 1e-12, 0.4, np.arange(10), 40, START_S,
    effect=0.3, contains=frozenset(), text="loses probes",
    tie_set_probability={RNIC: 0.4, CABLE: 0.4},
    issue=IssueTypes(None, {"rnic_port_flapping": 0.4, "crc_error": 0.3}),
)  # fmt: skip


def tracker(*known: Incident) -> IncidentTracker:
    made = IncidentTracker("f1", lateness_s=2.0, strategy="hypothesis")
    made.restore([decode_incident(encode(each)) for each in known])
    return made


def step(of: IncidentTracker, at: int, *seen: Verdict) -> list[Incident]:
    found = of.step(START_S + at, [(each, Impact("P2", [], [])) for each in seen])
    return [doc for doc, _ in found]


def learn(of: IncidentTracker, at: int, found: HostFinding | None) -> list[Incident]:
    return [doc for doc, _ in of.learn(START_S + at, lambda name, question: found)]


def opened() -> tuple[IncidentTracker, Incident]:
    made = tracker()
    step(made, 0, LOSS)
    (first,) = step(made, 1, LOSS)
    return made, first


def test_a_finding_names_component_type_and_reason_in_a_new_version() -> None:
    made, first = opened()
    (doc,) = learn(made, 2, CRC)
    assert (doc.incident_id, doc.version) == (first.incident_id, first.version + 1)
    assert (doc.component, doc.kind, doc.issue_type) == (CABLE, "link", "crc_error")
    assert doc.tie_set == [CABLE, RNIC]
    assert doc.confidence > first.confidence
    assert doc.evidence["text"] == "loses probes; rnic r1: damaged"
    types = doc.evidence["issue_types"]
    assert isinstance(types, dict)
    assert next(iter(types)) == max(types, key=lambda name: types[name]) == "crc_error"
    assert sum(types.values()) <= 1.001
    assert learn(made, 3, CRC) == [], "once"


def test_without_a_finding_no_document_changes() -> None:
    made, first = opened()
    assert learn(made, 2, None) == []
    assert "host_evidence" not in first.evidence


def test_later_versions_keep_the_finding_and_the_name() -> None:
    made, _ = opened()
    learn(made, 2, CRC)
    (doc,) = step(made, 20, replace(LOSS, bad=np.arange(20)))
    assert (doc.component, doc.issue_type, doc.paths_bad) == (CABLE, "crc_error", 20)
    for at in range(21, 40):
        for each in step(made, at):
            assert (each.state, each.component) == ("resolved", CABLE)


def test_after_a_restart_the_incident_is_as_before() -> None:
    made, _ = opened()
    (doc,) = learn(made, 2, CRC)
    again = tracker(doc)
    assert step(again, 2, LOSS) == [], "it has been written"
    assert learn(again, 2, CRC) == [], "nothing is written again"
    assert learn(again, 3, CRC) == [], "the evidence is read again and says the same"
    (there,) = step(again, 20, replace(LOSS, bad=np.arange(20)))
    (here,) = step(made, 20, replace(LOSS, bad=np.arange(20)))
    assert there == here


def test_a_restart_before_the_finding_was_written_writes_it_then() -> None:
    _, first = opened()
    again = tracker(first)
    assert learn(again, 1, CRC) == []
    assert [each.component for each in learn(again, 2, CRC)] == [CABLE]


def test_findings_do_not_take_turns() -> None:
    made, _ = opened()
    weak = HostFinding(RNIC, "rnic_port_flapping", "down 3 times", decides=False, symptom="loss")
    assert [each.issue_type for each in learn(made, 2, weak)] == ["rnic_port_flapping"]
    assert [each.issue_type for each in learn(made, 3, CRC)] == ["crc_error"]
    assert learn(made, 4, weak) == []
    assert learn(made, 5, replace(CRC, component=RNIC)) == [], "as much, and another one"


def test_a_finding_that_decides_no_component_leaves_it() -> None:
    made, first = opened()
    weak = HostFinding(RNIC, UNCHANGED, "failed to send", decides=False, symptom="loss")
    (doc,) = learn(made, 2, weak)
    assert (doc.component, doc.issue_type, doc.confidence) == (
        first.component, first.issue_type, first.confidence,
    )  # fmt: skip
    assert doc.evidence["text"] == "loses probes; failed to send"


def test_a_finding_about_what_is_not_in_question_any_more_is_dropped() -> None:
    made, _ = opened()
    learn(made, 2, CRC)
    tor = replace(LOSS, component="tor:t1", tie_set=["tor:t1"], bad=np.arange(30), confidence=0.9,
                  contains=frozenset({CABLE, RNIC}), tie_set_probability={})  # fmt: skip
    docs = [doc for at in range(3, 8) for doc in step(made, at, tor)]
    assert docs[-1].component == "tor:t1"
    assert "host_evidence" not in docs[-1].evidence


def test_questions_are_about_open_incidents_as_probes_see_them() -> None:
    made, first = opened()
    asked: list[tuple[str, Question]] = []

    def find(name: str, question: Question) -> HostFinding | None:
        asked.append((name, question))
        return CRC

    made.learn(START_S + 2, find)
    made.learn(START_S + 3, find)
    assert asked == [(first.incident_id, Question(RNIC, (RNIC, CABLE), "loss"))] * 2


def test_what_is_malformed_in_a_document_is_no_finding() -> None:
    made, _ = opened()
    (doc,) = learn(made, 2, CRC)
    plain, found = refined.taken_out(doc)
    assert (plain.component, found) == (RNIC, CRC)
    assert plain.evidence["issue_types"] == LOSS.issue.probability
    bad = msgspec.structs.replace(doc, evidence={**doc.evidence, "host_evidence": {"text": 3}})
    plain, found = refined.taken_out(bad)
    assert (plain.component, found) == (CABLE, None)
