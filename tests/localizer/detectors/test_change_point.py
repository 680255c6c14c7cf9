"""When something changed: the likeliest single change of a level."""

from __future__ import annotations

import numpy as np
import pytest

from localizer.detectors.change_point import change_of_level


@pytest.mark.parametrize("onset", [1, 7, 25, 31])
def test_the_onset_of_a_step_is_where_the_level_changes(onset: int) -> None:
    rng = np.random.default_rng(onset)
    level = rng.normal(0, 0.05, 32) + 0.5 * (np.arange(32) >= onset)
    assert change_of_level(level, np.ones(32)) == onset


def test_seconds_without_an_answer_say_nothing_about_the_onset() -> None:
    level = np.where(np.arange(32) >= 20, 0.5, 0.0)
    heard = np.ones(32)
    heard[[5, 21, 22]] = 0.0
    level[[5, 21, 22]] = np.nan
    assert change_of_level(level, heard) == 20
