"""Runs the units of a plan on several processes, and continues a run that was stopped."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import Final

import msgspec

from evaluation.scorecard import records
from evaluation.scorecard.plan import Unit, rounds
from evaluation.scorecard.records import PipelineRow, RecordsError, Row, Run, key

#: Each process computes in one thread, so that processes do not compete for cores.
_SINGLE: Final = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def work(unit: Unit) -> list[Row]:
    """Run one unit; called in a worker process."""
    from evaluation.scorecard.trials import curve, healthy, paths, pipeline

    if unit.part == "path":
        return [*paths.run(unit.name, unit.seed, unit.strategies)]
    if unit.part == "curve":
        return [*curve.run(unit.name, unit.seed, unit.strategies)]
    if unit.name in healthy.HEALTHY:
        length = unit.duration_s or healthy.PIECE_S
        return [healthy.run(unit.name, unit.seed, name, length) for name in unit.strategies]
    return [
        pipeline.run(unit.name, unit.seed, strategy, unit.duration_s)
        for strategy in unit.strategies
    ]


def run(
    units: Sequence[Unit],
    made: Run,
    journal: Path,
    *,
    jobs: int,
    limit_min: float | None = None,
    report: Callable[[str], None],
    work: Callable[[Unit], list[Row]] = work,
) -> list[Row]:
    """Run all units and return their rows, including the rows of the journal.

    made       how this run is made; a journal of other code is not used
    journal    file to which rows are appended as they are finished; a stopped run continues there
    limit_min  no unit begins later than this [min]; None: no limit
    report     receives lines of progress
    work       runs one unit
    """
    lengths = {each: unit.duration_s for unit in units for each in unit.keys}
    done = [row for row in _resume(journal, made, report) if _as_long(row, lengths.get(key(row)))]
    have = {key(row) for row in done}
    left = [unit for unit in units if not unit.keys <= have]
    rows = [row for row in done if key(row) in lengths]
    progress = _Progress(units, left, jobs)
    if done:
        report(f"{len(units) - len(left)} of {len(units)} trials are in {journal}")
    with journal.open("ab") as file:
        for unit, found in _all(rounds(left), jobs, limit_min, work):
            fresh = [row for row in found if key(row) not in have]
            file.write(b"".join(msgspec.json.encode(row) + b"\n" for row in fresh))
            file.flush()
            rows += fresh
            report(progress.line(unit, found))
    return sorted(rows, key=key)


def _all(
    units: Sequence[Unit],
    jobs: int,
    limit_min: float | None,
    work: Callable[[Unit], list[Row]],
) -> Iterator[tuple[Unit, list[Row]]]:
    """Each unit with its rows, as they are finished."""
    ends = float("inf") if limit_min is None else time.monotonic() + 60 * limit_min
    if jobs == 1:
        for unit in units:
            if time.monotonic() < ends:
                yield unit, work(unit)
        return
    for name in _SINGLE:
        os.environ.setdefault(name, "1")
    ahead = iter(units)
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        busy = {pool.submit(work, unit): unit for unit in islice(ahead, jobs)}
        while busy:
            done, _ = wait(busy, return_when=FIRST_COMPLETED)
            for future in done:
                unit = busy.pop(future)
                if time.monotonic() < ends:
                    busy |= {
                        pool.submit(work, following): following for following in islice(ahead, 1)
                    }
                yield unit, future.result()


def _resume(journal: Path, made: Run, report: Callable[[str], None]) -> list[Row]:
    """The rows of an unfinished run of the same code; otherwise start a new journal."""
    if journal.exists():
        try:
            before, rows = records.read(journal)
        except RecordsError:
            report(f"{journal} cannot be read and begins anew")
        else:
            if before.sources == made.sources:
                _cut(journal)
                return rows
            report(f"{journal} is of other code and begins anew")
    journal.parent.mkdir(parents=True, exist_ok=True)
    journal.write_bytes(msgspec.json.encode(made) + b"\n")
    return []


def _as_long(row: Row, duration_s: int | None) -> bool:
    """Whether a row's trial has the requested duration."""
    return not isinstance(row, PipelineRow) or duration_s in (None, row.simulated_s)


def _cut(journal: Path) -> None:
    """Remove an incomplete last line, left by a run that was stopped."""
    raw = journal.read_bytes()
    if not raw.endswith(b"\n"):
        journal.write_bytes(raw[: raw.rfind(b"\n") + 1])


class _Progress:
    """Progress: units done, and the time left at the pace so far."""

    def __init__(self, every: Sequence[Unit], left: Iterable[Unit], jobs: int) -> None:
        self._total = len(every)
        self._cost_left = {id(unit): unit.cost_s for unit in left}
        self._done = self._total - len(self._cost_left)
        self._cost_done = 0.0
        self._jobs = jobs
        self._started = time.monotonic()

    def line(self, unit: Unit, rows: Sequence[Row]) -> str:
        """The line after a unit: its number, its CPU time, the time left."""
        self._done += 1
        self._cost_done += self._cost_left.pop(id(unit))
        spent = time.monotonic() - self._started
        left_s = spent / self._cost_done * sum(self._cost_left.values())
        who = unit.strategies[0] if len(unit.strategies) == 1 else f"{len(rows)} strategies"
        cpu = sum(row.seconds for row in rows)
        return (
            f"[{self._done}/{self._total}] {unit.part} {unit.name} seed {unit.seed}, {who}: "
            f"{cpu:.1f} s; about {left_s / 60:.0f} min left"
        )
