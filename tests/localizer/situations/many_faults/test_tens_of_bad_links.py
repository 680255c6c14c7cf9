"""Tens of bad links, bad from the first second, probed once a second and pair."""

from __future__ import annotations

import pytest

from evaluation.scorecard.trials import curve


@pytest.mark.slow
def test_tens_of_bad_links_are_named_as_links_within_two_minutes() -> None:
    """26 of 256 links of a fat-tree lose 0.1-100 %, and a third of the routes is unknown: what the
    other bad links lose must not pass for the loss of a healthy fabric, nor what the first seconds
    lost."""
    (row,) = curve.run("sparse-probes", 1000, [curve.PIPELINE])
    after = {point.at_s: point for point in row.points}
    assert after[120].precision == 1.0
    assert after[120].recall >= 0.8
    assert after[60].recall >= 0.6
    assert after[30].precision == 1.0
    assert after[30].recall >= 0.5


@pytest.mark.slow
def test_the_first_round_of_bursts_names_no_switch_for_the_links_that_it_has_met_so_far() -> None:
    """In the first seconds of bursts each 30 s, four or five switches and rnics explain what a few
    of 26 bad links have lost."""
    (row,) = curve.run("sparse-bursts", 301, [curve.PIPELINE], times_s=(15, 30, 60))
    assert [point.precision for point in row.points] == [1.0, 1.0, 1.0]
    assert row.points[-1].recall >= 0.8
