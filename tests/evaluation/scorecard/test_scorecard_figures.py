"""Figures of a scorecard: intervals, shares, p-values."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from builders.scorecard_rows import ROWS, fault, pipeline_row

from evaluation.scorecard import intervals, summary
from evaluation.scorecard.records import PipelineRow
from evaluation.scorecard.trials import calibration


def test_intervals_of_shares_and_rates_are_those_of_the_textbook() -> None:
    assert intervals.share(8, 10) == pytest.approx((0.8, 0.4902, 0.9433), abs=1e-4)
    assert intervals.share(0, 0) is None
    assert intervals.rate(0, 2.0) == pytest.approx((0.0, 0.0, 3.6889 / 2), abs=1e-4)
    assert intervals.rate(3, 1.0) == pytest.approx((3.0, 0.6187, 8.7673), abs=1e-4)
    assert intervals.mean([4.0, 4.0]) == (4.0, 4.0, 4.0)
    assert intervals.mean([]) is None


def test_the_bootstrap_is_near_the_normal_interval_where_that_holds() -> None:
    values = [float(n % 10) for n in range(400)]  # mean 4.5, deviation 2.87, error of it 0.144
    assert intervals.mean(values) == pytest.approx((4.5, 4.5 - 0.281, 4.5 + 0.281), abs=0.02)
    assert intervals.mean(values) == intervals.mean(values)
    p95 = intervals.p95(values)
    assert p95 is not None
    assert p95.value == 9.0


def test_a_misnamed_fault_is_noticed_and_what_no_probe_shows_is_not_counted() -> None:
    figures = summary.pipeline_figures([row for row in ROWS[4:5] if isinstance(row, PipelineRow)])
    assert (figures.faults.faults, figures.faults.found) == (2, 1)
    assert figures.faults.noticed is not None
    assert figures.faults.noticed.value == 1.0
    assert figures.faults.naming is not None
    assert figures.faults.naming.value == 0.5
    assert (figures.false, figures.invented) == (2, 1)
    assert figures.precision is not None
    assert figures.precision.value == pytest.approx(1 / 3)


def test_the_direction_counts_for_faults_of_one_direction_only() -> None:
    faults = [
        fault("crc_error", 4.0, direction="a>b", said_direction="a>b"),
        fault("crc_error", 4.0, direction="b>a", said_direction="both"),
        fault("crc_error", 4.0, said_direction="a>b"),
    ]
    directed = summary.fault_figures(faults).directed
    assert directed is not None
    assert directed.value == 0.5


class PValues(NamedTuple):
    """One second of a family of tests."""

    family: str
    second: int
    p: np.ndarray
    above: np.ndarray


def test_uniform_p_values_lie_on_the_line_and_small_ones_above_it() -> None:
    p = np.random.default_rng(1).random(200_000)
    fair, bold = calibration.Collector(0), calibration.Collector(0)
    fair.add(PValues("loss", 100, p, p))
    bold.add(PValues("loss", 100, p**2, p**2))
    counts = fair.histograms["loss"]
    assert calibration.ratio(counts, 2) == pytest.approx(1.0, abs=0.1)
    expected, observed = calibration.quantiles(counts)
    assert expected[:30] == pytest.approx(observed[:30], abs=0.1)
    assert calibration.ratio(bold.histograms["loss"], 2) == pytest.approx(10.0, rel=0.1)


def test_overlapping_windows_are_counted_once_and_histograms_add_up() -> None:
    collector, p = calibration.Collector(0), np.full(7, 0.5)
    for second in (100, 101, 129, 130):
        collector.add(PValues("loss", second, p, p))
    counts = collector.histograms
    assert counts == {"loss": [0, 0, 0, 14]}
    assert calibration.added([counts, {"loss": [1]}]) == {"loss": [1, 0, 0, 14]}


def test_simultaneous_faults_are_named_all_or_not_at_all() -> None:
    at = [(0.0, 30.0), (10.0, 40.0), (35.0, 50.0), (60.0, None), (500.0, 510.0)]
    groups = summary.together([fault("x", 4.0, start_s=a, end_s=b) for a, b in at])
    assert [len(group) for group in groups] == [3, 2]
    row = pipeline_row([fault("x", 4.0), fault("y", None)])
    figures = summary.pipeline_figures([row])
    assert figures.all_named is not None
    assert figures.all_named.value == 0.0
