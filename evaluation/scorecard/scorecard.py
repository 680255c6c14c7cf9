"""Makes a scorecard: plans the trials, runs them, writes the results, draws the page."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from msgspec.structs import replace

from evaluation.machine import machine
from evaluation.scorecard import plan, provenance, records, runner
from evaluation.scorecard.page import plots, render
from evaluation.scorecard.page.goals import goals


def scorecard(
    request: plan.PlanRequest,
    page: Path,
    *,
    jobs: int,
    limit_min: float | None = None,
    render_only: bool = False,
    report: Callable[[str], None],
) -> str:
    """Write ``page``; results.jsonl and pictures go to the directory of its name beside it.

    limit_min    no trial begins later than this [min]; None: the limit of the plan, where the whole
                 plan or a quick one is run
    render_only  draw the page from the results that are there
    report       receives lines of progress
    Returns the goals as lines of text. Raises UnknownName, RecordsError, NoMatplotlib, OSError.
    """
    directory = page.parent / page.stem
    results = directory / "results.jsonl"
    if render_only:
        run, rows = records.read(results)
    else:
        plots.require()
        started = time.monotonic()
        units = plan.units(request)
        run = describe(request, units, jobs)
        minutes = sum(unit.cost_s for unit in units) / 60 / jobs
        report(f"{len(units)} trials, some {minutes:.0f} min on {jobs} processes")
        journal = directory / "results.partial.jsonl"
        if limit_min is None and not request.full and (request.quick or request.final):
            limit_min = plan.QUICK_LIMIT_MIN if request.quick else plan.LIMIT_MIN
        if request.full:
            _continue(results, journal, run)
        rows = runner.run(units, run, journal, jobs=jobs, limit_min=limit_min, report=report)
        have = {records.key(row) for row in rows}
        left_out = sum(not unit.keys <= have for unit in units)
        run = replace(run, wall_s=round(time.monotonic() - started, 1), left_out=left_out)
        records.write(results, run, rows)
        if not left_out:
            journal.unlink()
    render.render(run, rows, page)
    words = {True: "met", False: "MISSED", None: "-"}
    lines = [f"{words[g.met]:>6}  {g.on}: {g.goal}; reached {g.reached}" for g in goals(rows)]
    return "\n".join([*lines, f"written to {page}"])


def _continue(results: Path, journal: Path, run: records.Run) -> None:
    """Begin the journal with the finished trials of a shorter plan of the same code."""
    if journal.exists() or not results.exists():
        return
    before, rows = records.read(results)
    if before.sources == run.sources:
        records.write(journal, run, rows)


def describe(request: plan.PlanRequest, units: Sequence[plan.Unit], jobs: int) -> records.Run:
    """The first line of results.jsonl: how this run is made."""
    seeds: dict[str, tuple[int, int]] = {}
    for unit in units:
        low, high = seeds.get(unit.part, (unit.seed, unit.seed))
        seeds[unit.part] = (min(low, unit.seed), max(high, unit.seed))
    arguments = sys.argv[1:]
    known = arguments[:2] == ["check", "scorecard"]
    return records.Run(
        commit=provenance.commit(), sources=provenance.sources(), machine=machine(),
        started=datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        command="skeletonhunter " + " ".join(arguments if known else ["check", "scorecard"]),
        quick=request.quick, final=request.final, jobs=jobs, seeds=seeds,
        parameters=provenance.parameters(),
    )  # fmt: skip
