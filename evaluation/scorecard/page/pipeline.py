"""The page's sections on scenarios: the whole pipeline against the truth."""

from __future__ import annotations

from collections.abc import Sequence

from evaluation.scorecard import plan
from evaluation.scorecard.page.markdown import (
    MOST_LISTED,
    more,
    percent,
    picture,
    plain,
    share,
    table,
)
from evaluation.scorecard.records import PipelineRow
from evaluation.scorecard.summary import (
    FaultFigures,
    fault_figures,
    grouped,
    pipeline_figures,
    urgency,
)
from testbed.faults.issue_types import PUBLISHED


def scenarios(rows: Sequence[PipelineRow]) -> str:
    """A row for each scenario."""
    lines = []
    for name, group in grouped(rows, lambda row: row.scenario).items():
        figures = pipeline_figures(group)
        faults = figures.faults
        failed = f" ({figures.failed} failed)" if figures.failed else ""
        lines.append(
            (name, f"{figures.trials}{failed}", f"{figures.paths:,}", str(faults.faults),
             percent(figures.precision), percent(faults.recall), percent(faults.noticed),
             percent(faults.naming), percent(faults.top1), share(faults.single),
             share(figures.all_named), share(faults.directed),
             plain(faults.mean_s, 1), plain(faults.p95_s, 1),
             f"{figures.invented}", f"{figures.judging_ms[0]:.0f} / {figures.judging_ms[1]:.0f}")
        )  # fmt: skip
    head = ("scenario", "seeds", "paths", "faults", "precision", "recall", "noticed", "naming",
            "top-1", "top-1, class of one", "all of several", "direction", "mean s", "P95 s",
            "made up", "judging ms")  # fmt: skip
    return f"""## Scenarios, whole pipeline, strategy {plan.DEFAULT}

Simulated records through the code that the stream workers run; incidents against the truth as
`skeletonhunter check score` counts. *Recall*: the component or its class (of at most four) was
named in time. *Noticed*: named, or an incident of the right time and family named another
component; that one counts as false too. *Naming*: share of the noticed that were named.
*Class of one*: faults of the network whose component no probe confuses with another, counted on
true routes. *All of several*: groups of simultaneous faults that were all named. *Direction*:
said rightly, of found faults that hit one direction of a link only. *Made up*: incidents that
belong to no fault. *Judging*: median and worst time for one second's pane, by the clock on the
wall. Faults that no probe can show are left out here and listed below.

{table(head, lines)}"""


def issue_types(rows: Sequence[PipelineRow]) -> str:
    """A row for each issue type, or kind of fault."""
    faults = [fault for row in rows for fault in row.faults]
    by = grouped(faults, lambda fault: fault.label)
    lines, missed = [], []
    for label in [*PUBLISHED, *sorted(by.keys() - PUBLISHED.keys())]:
        number = str(PUBLISHED[label].number) if label in PUBLISHED else ""
        group = by.get(label, [])
        symptom = ", ".join(sorted({fault.symptom for fault in group}))
        if not group:
            lines.append((number, label, PUBLISHED[label].symptom, "0", "not run", *[""] * 6))
        elif not any(fault.effect != "none" for fault in group):
            lines.append((number, label, symptom, str(len(group)), "no probe shows it", *[""] * 6))
        else:
            figures = fault_figures(group)
            lines.append((number, label, symptom, str(figures.faults), *_fault_cells(figures)))
            missed += [label] if not figures.found else []
    head = ("#", "issue type or fault", "symptom", "faults", "recall", "naming", "top-1",
            "top-1, class of one", "type said rightly", "mean s", "P95 s")  # fmt: skip
    never = f"\nNever found: {', '.join(missed)}.\n" if missed else ""
    return f"""## Issue types

Over all scenarios above; numbers are those of the published catalogue
(`testbed/issue_types.toml` has every signature).

{table(head, lines)}{never}"""


def _fault_cells(figures: FaultFigures) -> tuple[str, ...]:
    return (
        percent(figures.recall), percent(figures.naming), percent(figures.top1),
        share(figures.single), share(figures.typed), plain(figures.mean_s, 1),
        plain(figures.p95_s, 1),
    )  # fmt: skip


def times(rows: Sequence[PipelineRow], pictures: dict[str, str]) -> str:
    """A row for each symptom."""
    faults = [fault for row in rows for fault in row.faults]
    lines = []
    for name, group in sorted(grouped(faults, urgency).items()):
        figures = fault_figures(group)
        lines.append(
            (name, f"{figures.found} of {figures.faults}", plain(figures.mean_s, 1),
             plain(figures.p95_s, 1))
        )  # fmt: skip
    return f"""## Time to detect

From the fault's start to the moment when a live user would have seen the incident; of those found.

{table(("symptom", "found", "mean s", "P95 s"), lines)}
{picture(pictures, "times", "Time to detect, cumulative, by symptom")}"""


def wrong(rows: Sequence[PipelineRow]) -> str:
    """Every missed or misnamed fault, and every incident that matches none."""
    missed = [
        (row.scenario, str(row.seed), fault.label, fault.component, f"{fault.magnitude:g}",
         fault.direction, fault.named or "nothing")
        for row in rows for fault in row.faults if not fault.found and fault.effect != "none"
    ]  # fmt: skip
    false = [
        (row.scenario, str(row.seed), each.component, each.symptom, f"{each.at_s:.0f}")
        for row in rows for each in row.false if not each.misnamed
    ]  # fmt: skip
    out = [f"## What went wrong\n\n{len(missed)} faults missed or misnamed.\n"]
    if missed:
        head = ("scenario", "seed", "fault", "component", "magnitude", "direction", "named instead")
        out.append(table(head, missed[:MOST_LISTED]) + more(missed))
    out.append(f"\n{len(false)} incidents that belong to no fault.\n")
    if false:
        columns = ("scenario", "seed", "component", "symptom", "at s")
        out.append(table(columns, false[:MOST_LISTED]) + more(false))
    errors = [f"- {row.scenario} seed {row.seed}: {row.error}" for row in rows if row.error]
    return "\n".join([*out, *errors])


def side_by_side(rows: Sequence[PipelineRow]) -> str:
    """A row for each scenario and strategy."""
    lines = []
    for name, group in grouped(rows, lambda row: row.scenario).items():
        by = grouped(group, lambda row: row.strategy)
        if len(by) == 1:
            continue
        common = set.intersection(*({row.seed for row in own} for own in by.values()))
        for strategy, own in sorted(by.items()):
            figures = pipeline_figures([row for row in own if row.seed in common])
            lines.append(
                (name, strategy, str(len(common)), str(figures.faults.faults),
                 percent(figures.precision), percent(figures.faults.recall),
                 plain(figures.faults.mean_s, 1), f"{figures.seconds:.0f}")
            )  # fmt: skip
    head = ("scenario", "strategy", "seeds", "faults", "precision", "recall", "mean s", "CPU s")
    return f"""## Strategies side by side, whole pipeline

The same detectors, thresholds and incident tracker with another strategy naming the culprit, on the
seeds that all of them ran: for time's sake, others than {plan.DEFAULT} get only
{plan.OTHER_SEEDS} seeds of a few small scenarios.

{table(head, lines)}"""
