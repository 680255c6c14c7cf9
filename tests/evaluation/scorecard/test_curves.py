"""F1 over time: the pipeline beside strategies that are given the same panes."""

from __future__ import annotations

import msgspec
import pytest
from builders.scorecard_rows import RUN

from evaluation.scorecard import plan
from evaluation.scorecard.page import render
from evaluation.scorecard.page.goals import goals
from evaluation.scorecard.records import CurvePoint, CurveRow
from evaluation.scorecard.trials import curve
from localizer.evidence import Attribution, Evidence
from localizer.strategies import Strategy
from schemas.component_ids import kind_of
from testbed.scoring.reported_incidents import ReportedIncident

BAD = frozenset({"link:agg:a|tor:t", "link:agg:b|tor:t", "link:agg:c|tor:t", "link:agg:d|tor:t"})


def named(component: str, ties: list[str] | None = None, parent: str | None = None) -> object:
    return msgspec.convert(
        {
            "incident_id": component, "component": component, "detected_at": "2026-01-01T00:00:00Z",
            "fabric": "f", "symptom": "loss", "tie_set": ties or [component], "parent": parent,
        },
        ReportedIncident,
    )  # fmt: skip


def test_the_pipeline_scores_by_what_its_incidents_named() -> None:
    first, second, *_ = sorted(BAD)
    incidents = [
        named(first), named(first), named("agg:a"), named("rnic:r", ["rnic:r", second]),
        named("spine:x", ["spine:x", *BAD]), named("spine:y", parent="agg:a"),
    ]  # fmt: skip
    precision, recall, f1 = curve.pipeline_score(incidents, BAD)  # type: ignore[arg-type]
    assert (precision, recall, f1) == pytest.approx((2 / 4, 2 / 4, 0.5))
    assert curve.pipeline_score([], BAD) == (1.0, 0.0, 0.0)


def test_strategies_get_the_links_and_the_counts_of_the_panes_so_far() -> None:
    sent: list[int] = []

    def get(label: str, setting: str) -> Strategy:
        assert (label, setting) == ("spy", "fat_tree_sparse")
        return spy

    def spy(evidence: Evidence) -> list[Attribution]:
        sent.append(int(evidence.sent.sum()))
        assert evidence.lost.sum() > 0
        assert evidence.directed is not None
        shares = evidence.crossings.pooled(evidence.lost) / evidence.crossings.pooled(evidence.sent)
        return [Attribution(int(shares.argmax()), 0.5, 1.0)]

    row, pipeline = curve.run("sparse-probes", 1000, ["spy", curve.PIPELINE], get, (4, 8))
    assert sent == [4 * sent[0] // 4, 2 * sent[0]], "the counts of 4 s, then of 8 s"
    assert (
        [point.at_s for point in row.points] == [point.at_s for point in pipeline.points] == [4, 8]
    )
    assert row.points[-1].precision in (0.0, 1.0)
    assert row.bad == 26


def test_every_curve_gives_a_five_tuple_a_burst_in_half_a_minute_or_single_probes() -> None:
    for each in curve.CURVES.values():
        probing = curve.plan_of(each).probing
        made = curve.plan_of(each).simulation(seed=1, start_ns=0)
        assert all(
            fault.start_s == 0 and kind_of(fault.component) == "link" for fault in made.faults
        )
        assert isinstance(probing.every_s, int)
        within_s = probing.every_s * probing.ports_per_pair
        assert (probing.burst, within_s <= 30) == (100 if each.bursts else 1, True)


def test_the_curve_has_a_goal_at_its_end_and_a_table() -> None:
    rows = [
        CurveRow(curve="sparse-bursts", seed=6000, strategy=who, bad=26, seconds=1.0,
                 points=[CurvePoint(30, 0.9, 0.5, f1 / 2), CurvePoint(120, 0.9, 0.9, f1)])
        for who, f1 in ((curve.PIPELINE, 0.96), ("flock", 0.5))
    ]  # fmt: skip
    (goal,) = (goal for goal in goals(rows) if goal.on.startswith("sparse-bursts"))
    assert goal.met is True
    page = render.markdown(RUN, rows, {})
    assert "| sparse-bursts | **whole pipeline** | 1 | 0.480 (0.480-0.480) | 0.960" in page
    units = [unit for unit in plan.units(plan.PlanRequest()) if unit.part == "curve"]
    assert {unit.name for unit in units} == curve.CURVES.keys()
    assert all(unit.strategies[0] == curve.PIPELINE for unit in units)
