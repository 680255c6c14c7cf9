"""Real latency with labelled failures: found, and nothing else."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest

from localizer.detectors import single_series
from testbed.scoring import series

DATA = Path(__file__).parents[2] / "data" / "nab" / "ec2_request_latency_system_failure.csv"
OUTCOME = series.check(DATA, DATA.with_suffix(".windows.json"))


def test_all_three_failures_are_found() -> None:
    assert len(OUTCOME.windows) == 3
    assert None not in OUTCOME.found


def test_two_weeks_of_quiet_raise_no_false_alarm() -> None:
    assert OUTCOME.false == []


def test_an_alarm_comes_with_the_first_bad_window() -> None:
    worst = OUTCOME.found[1]
    assert worst is not None
    start, end = OUTCOME.windows[1]
    assert abs(worst - (start + (end - start) / 2)) <= timedelta(minutes=30)


def test_a_quiet_series_scores_about_one() -> None:
    score = single_series.scores(np.random.default_rng(1).normal(45, 2, 1000))
    assert np.isnan(score[:65]).all()
    assert np.nanmedian(score) == pytest.approx(1.1, abs=0.15)


def test_a_series_too_short_to_have_a_past_has_no_score() -> None:
    assert np.isnan(single_series.scores(np.full(40, 45.0))).all()


def test_an_alarm_is_reported_once() -> None:
    score = np.ones(50)
    score[[10, 11, 14, 30]] = 9.0
    assert single_series.alarms(score).tolist() == [10, 30]


@pytest.mark.parametrize(
    ("text", "labels", "what"),
    [
        ("timestamp,value\n2020-01-01 00:00:00,fast\n", "[]", ":2: could not convert"),
        ("time,value\n2020-01-01 00:00:00,1\n", "[]", "columns are timestamp"),
        ("timestamp,value\n", "[]", "no rows"),
        ("timestamp,value\n2020-01-01 00:00:00,1\n", '["x"]', "JSON list"),
    ],
)
def test_an_unreadable_series_is_named(tmp_path: Path, text: str, labels: str, what: str) -> None:
    (tmp_path / "s.csv").write_text(text)
    (tmp_path / "w.json").write_text(labels)
    with pytest.raises(series.SeriesError, match=what):
        series.check(tmp_path / "s.csv", tmp_path / "w.json")
