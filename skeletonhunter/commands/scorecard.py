"""``check scorecard``: plan, run, write results, draw the page."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from msgspec.structs import replace

from evaluation.scorecard import plan, provenance, records, runner
from evaluation.scorecard.page import plots, render
from evaluation.scorecard.page.goals import goals
from skeletonhunter.commands.bench import machine


def scorecard(
    wish: plan.PlanRequest,
    page: Path,
    *,
    jobs: int,
    limit_min: float | None = None,
    render_only: bool = False,
    tell: Callable[[str], None],
) -> str:
    """Write ``page``, and results.jsonl and pictures in the directory beside it named like it.

    limit_min  no trial begins later than this; None: the plan's, if the whole or a quick one is run
    Returns the goals as lines of text. Raises UnknownName, RecordsError, NoMatplotlib, OSError.
    """
    directory = page.parent / page.stem
    results = directory / "results.jsonl"
    if render_only:
        run, rows = records.read(results)
    else:
        plots.require()
        started = time.monotonic()
        units = plan.units(wish)
        run = describe(wish, units, jobs)
        minutes = sum(unit.cost_s for unit in units) / 60 / jobs
        tell(f"{len(units)} trials, some {minutes:.0f} min on {jobs} processes")
        journal = directory / "results.partial.jsonl"
        if limit_min is None and (wish.quick or wish.final):
            limit_min = plan.QUICK_LIMIT_MIN if wish.quick else plan.LIMIT_MIN
        rows = runner.run(units, run, journal, jobs=jobs, limit_min=limit_min, tell=tell)
        have = {plan.key(row) for row in rows}
        left_out = sum(not unit.keys <= have for unit in units)
        run = replace(run, wall_s=round(time.monotonic() - started, 1), left_out=left_out)
        records.write(results, run, rows)
        if not left_out:
            journal.unlink()
    render.render(run, rows, page)
    said = {True: "met", False: "MISSED", None: "-"}
    lines = [f"{said[g.met]:>6}  {g.on}: {g.goal}; reached {g.reached}" for g in goals(rows)]
    return "\n".join([*lines, f"written to {page}"])


def describe(wish: plan.PlanRequest, units: Sequence[plan.Unit], jobs: int) -> records.Run:
    """How this run is made."""
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
        quick=wish.quick, final=wish.final, jobs=jobs, seeds=seeds,
        parameters=provenance.parameters(),
    )  # fmt: skip
