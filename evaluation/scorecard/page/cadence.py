"""The page's section on clusters that probe gently: other cadences than a probe a second."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from evaluation.scorecard import intervals
from evaluation.scorecard.intervals import Estimate
from evaluation.scorecard.page.markdown import percent, plain, table
from evaluation.scorecard.records import FaultRow, PipelineRow
from evaluation.scorecard.summary import fault_figures, grouped, pipeline_figures, urgency
from schemas.component_ids import kind_of, link_ends

#: Groups of faults with a goal, and the most rounds until they are detected [mean].
MOST_ROUNDS: Final = {"unconnectivity": 3.0, "loss ≥ 5 %": 3.0, "latency": 8.0}
#: A gray loss is smaller than this share of the packets that cross the component.
MOST_GRAY: Final = 0.01


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


def seconds(rows: Sequence[PipelineRow]) -> str:
    """What a cadence buys: a row for each kind of fault, a column for each scenario."""
    scenarios = sorted(
        grouped(rows, lambda row: (row.every_s, row.burst, row.scenario)).items(),
        key=lambda item: item[0],
    )
    kinds = {(urgency(f), kind_of(f.component)) for row in rows for f in row.faults}
    lines = [
        (group, kind, *(_times(_of(trials, group, kind)) for _, trials in scenarios))
        for group, kind in sorted(kinds)
    ]
    clusters = [f"{name}: {every_s} s x {burst}" for (every_s, burst, name), _ in scenarios]
    return f"""## What a cadence buys

Seconds until a fault is detected, mean and greatest of those found, and how many were found of how
many, where a pair is probed so often by bursts of so many probes.

{table(("trouble", "component", *clusters), lines)}"""


def _of(rows: Iterable[PipelineRow], group: str, kind: str) -> list[FaultRow]:
    return [
        fault for row in rows for fault in row.faults
        if urgency(fault) == group and kind_of(fault.component) == kind
    ]  # fmt: skip


def _times(faults: Sequence[FaultRow]) -> str:
    times = [each.seconds for each in faults if each.found and each.seconds is not None]
    if not faults:
        return "-"
    mean = f"{plain(intervals.mean(times), 0)}, {max(times):.0f}; " if times else ""
    return f"{mean}{len(times)} of {len(faults)}"


def gray(rows: Sequence[PipelineRow]) -> str:
    """A row for each kind of component with a loss too small for a window of seconds."""
    faults = [f for row in rows for f in row.faults if f.five_sigma_s and f.magnitude < MOST_GRAY]
    lines = []
    for kind, group in sorted(grouped(faults, lambda f: _kind(f.component)).items()):
        figures = fault_figures(group)
        needed = [f.five_sigma_s for f in group if f.five_sigma_s is not None]
        ratios = [f.seconds / f.five_sigma_s for f in group
                  if f.found and f.seconds is not None and f.five_sigma_s]  # fmt: skip
        lines.append(
            (kind, str(figures.faults), percent(figures.recall), plain(figures.mean_s, 0),
             plain(figures.p95_s, 0), plain(intervals.mean(needed), 0),
             plain(intervals.mean(ratios), 1))
        )  # fmt: skip
    head = ("component", "faults", "recall", "mean s", "P95 s", "5 sigma after s",
            "named after, in these")  # fmt: skip
    return f"""## Gray losses

Faults that lose less than {100 * MOST_GRAY:.2g} % of the packets that cross them. *5 sigma*: when
the losses that the fault adds to the probes across it are five times their standard deviation, with
true routes and healthy losses; no test that knows neither can be much faster, and the alarm budget
asks for about as much.

{table(head, lines)}"""


def _kind(component: str) -> str:
    kind = kind_of(component)
    return "-".join([*map(kind_of, link_ends(component)), kind]) if kind == "link" else kind


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
