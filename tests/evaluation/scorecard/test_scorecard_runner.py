"""The runner: one result for each unit, whatever the number of processes and stops."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from builders.scorecard_rows import RUN, path_row, pipeline_row
from msgspec.structs import replace

from evaluation.scorecard import plan, runner
from evaluation.scorecard.records import PathRow, Row


@pytest.mark.slow
def test_two_processes_give_the_same_rows_as_one(tmp_path: Path) -> None:
    units = plan.units(plan.PlanRequest(only=("detector", "small"), seeds=1, seeds_from=1000,
                                 strategies=("vote007", plan.DEFAULT)))  # fmt: skip
    assert len(units) == 3
    progress: list[str] = []
    both = [
        runner.run(units, RUN, tmp_path / f"{jobs}.jsonl", jobs=jobs, report=progress.append)
        for jobs in (1, 2)
    ]
    assert _timeless(both[0]) == _timeless(both[1])
    assert len(progress) == 6
    assert progress[-1].startswith("[3/3] ")


def _timeless(rows: Iterable[Row]) -> list[Row]:
    return [
        replace(row, seconds=0.0)
        if isinstance(row, PathRow)
        else replace(row, seconds=0.0, judging_ms=(0.0, 0.0))
        for row in rows
    ]


def test_a_stopped_run_continues_where_it_stopped(tmp_path: Path) -> None:
    units = plan.units(plan.PlanRequest(only=("detector",), seeds=2, strategies=("vote007",)))
    journal, ran = tmp_path / "journal.jsonl", []

    def work(unit: plan.Unit) -> list[Row]:
        ran.append(unit.seed)
        return [path_row("vote007", unit.seed, 1.0)]

    runner.run(units[:1], RUN, journal, jobs=1, report=str, work=work)
    journal.write_bytes(journal.read_bytes() + b'{"type":"path","sett')  # it was killed here
    rows = runner.run(units, RUN, journal, jobs=1, report=str, work=work)
    assert ran == [5000, 5001]
    assert [row.seed for row in rows] == [5000, 5001]
    runner.run(units, replace(RUN, sources="other code"), journal, jobs=1, report=str, work=work)
    assert ran == [5000, 5001, 5000, 5001], "other code has other results"


def test_a_clean_trial_of_another_duration_is_run_again(tmp_path: Path) -> None:
    journal, ran = tmp_path / "journal.jsonl", []

    def work(unit: plan.Unit) -> list[Row]:
        ran.append(unit.duration_s)
        return [pipeline_row([], scenario="clean", seed=1, simulated_s=unit.duration_s)]

    for length in (600, 600, 4200):
        unit = plan.Unit("clean", "clean", 1, (plan.DEFAULT,), 1.0, length)
        runner.run([unit], RUN, journal, jobs=1, report=str, work=work)
    assert ran == [600, 4200]


def test_units_that_the_time_limit_leaves_out_are_run_by_the_next_run(tmp_path: Path) -> None:
    units = plan.units(plan.PlanRequest(only=("detector",), seeds=2, strategies=("vote007",)))

    def work(unit: plan.Unit) -> list[Row]:
        return [path_row("vote007", unit.seed, 1.0)]

    journal = tmp_path / "journal.jsonl"
    assert not runner.run(units, RUN, journal, jobs=1, limit_min=0.0, report=str, work=work)
    assert len(runner.run(units, RUN, journal, jobs=1, limit_min=1.0, report=str, work=work)) == 2
