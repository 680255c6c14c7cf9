"""Tens of bad links, bad from the first second, probed once a second and pair."""

from __future__ import annotations

import pytest

from evaluation.scorecard.trials import curve


@pytest.mark.slow
def test_tens_of_bad_links_are_named_as_links_within_two_minutes() -> None:
    """26 of 256 links of a fat-tree lose 0.1-100 %, and a third of the routes is unknown: what the
    other bad links lose must not pass for the loss of a healthy fabric."""
    (row,) = curve.run("sparse-probes", 1000, [curve.PIPELINE])
    after = {point.at_s: point for point in row.points}
    assert after[120].precision == 1.0
    assert after[120].recall >= 0.8
    assert after[60].recall >= 0.6
