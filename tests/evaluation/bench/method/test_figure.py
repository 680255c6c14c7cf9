"""Figures of several runs: medians and ranges of the same numbers."""

from __future__ import annotations

from typing import Any

import pytest

from evaluation.bench.method.figure import Spread, figure, summed_up


def run(rate: float, *, missed: bool = False, rss_mb: float = 100.0) -> dict[str, Any]:
    said = figure("{rate:,.0f} records/s ({kind})", rate=rate, kind="slow")
    return {**said, "goal": ">= 2,000", "missed": missed, "rss_mb": rss_mb}


def test_a_run_says_its_numbers() -> None:
    assert run(1234.5)["figure"] == "1,234 records/s (slow)"


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ([3.0], "3.0"),
        ([3.0, 3.04], "3.0"),  # as printed they do not differ
        ([3.0, 1.0, 2.0], "2.0 (1.0 to 3.0)"),
        ([1.0, 2.0], "1.5 (1.0 to 2.0)"),
    ],
)
def test_a_spread_is_the_median_and_the_range_where_there_is_one(
    values: list[float], says: str
) -> None:
    assert f"{Spread(values):.1f}" == says


def test_runs_are_summed_up_number_by_number() -> None:
    whole = summed_up([run(3000), run(1000, rss_mb=120.0), run(2000)])
    assert whole["figure"] == "2,000 (1,000 to 3,000) records/s (slow)"
    assert whole["rss_mb"] == 120.0
    assert whole["goal"] == ">= 2,000"


@pytest.mark.parametrize(("of_three", "missed"), [(0, False), (1, False), (2, True), (3, True)])
def test_a_goal_is_missed_where_most_runs_miss_it(of_three: int, *, missed: bool) -> None:
    runs = [run(1000, missed=at < of_three) for at in range(3)]
    assert summed_up(runs)["missed"] is missed


def test_a_text_that_differs_from_run_to_run_is_said_of_each() -> None:
    runs = [figure("the slowest is {kind}", kind=kind) | {"rss_mb": 1.0} for kind in "aba"]
    assert summed_up(runs)["figure"] == "the slowest is a / b"
