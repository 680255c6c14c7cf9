"""A fault's issue type counts as named only when its incident states it."""

from __future__ import annotations

import msgspec
import pytest

from evaluation.fabric_suite.issue_types import Outcome, summary, typed
from localizer.explanation.refined import applied
from localizer.host_evidence.finding import HostFinding
from schemas.documents.incident import Incident

RNIC, CABLE = "rnic:10.1.0.0", "link:rnic:10.1.0.0|tor:tor-0"
RANKED = {"rnic_port_down": 0.4, "rnic_gid_change": 0.3}
INCIDENT = Incident(
    incident_id="i1", version=1, state="open", fabric="play", component=RNIC, kind="rnic",
    layer="underlay", symptom="unconnectivity", issue_type=None, direction="both",
    opened_at="2026-01-01T00:00:05Z", detected_at="2026-01-01T00:00:08Z",
    updated_at="2026-01-01T00:00:08Z", closed_at=None, severity="P1", confidence=0.9,
    p_value=1e-9, tie_set=[RNIC, CABLE], parent=None, paths_bad=1, paths_total=2,
    evidence={"text": "all is lost", "issue_types": RANKED},
)  # fmt: skip


def finding(issue_type: str | None) -> HostFinding:
    return HostFinding(RNIC, issue_type, "its counters", decides=True, symptom="unconnectivity")


@pytest.mark.parametrize(
    ("true", "stated", "outcome"),
    [
        ("rnic_port_down", "rnic_port_down", "exactly"),
        ("rnic_port_down", "bond_error", "wrong"),
        ("rnic_gid_change", None, "probable"),
        ("bond_error", None, "open"),
        (None, None, "untyped"),
        (None, "bond_error", "wrong"),
    ],
)
def test_only_the_type_that_an_incident_states_is_named_exactly(
    true: str | None, stated: str | None, outcome: Outcome
) -> None:
    score = typed(true, msgspec.structs.replace(INCIDENT, issue_type=stated))
    assert (score.outcome, score.probes, score.decided) == (outcome, outcome, False)


def test_a_missed_fault_has_no_type() -> None:
    assert typed("crc_error", None).outcome == "missed"


def test_what_probes_alone_would_state_is_scored_beside_what_counters_decided() -> None:
    score = typed("rnic_gid_change", applied(INCIDENT, finding("rnic_gid_change")))
    assert (score.outcome, score.probes, score.decided) == ("exactly", "probable", True)
    sure = msgspec.structs.replace(INCIDENT, issue_type="rnic_gid_change")
    score = typed("rnic_gid_change", applied(sure, finding(None)))
    assert (score.outcome, score.probes) == ("probable", "exactly"), "counters took it away"


def test_the_summary_counts_faults_of_a_type_and_says_what_probes_alone_name() -> None:
    decided = typed("rnic_gid_change", applied(INCIDENT, finding("rnic_gid_change")))
    scores = [decided, typed("bond_error", INCIDENT), typed("crc_error", None)]
    assert summary([*scores, typed(None, INCIDENT)]) == (
        "issue types: 1 of 3 exactly (1 open, 1 missed); evidence of hosts is in 1 incidents, "
        "by probes alone 0 of 3 exactly (1 probable, 1 open, 1 missed)"
    )
    stated = msgspec.structs.replace(INCIDENT, issue_type="bond_error")
    assert summary([typed(None, stated)]).endswith("1 stated for faults of no type")
