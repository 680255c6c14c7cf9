"""Draws docs/scorecard.md from results; the same results give the same page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from evaluation.scorecard import plan
from evaluation.scorecard.page import cadence as cadence_section
from evaluation.scorecard.page import curves, plots, published_results, settings
from evaluation.scorecard.page import pipeline as pipeline_section
from evaluation.scorecard.page.goals import GRAY, goals
from evaluation.scorecard.page.markdown import picture, plain, table
from evaluation.scorecard.records import CurveRow, PathRow, PipelineRow, Row, Run
from evaluation.scorecard.summary import WEEK_S, false_per_week, grouped
from evaluation.scorecard.trials import calibration

#: Beside the gentle ones: a cluster whose pairs are probed once a second.
EVERY_SECOND = "rail-512"
_DECADES = (1, 2, 3, 4, 5, 6)


def render(run: Run, rows: Sequence[Row], page: Path) -> None:
    """Write the page, and its pictures into the directory of the same name beside it."""
    pictures = page.parent / page.stem
    pictures.mkdir(parents=True, exist_ok=True)
    drawn = plots.draw(rows, pictures)
    page.write_text(markdown(run, rows, {name: f"{page.stem}/{name}.png" for name in drawn}))


def markdown(run: Run, rows: Sequence[Row], pictures: dict[str, str]) -> str:
    """The page as Markdown, without sections that have no rows. pictures: plot -> file."""
    paths = [row for row in rows if isinstance(row, PathRow)]
    pipeline = [row for row in rows if isinstance(row, PipelineRow)]
    faulty = [row for row in pipeline if not row.clean]
    clean = [row for row in pipeline if row.clean]
    mine = [row for row in faulty if row.strategy == plan.DEFAULT]
    parts = [_head(run, rows), _goals(rows)]
    if paths:
        parts.append(settings.settings(paths, pictures))
    over_time = [row for row in rows if isinstance(row, CurveRow)]
    if over_time:
        parts.append(curves.curves(over_time))
    if mine:
        parts += [
            pipeline_section.scenarios(mine),
            pipeline_section.issue_types(mine),
            pipeline_section.times(mine, pictures),
            pipeline_section.wrong(mine),
        ]
    gentle = [row for row in mine if row.every_s > 1 or row.burst > 1]
    if gentle:
        parts.insert(len(parts) - 1, cadence_section.cadence(gentle))
        like = [row for row in mine if row in gentle or row.scenario == EVERY_SECOND]
        parts.insert(len(parts) - 1, cadence_section.seconds(like))
    gray = [row for row in mine if row.scenario == GRAY]
    if gray:
        parts.insert(len(parts) - 1, cadence_section.gray(gray))
    if any(row.strategy != plan.DEFAULT for row in faulty):
        parts.append(pipeline_section.side_by_side(faulty))
    if clean:
        parts.append(_clean(clean))
    if "calibration" in pictures:
        parts.append(_calibration(clean, pictures))
    parts += [_published(), _parameters(run)]
    return "\n".join(parts).rstrip() + "\n"


def _head(run: Run, rows: Sequence[Row]) -> str:
    seeds = "; ".join(f"{part} {low}-{high}" for part, (low, high) in sorted(run.seeds.items()))
    kind = "the whole plan on the final seeds"
    if not run.final:
        kind = "**not the final plan** (fewer trials, or seeds that were developed on)"
    if run.left_out:
        kind += (
            f"; **stopped for time, {run.left_out} trials were left out**: run it again to go on"
        )
    wall = "" if run.wall_s is None else f" in {run.wall_s / 60:.0f} min on {run.jobs} processes"
    cpu_min = sum(row.seconds for row in rows) / 60
    return f"""# Scorecard

Made by `{run.command}` and not edited by hand; the raw results are in `results.jsonl` in the
directory beside this page, one trial a line. `make scorecard` repeats it, `--render-only` draws it
anew from the results.

- This run: {kind}; {len(rows)} rows, {cpu_min:.0f} CPU min{wall}, begun {run.started}.
- Commit {run.commit}, sources {run.sources}. Machine: {run.machine}.
- Seeds: {seeds}. Final seeds are fixed in `evaluation/scorecard/plan.py`, and no parameter is tuned
  on them; parameters were tuned on seeds {plan.TUNING}, and all of them are listed at the end.
- Behind each figure in brackets is its 95 % interval: Wilson's for shares, the bootstrap over
  seeds or detections for means and percentiles, the exact Poisson interval for rates. A bootstrap
  of equal values has no width; it does not mean certainty. Incidents of one trial share a network,
  so intervals of shares are rather too narrow.
- Times are CPU seconds of one core, taken while other processes ran beside.
"""


def _goals(rows: Sequence[Row]) -> str:
    words = {True: "met", False: "**missed**", None: "-"}
    lines = [(g.on, g.goal, g.published, g.reached, words[g.met]) for g in goals(rows)]
    return "## Goals\n\n" + table(("on", "goal", "published", "reached", ""), lines)


def _clean(rows: Sequence[PipelineRow]) -> str:
    lines = []
    for name, group in grouped(rows, lambda row: row.scenario).items():
        weeks = sum(row.simulated_s for row in group) / WEEK_S
        false = sum(len(row.false) for row in group)
        lines.append(
            (name, str(len(group)), f"{max(row.paths for row in group):,}", f"{weeks:.3g}",
             str(false), plain(false_per_week(group), 2))
        )  # fmt: skip
    false_rows = [
        f"- {row.scenario} seed {row.seed}: {each.component} {each.symptom} at {each.at_s:.0f} s"
        for row in rows for each in row.false
    ]  # fmt: skip
    head = ("scenario", "trials", "paths", "weeks", "false incidents", "a week")
    return f"""## Clean input

Nothing is broken; congestion bursts, drift and background loss are there. Every incident is false.
A few hours cannot show a rate of one a week, which is why the interval is wide;
`--only clean --clean-hours N` runs more. *healthy-...*: without pings, as panes and windows that
come straight from the simulator's arrays (`evaluation/scorecard/trials/healthy_panes.py` says what
is exact), in pieces of four hours; `make scorecard-full` has two weeks of them.

{table(head, lines)}
{chr(10).join(false_rows)}"""


def _calibration(rows: Sequence[PipelineRow], pictures: dict[str, str]) -> str:
    lines = []
    for family, counts in sorted(calibration.added(row.p_values for row in rows).items()):
        cells = [
            f"{calibration.ratio(counts, decade):.3g}" if sum(counts) >= 10**decade else "-"
            for decade in _DECADES
        ]
        lines.append((family, f"{sum(counts):,}", *cells))
    head = ("family", "tests", *(f"p ≤ 1e-{decade}" for decade in _DECADES))
    return f"""## Are p-values what they claim to be?

On the clean input above where no container comes or goes, of tests {calibration.APART_S} s
apart: how many times as often as claimed so small a p-value was seen. 1 is right, less is careful,
more raises false alarms; the alarm budget needs this to hold far beyond what so many tests show.

{table(head, lines)}
{picture(pictures, "calibration", "QQ plot of p-values on clean input")}"""


def _published() -> str:
    return (
        "## What others have published\n\nOn inputs of their own, so not comparable line by "
        "line.\n\n" + table(("who", "figure", "on", "source"), published_results.SYSTEMS)
    )


def _parameters(run: Run) -> str:
    lines = []
    for name, own in sorted(run.parameters.items()):
        if "source" in own:
            lines.append((name, own["value"], own["unit"], own["source"]))
        else:  # results of before parameters had sources: a module and its constants
            lines.append(
                (name, ", ".join(f"{key} = {value}" for key, value in own.items()), "", "")
            )
    return "## Parameters in force\n\n" + table(("parameter", "value", "unit", "source"), lines)
