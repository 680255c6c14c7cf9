"""The evidence of a document: rendered from a verdict, and read again after a restart."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from localizer.explanation import document
from localizer.incidents.tracked_incident import TrackedIncident
from localizer.verdicts.verdict import (
    Contrast,
    Drifted,
    IssueTypes,
    Measured,
    Untraced,
    Verdict,
)
from schemas.documents.incident import Incident

PLAIN = Verdict(
    "tor:a1", ["tor:a1"], "underlay", "loss", 1e-9, 0.9, np.arange(3), 40, 1_780_000_000,
    effect=0.25, text="40 of 40 bad paths cross tor:a1",
    measured=Measured(
        Contrast(40, 40, 0, 200), {"underlay": {"sent": 9, "lost": 3}}, 0.25, 5, 8, ["h1 -> h2"]
    ),
)  # fmt: skip
FULL = replace(
    PLAIN,
    instead_of="tor:a1",
    component="host:h1",
    tie_set=["host:h1", "rnic:r1"],
    issue=IssueTypes(None, {"crc_error": 0.4, "bond_error": 0.3}, flapping=False),
    tie_set_probability={"host:h1": 0.6, "rnic:r1": 0.3},
    alternatives={"spine:s1": 0.05},
    five_tuples=0.5,
    untraced=Untraced(3, 1000),
)


def written(verdict: Verdict) -> Incident:
    tracked = TrackedIncident("id", verdict, 1_780_000_000, 1_780_000_003.0, 0, verdict.bad)
    return tracked.document("f1", 1_780_000_002, "hypothesis")


def test_a_plain_verdict_renders_only_what_it_found() -> None:
    assert document.render(PLAIN) == {
        "text": "40 of 40 bad paths cross tor:a1", "bad_crossing": 40, "bad": 40,
        "good_crossing": 0, "good": 200, "layers": {"underlay": {"sent": 9, "lost": 3}},
        "effect": 0.25, "window_s": 5, "source_hosts": 8, "examples": ["h1 -> h2"],
    }  # fmt: skip


def test_every_field_that_a_verdict_has_is_in_its_document() -> None:
    evidence = document.render(FULL)
    assert evidence["instead_of"] == "tor:a1"
    assert evidence["share_of_five_tuples"] == 0.5
    assert evidence["flapping"] is False
    assert evidence["issue_types"] == {"crc_error": 0.4, "bond_error": 0.3}
    assert evidence["tie_set_probability"] == {"host:h1": 0.6, "rnic:r1": 0.3}
    assert evidence["alternatives"] == {"spine:s1": 0.05}
    assert evidence["untraced"] == {"paths": 3, "of": 1000}
    assert evidence["warning"] == (
        "routes of 3 of 1,000 paths are not traced; pass --topology or wait"
    )


def test_a_restored_verdict_decides_as_the_one_that_was_written() -> None:
    drifted = replace(FULL, symptom="high_latency", drifted=Drifted(2.34567, 1.5))
    again = TrackedIncident.of(written(drifted)).verdict
    assert (again.family, again.lone_witness, again.names) == (
        drifted.family, drifted.lone_witness, drifted.names,
    )  # fmt: skip
    assert again.issue == drifted.issue
    assert again.untraced == drifted.untraced
    assert again.drifted == Drifted(2.35, 1.5)
    assert again.confidence_in("rnic:r1") == drifted.confidence_in("rnic:r1")


def test_the_evidence_of_a_restored_incident_is_written_again_as_it_is() -> None:
    doc = written(FULL)
    doc.evidence["of a later release"] = [1, 2]
    assert TrackedIncident.of(doc).document("f1", 1_780_000_010, "x").evidence == doc.evidence


def test_malformed_evidence_of_another_writer_is_left_out_of_decisions() -> None:
    doc = written(PLAIN)
    doc.evidence.update(
        issue_types=["crc_error"], tie_set_probability="none", flapping="often",
        drift="far", untraced=7, warning="",
    )  # fmt: skip
    again = TrackedIncident.of(doc).verdict
    assert again.issue == IssueTypes()
    assert again.tie_set_probability == {}
    assert (again.drifted, again.untraced) == (Drifted(0.0, 0.0), Untraced(0, 0))
