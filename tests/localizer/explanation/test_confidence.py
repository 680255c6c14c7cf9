"""Confidence is a probability: below 1, divided among a tie set, and calibrated."""

from __future__ import annotations

from collections import defaultdict

import msgspec
import numpy as np
import pytest
from builders.simulated_fabrics import (
    TWO_TIERS,
    Tracing,
    always,
    broken,
    every_version,
    last_versions,
    never,
)
from scipy import stats

from evaluation.scorecard.verdict_counts import RESULTS, first_right, pipeline_rows, trials
from localizer.explanation.confidence import FIRST_RIGHT, TRIALS, by_rule, cap, jeffreys, share_out
from localizer.explanation.issue_types import IssueFeatures, of_members
from localizer.incidents.tracked_incident import TrackedIncident
from localizer.verdicts.build import corrected
from localizer.verdicts.verdict import Verdict
from schemas.documents.incident import SMALLEST_P, Incident, Symptom
from testbed.scoring.score import score

SEEDS = range(900, 908)  # neither the scorecard's nor those of the constants
RNIC = ["rnic:r", "link:rnic:r|tor:t"]


def verdict(tie_set: list[str], symptom: Symptom = "unconnectivity") -> Verdict:
    return Verdict(tie_set[0], tie_set, "underlay", symptom, 1e-9, 1.0, np.arange(3), 3, 0)


def test_of_two_components_that_no_probe_tells_apart_neither_is_certain() -> None:
    one = share_out(verdict(RNIC), of_members(RNIC, "unconnectivity", IssueFeatures()), alone=True)
    each = one.tie_set_probability
    assert each.keys() == {*RNIC}
    assert sum(each.values()) == pytest.approx(cap("rnic", "unconnectivity"), abs=1e-3)
    assert 0.5 < one.confidence == pytest.approx(each["rnic:r"], abs=1e-3)
    assert one.confidence < 0.95


def test_loss_is_as_likely_of_the_cable_as_of_the_rnic() -> None:
    one = share_out(verdict(RNIC, "loss"), of_members(RNIC, "loss", IssueFeatures()), alone=True)
    assert 0.35 < one.confidence < 0.6


@pytest.mark.parametrize("kind", ["tor", "rnic", "host", "fabric", "agent"])
@pytest.mark.parametrize("symptom", ["loss", "unconnectivity", "high_latency", "host_down"])
def test_no_kind_of_verdict_is_certain(kind: str, symptom: Symptom) -> None:
    for alone in (True, False):
        assert 0.5 <= cap(kind, symptom, alone=alone) < 0.999


def test_the_confidence_of_a_rule_grows_with_its_witnesses() -> None:
    few, many = (by_rule("agent", "agent_down", n) for n in (3, 300))
    assert few == jeffreys(3, 3) == 0.875
    assert few < many <= cap("agent", "agent_down")


def test_caps_are_what_the_scorecard_supports() -> None:
    """The counts are those of its results, and no cap is above the upper end of what they say."""
    rows = list(pipeline_rows(RESULTS))
    assert trials(rows) == TRIALS
    assert first_right(rows) == FIRST_RIGHT
    for (kind, symptom), counts in TRIALS.items():
        right, every = map(sum, zip(*counts, strict=True))
        upper = stats.beta.ppf(0.975, right + 0.5, every - right + 0.5)
        name = "tor" if kind == "switch" else kind
        assert cap(name, symptom, alone=False) <= upper, (kind, symptom)  # type: ignore[arg-type]


@pytest.mark.parametrize("p", [0.0, 5e-324, 1e-301])
def test_a_p_value_is_never_zero(p: float) -> None:
    assert corrected(p, 7) == SMALLEST_P
    assert corrected(0.5, 7) == 1.0


def test_a_restored_incident_of_confidence_1_is_capped() -> None:
    (incident,) = last_versions(story(900, always, document=True))[:1]
    old = msgspec.structs.replace(incident, confidence=1.0, p_value=0.0)
    again = TrackedIncident.of(old).document("sim", 0, "hypothesis")
    assert again.confidence < 1.0
    assert again.p_value == SMALLEST_P


# --- calibration --------------------------------------------------------------------------------


def story(seed: int, tracing: Tracing, *, document: bool) -> list[Incident]:
    return every_version(simulation(seed), 110, tracing, document=document)


def simulation(seed: int):  # type: ignore[no-untyped-def]
    """An rnic, or one time in four its cable; a ToR; a link between switches; one by one."""
    rnic = ("rnic_port_down", "any rnic") if seed % 4 else ("link_down", "any rnic-tor link")
    return broken(
        TWO_TIERS, seed,
        [(*rnic, 15, 30, 1.0), ("tor_loss", "any tor", 50, 65, 0.3),
         ("link_loss", "any tor-spine link", 85, 100, 0.3)],
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_confidence_is_about_the_share_of_verdicts_that_are_right() -> None:
    bins: defaultdict[float, list[tuple[float, bool]]] = defaultdict(list)
    for seed in SEEDS:
        truths = simulation(seed).truths(110)
        for document, tracing in ((True, always), (False, never)):
            found = last_versions(story(seed, tracing, document=document))
            right = {m.incident_id for m in score(truths, found).matched if m.top1}
            for incident in found:
                assert 0.0 < incident.confidence < 1.0
                assert SMALLEST_P <= incident.p_value <= 1.0
                low = max(edge for edge in (0.0, 0.6, 0.97) if incident.confidence >= edge)
                bins[low].append((incident.confidence, incident.incident_id in right))
    assert len(bins) == 3, "values spread"
    for low, members in bins.items():
        said = float(np.mean([confidence for confidence, _ in members]))
        hits = sum(right for _, right in members)
        interval = stats.beta.ppf([0.005, 0.995], hits + 0.5, len(members) - hits + 0.5)
        assert interval[0] <= said <= interval[1], (low, said, hits, len(members))
