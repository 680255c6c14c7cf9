"""What counts as growth in an hour of samples."""

from __future__ import annotations

import numpy as np
import pytest

from evaluation.chaos.soak import Samples, problems, slope

AT_S = [10.0 * i for i in range(360)]
NOISE = np.random.default_rng(1).normal(0, 2, len(AT_S))


def samples(rise_mb_h: float, files: list[int] | None = None, lag_s: float = 0.1) -> Samples:
    memory = [300 + rise_mb_h * at / 3600 + noise for at, noise in zip(AT_S, NOISE, strict=True)]
    return Samples(AT_S, memory, files or [40] * len(AT_S), [lag_s] * len(AT_S))


def test_the_slope_is_that_of_the_line_within_its_error() -> None:
    rise, error = slope(AT_S, samples(7.0).rss_mb)
    assert rise == pytest.approx(7.0, abs=error)
    assert error < 1.0
    assert slope([1, 2], [1, 2]) == pytest.approx((np.nan, np.nan), nan_ok=True)


def test_only_what_rises_beyond_its_error_is_a_problem() -> None:
    assert problems("x", samples(0.0)) == []
    assert "resident memory rises by 4.9 ± 1.0 MB/h" in problems("x", samples(5.0))[0]


def test_memory_that_is_taken_in_the_warm_up_is_no_growth() -> None:
    found = samples(0.0)
    found.rss_mb[:60] = [100.0] * 60
    assert problems("x", found) == []


def test_files_that_only_rise_and_a_lag_that_stays_are_problems() -> None:
    rising = [40 + i // 20 for i in range(len(AT_S))]
    assert "open files rose" in problems("x", samples(0.0, rising))[0]
    some = [40 + i % 7 for i in range(len(AT_S))]
    assert problems("x", samples(0.0, some)) == []
    assert "20 s behind" in problems("x", samples(0.0, lag_s=20.0))[0]
