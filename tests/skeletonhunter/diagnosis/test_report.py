"""Incidents as a person reads them: no certainty that the evidence does not give."""

from __future__ import annotations

import msgspec
import pytest

from schemas.documents.incident import Incident
from skeletonhunter.diagnosis.report import explained, share, significance

INCIDENT = Incident(
    incident_id="i1", version=1, state="open", fabric="f", component="rnic:r", kind="rnic",
    layer="underlay", symptom="unconnectivity", issue_type=None, direction="both",
    opened_at="2026-01-01T00:00:00Z", detected_at="2026-01-01T00:00:04Z",
    updated_at="2026-01-01T00:00:04Z", closed_at=None, severity="P0", confidence=0.9321,
    p_value=1e-300, tie_set=["rnic:r", "link:rnic:r|tor:t"], parent=None, paths_bad=3,
    paths_total=9, strategy="hypothesis",
    evidence={
        "text": "3 of 3 bad paths cross rnic:r",
        "tie_set_probability": {"rnic:r": 0.9321, "link:rnic:r|tor:t": 0.0641},
        "issue_types": {"rnic_port_down": 0.26, "rnic_hardware_failure": 0.21},
        "alternatives": {"host:h": 0.012},
    },
)  # fmt: skip


@pytest.mark.parametrize(
    ("p", "text"),
    [
        (0.0, "p < 1e-300 after correction"), (1e-300, "p < 1e-300 after correction"),
        (2.4e-11, "p = 2.4e-11 after correction"),
        (1.0, "decided by rule, not by a statistical test"),
    ],
)  # fmt: skip
def test_a_p_value_is_never_printed_as_zero(p: float, text: str) -> None:
    assert significance(p) == text


@pytest.mark.parametrize(("p", "text"), [(0.99999, "99.9 %"), (0.26, "26 %"), (0.996, "99.6 %")])
def test_what_is_not_certain_is_not_rounded_to_certainty(p: float, text: str) -> None:
    assert share(p) == text


def test_an_undecided_issue_type_is_explained_with_its_probabilities() -> None:
    lines = explained(INCIDENT).splitlines()
    assert "  confidence 93.2 % that it is rnic:r" in lines
    assert "  undecided  rnic_port_down 26 %, rnic_hardware_failure 21 %" in lines
    assert "  same class link:rnic:r|tor:t 6.4 %: probes cannot tell these apart" in lines
    assert "  or else    host:h 1.2 %" in lines


def test_a_stated_issue_type_comes_with_its_probability() -> None:
    types = {"crc_error": 0.8, "switch_port_flapping": 0.2}
    stated = msgspec.structs.replace(
        INCIDENT, issue_type="crc_error", evidence={**INCIDENT.evidence, "issue_types": types}
    )
    assert "  likely     crc_error 80 %, switch_port_flapping 20 %" in explained(stated)
