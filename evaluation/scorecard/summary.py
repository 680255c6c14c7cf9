"""Figures with intervals from the rows of trials. No I/O."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from evaluation.scorecard import intervals
from evaluation.scorecard.intervals import Estimate
from evaluation.scorecard.records import FaultRow, PathRow, PipelineRow
from testbed.scoring.truth import NOT_NETWORK

WEEK_S: Final = 604_800
#: Faults with at least this loss at each crossing have a goal for the time to detect [1].
QUICK_LOSS: Final = 0.05

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


def grouped(rows: Iterable[V], by: Callable[[V], K]) -> dict[K, list[V]]:
    """Rows by a key; keys in the order of their first row."""
    out: dict[K, list[V]] = {}
    for row in rows:
        out.setdefault(by(row), []).append(row)
    return out


@dataclass(frozen=True, slots=True)
class PathFigures:
    """One strategy on one setting. seconds: CPU time of a call [s]; failed: calls with an error."""

    trials: int
    f1: Estimate
    worst: float
    precision: float
    recall: float
    seconds: float
    failed: int


def path_figures(rows: Sequence[PathRow]) -> PathFigures:
    """Figures of the rows of one setting and strategy, at least one."""
    f1 = intervals.mean([row.f1 for row in rows])
    assert f1 is not None  # noqa: S101 — there is a row
    count = len(rows)
    return PathFigures(
        trials=count, f1=f1, worst=min(row.f1 for row in rows),
        precision=sum(row.precision for row in rows) / count,
        recall=sum(row.recall for row in rows) / count,
        seconds=sum(row.seconds for row in rows) / count,
        failed=sum(row.error is not None for row in rows),
    )  # fmt: skip


def ahead(mine: Sequence[PathRow], other: Sequence[PathRow]) -> Estimate | None:
    """Mean difference of F1 on the draws that both have; None where they share none."""
    theirs = {row.seed: row.f1 for row in other}
    return intervals.mean([row.f1 - theirs[row.seed] for row in mine if row.seed in theirs])


@dataclass(frozen=True, slots=True)
class FaultFigures:
    """Shares and times of a group of faults.

    recall      found, of all that probes can show
    noticed     found or misnamed, of the same
    naming      found, of the noticed; the paper on SkeletonHunter calls it localization accuracy
    top1        the component itself named, of all
    single      the same, of network faults whose component no probe confuses with another
    typed       issue type correct, of the found ones that have one
    directed    direction correct, of the found ones that hit one direction of a link only
    mean_s, p95_s    time to detect of those found [s]
    """

    faults: int
    found: int
    recall: Estimate | None
    noticed: Estimate | None
    naming: Estimate | None
    top1: Estimate | None
    single: Estimate | None
    typed: Estimate | None
    directed: Estimate | None
    mean_s: Estimate | None
    p95_s: Estimate | None


def fault_figures(faults: Iterable[FaultRow]) -> FaultFigures:
    """Figures of faults; those that no probe can show are left out."""
    shown = [fault for fault in faults if fault.effect != "none"]
    found = [fault for fault in shown if fault.found]
    noticed = [fault for fault in shown if fault.noticed]
    single = [f for f in shown if f.class_size == 1 and f.symptom not in NOT_NETWORK]
    typed = [fault for fault in found if fault.issue_type]
    one_way = [fault for fault in found if fault.direction != "both"]
    seconds = [fault.seconds for fault in found if fault.seconds is not None]
    return FaultFigures(
        faults=len(shown),
        found=len(found),
        recall=intervals.share(len(found), len(shown)),
        noticed=intervals.share(len(noticed), len(shown)),
        naming=intervals.share(len(found), len(noticed)),
        top1=intervals.share(sum(fault.top1 for fault in shown), len(shown)),
        single=intervals.share(sum(fault.top1 for fault in single), len(single)),
        typed=intervals.share(sum(f.said_type == f.issue_type for f in typed), len(typed)),
        directed=intervals.share(
            sum(f.said_direction == f.direction for f in one_way), len(one_way)
        ),
        mean_s=intervals.mean(seconds),
        p95_s=intervals.p95(seconds),
    )


@dataclass(frozen=True, slots=True)
class PipelineFigures:
    """One scenario and strategy, or several scenarios together.

    precision   incidents that match a fault, of all; a misnamed one counts as false
    all_named   groups of simultaneous faults of which every one was found
    together    most simultaneous faults; judging_ms: median and worst time for a second's pane [ms]
    """

    trials: int
    simulated_s: int
    paths: int
    seconds: float
    judging_ms: tuple[float, float]
    false: int
    invented: int
    precision: Estimate | None
    faults: FaultFigures
    all_named: Estimate | None
    together: int
    failed: int


def pipeline_figures(rows: Sequence[PipelineRow]) -> PipelineFigures:
    """Figures of rows of one strategy, at least one."""
    faults = fault_figures(fault for row in rows for fault in row.faults)
    false = sum(len(row.false) for row in rows)
    groups = [
        group
        for row in rows
        for group in together([fault for fault in row.faults if fault.effect != "none"])
    ]
    most = max((len(group) for group in groups), default=0)
    several = [group for group in groups if len(group) > 1]
    named = sum(all(fault.found for fault in group) for group in several)
    return PipelineFigures(
        trials=len(rows),
        simulated_s=sum(row.simulated_s for row in rows),
        paths=max(row.paths for row in rows),
        seconds=sum(row.seconds for row in rows) / len(rows),
        judging_ms=(
            sorted(row.judging_ms[0] for row in rows)[len(rows) // 2],
            max(row.judging_ms[1] for row in rows),
        ),
        false=false,
        invented=sum(not each.misnamed for row in rows for each in row.false),
        precision=intervals.share(faults.found, faults.found + false),
        faults=faults,
        all_named=intervals.share(named, len(several)),
        together=most,
        failed=sum(row.error is not None for row in rows),
    )


def together(faults: Sequence[FaultRow]) -> list[list[FaultRow]]:
    """Groups of faults that overlap in time, directly or through other faults."""
    groups: list[list[FaultRow]] = []
    last = float("-inf")
    for fault in sorted(faults, key=lambda each: each.start_s):
        if fault.start_s < last:
            groups[-1].append(fault)
        else:
            groups.append([fault])
        last = max(last, float("inf") if fault.end_s is None else fault.end_s)
    return groups


def urgency(fault: FaultRow) -> str:
    """The group of a fault in the table of times to detect."""
    if fault.symptom in NOT_NETWORK:
        return "agents and hosts"
    if fault.effect == "drift":
        return "latency that drifts"
    if fault.symptom == "loss":
        return "loss ≥ 5 %" if fault.magnitude >= QUICK_LOSS else "loss < 5 %"
    return "latency" if fault.symptom == "high_latency" else fault.symptom


def false_per_week(rows: Sequence[PipelineRow]) -> Estimate | None:
    """False incidents per simulated week of clean input."""
    return intervals.rate(
        sum(len(row.false) for row in rows), sum(row.simulated_s for row in rows) / WEEK_S
    )
