"""Scoring of skeletons: partitions, missed pairs, the rail list of a declined job."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

from evaluation.skeleton import table, trials
from evaluation.skeleton.trials import Trial, adjusted_rand


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=40))
def test_the_adjusted_rand_index_is_that_of_scikit_learn(pairs: list[tuple[int, int]]) -> None:
    one, other = np.array(pairs).T
    assert adjusted_rand(one, other) == pytest.approx(adjusted_rand_score(one, other))


def test_a_trial_of_a_clear_layout_misses_no_pair() -> None:
    found = trials.trial(64, "dense", "none", 321)
    assert (found.declined, found.rand, found.missed) == (False, 1.0, 0)
    assert found.targets >= found.true_targets > 0


def test_every_goal_counts() -> None:
    good = Trial("dense", "none", 64, 1, False, rand=1.0)
    quiet = Trial("quiet", "idle", 128, 1, True)
    assert table.met([good, quiet])
    assert not table.met([good._replace(rand=0.5), quiet])
    assert not table.met([good._replace(missed=1), quiet])
    assert not table.met([good, quiet._replace(declined=False)])
