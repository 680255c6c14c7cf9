"""``skeletonhunter bench``: what can be asked for can be measured; runs are summed up."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from builders.command_line import Command

from evaluation.bench import stages
from evaluation.bench.method import conditions
from evaluation.bench.method.figure import figure
from skeletonhunter.commands import bench
from skeletonhunter.commands.bench import LARGEST, MEASURES
from skeletonhunter.measures import store

ONLY = ("bench", "--only", "detect")


def test_every_measurement_can_be_asked_for_by_name_and_no_other() -> None:
    assert MEASURES.keys() | LARGEST.keys() == stages.STAGES.keys() | store.STAGES.keys()


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Numbers that the next runs measure, instead of minutes of work; a negative one fails."""
    numbers: list[int] = []

    def run(command: Sequence[str], **_: Any) -> subprocess.CompletedProcess[str]:
        number = numbers.pop(0)
        result = {**figure("{ms:.0f} ms", ms=number), "missed": number > 100, "rss_mb": number}
        return subprocess.CompletedProcess(command, number < 0, json.dumps(result), "out of cores")

    monkeypatch.setattr(bench, "subprocess", SimpleNamespace(run=run))
    monkeypatch.setattr(conditions, "reference_s", lambda: 0.5)
    _use(monkeypatch, others=0.0)
    return numbers


def _use(monkeypatch: pytest.MonkeyPatch, others: float) -> None:
    monkeypatch.setattr(conditions.CpuTime, "others_since", lambda *_: others)


def test_a_row_has_the_median_and_the_range_of_its_runs(
    command: Command, measured: list[int]
) -> None:
    measured += [30, 10, 20]
    done = command(*ONLY)
    assert done.code == 0
    assert "| 20 (10 to 30) ms |  | 30 MB |" in done.out
    assert "median of 3 runs (least to most)" in done.out
    assert done.out.count("reference work 0.50 s") == 2  # before and after


def test_a_goal_that_most_runs_miss_is_exit_code_1(command: Command, measured: list[int]) -> None:
    measured += [120, 90, 130]
    done = command(*ONLY)
    assert done.code == 1
    assert "**missed**" in done.out


def test_a_figure_of_a_busy_machine_is_refused(
    command: Command, measured: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    measured += [10]
    _use(monkeypatch, others=1.3)
    done = command(*ONLY)
    assert done.code == 1
    assert "refused: other processes or guests used 1.3 of" in done.out
    assert "10 ms" in done.err  # the refused figure goes to standard error only
    assert "10 ms" not in done.out


def test_a_measurement_that_fails_says_why_and_is_no_row_of_figures(
    command: Command, measured: list[int]
) -> None:
    measured += [10, -1]
    done = command(*ONLY)
    assert done.code == 1
    assert "| failed | | |" in done.out
    assert "out of cores" in done.err
