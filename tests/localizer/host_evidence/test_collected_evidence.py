"""Evidence by incident: complete requests only, each host of itself only, bounded."""

from __future__ import annotations

from itertools import permutations

import msgspec
from builders.agents.host_evidence import counters, dump, evidence, flow_tables

from localizer.host_evidence.collected import CollectedEvidence
from localizer.host_evidence.finding import HostFinding, Question
from localizer.host_evidence.parameters import HostEvidenceParameters
from schemas.documents.requests.evidence import Evidence

R = "10.0.0.1"
TIE = (f"rnic:{R}", f"link:rnic:{R}|tor:t1")
LOSS = Question(TIE[0], TIE, "loss")
OWNERS = {R: "h1"}
CRC = counters(R, {"symbol_error": 1}, {"symbol_error": 99})


def decided(*documents: Evidence, question: Question = LOSS) -> HostFinding | None:
    known = CollectedEvidence()
    for each in documents:
        known.add(each)
    return known.answer("I1", question, "f1", OWNERS)


def test_two_readings_in_two_documents_are_compared_when_the_last_has_come() -> None:
    first, last = (
        msgspec.structs.replace(CRC, number=n + 1, counters=[CRC.counters[n]], state=state)
        for n, state in ((0, "running"), (1, "complete"))
    )
    assert decided(first) is None
    for order in permutations((first, last)):
        found = decided(*order)
        assert found is not None
        assert (found.component, found.issue_type) == (TIE[1], "crc_error")
        assert found.text == f"rnic {R}: it received damaged frames: symbol_error +98"


def test_a_host_speaks_of_its_own_rnics_only() -> None:
    assert decided(msgspec.structs.replace(CRC, node_sn="h2")) is None
    assert decided(msgspec.structs.replace(CRC, fabric="f2")) is None
    known = CollectedEvidence()
    known.add(CRC)
    assert known.answer("I1", LOSS, "f1", {}) is None, "no probe says whose rnic it is"


def test_what_decides_more_counts() -> None:
    flaps = counters(R, {"link_downed": 1}, {"link_downed": 4}, request_id="I1.2.h1")
    found = decided(flaps, CRC)
    assert found is not None
    assert found.issue_type == "rnic_port_flapping", "the cable came up with damaged frames"


def test_a_question_is_answered_once() -> None:
    known = CollectedEvidence()
    assert not known.has_news("I1", LOSS)
    known.add(CRC)
    assert known.has_news("I1", LOSS)
    known.answer("I1", LOSS, "f1", OWNERS)
    assert not known.has_news("I1", LOSS)
    known.add(CRC)
    assert not known.has_news("I1", LOSS), "read again after a restart of the reader"
    assert known.has_news("I1", LOSS._replace(symptom="unconnectivity"))


def test_a_flow_table_that_is_no_dump_costs_only_itself() -> None:
    bad = flow_tables("h1", "no such bridge")
    found = decided(*bad, CRC)
    assert found is not None
    assert found.issue_type == "crc_error"


def test_tables_of_several_hosts_are_one_chain() -> None:
    tie = ("container:cont-0-0", "vswitch:host-0")
    dead = Question(tie[0], tie, "unconnectivity")
    own = flow_tables("host-0", dump("missing_flow", "host-0"))
    peer = flow_tables("host-2", dump("missing_flow", "host-2"))
    assert decided(*own, question=dead) is None
    for documents in ([*own, *peer], [*peer, *own]):
        found = decided(*documents, question=dead)
        assert found is not None
        assert (found.component, found.issue_type) == ("vswitch:host-0", None)


def test_memory_is_bounded_and_the_newest_incidents_stay() -> None:
    known = CollectedEvidence(HostEvidenceParameters(held=6, documents=3))
    for incident in range(4):
        for number in range(1, 9):
            known.add(evidence(incident_id=f"I{incident}", number=number))
    assert len(known) == 6
    assert [known.has_news(f"I{n}", LOSS) for n in range(4)] == [False, False, True, True]


def test_evidence_about_no_incident_is_left_out() -> None:
    known = CollectedEvidence()
    known.add(evidence(incident_id=""))
    known.add(evidence(kind="probe"))
    assert len(known) == 0
