"""The page's section on clusters that probe gently: other cadences than a probe a second."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from evaluation.scorecard import intervals
from evaluation.scorecard.intervals import Estimate
from evaluation.scorecard.page.markdown import percent, plain, table
from evaluation.scorecard.records import PipelineRow
from evaluation.scorecard.summary import fault_figures, grouped, pipeline_figures, urgency

#: Groups of faults with a goal, and the most rounds until they are detected [mean].
MOST_ROUNDS = {"unconnectivity": 3.0, "loss ≥ 5 %": 3.0, "latency": 8.0}


def rounds(rows: Iterable[PipelineRow], group: str) -> list[float]:
    """Time to detect of the found faults of a group, in rounds of their cluster's slowest host."""
    return [
        fault.seconds / row.every_s
        for row in rows
        for fault in row.faults
        if fault.found and fault.seconds is not None and urgency(fault) == group
    ]


def cadence(rows: Sequence[PipelineRow]) -> str:
    """A row for each scenario whose pairs are not probed once a second by one probe."""
    lines = []
    for name, group in grouped(rows, lambda row: row.scenario).items():
        figures = pipeline_figures(group)
        faults, first = figures.faults, group[0]
        cells = [_cells(group, each) for each in MOST_ROUNDS]
        lines.append(
            (name, f"{first.every_s}", f"{first.burst}", f"{figures.trials}", f"{faults.faults}",
             percent(figures.precision), percent(faults.recall), percent(faults.naming), *cells)
        )  # fmt: skip
    head = ("scenario", "every s", "burst", "seeds", "faults", "precision", "recall", "naming",
            *(f"{each}: found; rounds, P95" for each in MOST_ROUNDS))  # fmt: skip
    return f"""## Clusters that probe gently

A pair is probed every so many seconds (of the slowest host, where hosts differ), its five-tuples in
turn, by one record of so many probes. *Rounds*: time to detect in these intervals, of those found.

{table(head, lines)}"""


def mean_rounds(rows: Iterable[PipelineRow], group: str) -> Estimate | None:
    """Mean rounds until the faults of a group are detected; None where none was found."""
    return intervals.mean(rounds(rows, group))


def _cells(rows: Sequence[PipelineRow], group: str) -> str:
    faults = [each for row in rows for each in row.faults if urgency(each) == group]
    if not faults:
        return "-"
    figures = fault_figures(faults)
    times = rounds(rows, group)
    p95 = intervals.p95(times)
    last = "" if p95 is None else f", {p95.value:.1f}"
    return f"{figures.found} of {figures.faults}; {plain(intervals.mean(times), 1)}{last}"
