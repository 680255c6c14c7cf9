"""What candidates that were not chosen are expected to do, and what the healthy loss is without."""

from __future__ import annotations

import numpy as np
import pytest

from localizer.strategies.hypothesis.candidates import Entries
from localizer.strategies.hypothesis.strategy import hypothesis
from localizer.strategies.hypothesis.suspects import expected_damage, worst
from testbed.scenarios import published

DAMAGE = np.array([0.01, 0.1])
STEPS = 5


def expected(nats: list[list[float]], column: list[int], chosen: list[int]) -> list[float]:
    """Damage expected of each candidate."""
    taken = np.isin(column, chosen)
    out = expected_damage(np.array(nats), DAMAGE, np.array(column), taken, STEPS)
    return [float(value) for value in out]


def test_a_class_that_is_bad_for_sure_does_the_damage_of_its_size() -> None:
    quiet = [[-1.0, -9.0]] * 20
    first, *others = expected([[-50.0, 900.0], *quiet], list(range(21)), [])
    assert first == pytest.approx(0.1, rel=1e-6)
    assert max(others) < 1e-3


def test_nothing_more_is_expected_of_a_class_that_has_a_culprit() -> None:
    assert expected([[9.0, 9.0], [9.0, 9.0], [0.0, 0.0]], [4, 4, 7], [4])[:2] == [0.0, 0.0]
    assert expected([[9.0, 9.0]], [4], [4]) == [0.0]


def test_the_candidates_of_a_class_share_its_probability() -> None:
    both, along = expected([[-50.0, 40.0], [-50.0, 40.0]], [4, 4], [])
    assert both == along == pytest.approx(0.05, rel=1e-6)


def test_a_doubtful_class_is_likelier_bad_where_many_are_bad() -> None:
    doubtful, quiet = [3.0, -9.0], [[-2.0, -9.0]]
    alone = expected([doubtful, *quiet * 30], list(range(31)), [])[0]
    among = expected([doubtful] * 10 + quiet * 21, list(range(31)), [])[0]
    assert among > 3 * alone


def test_of_the_suspects_on_a_path_the_worst_counts() -> None:
    entries = Entries(
        row=np.array([0, 0, 2]), which=np.array([0, 1, 1]),
        once=np.array([1.0, 0.5, 0.0]), twice=np.array([0.0, 0.0, 1.0]),
    )  # fmt: skip
    assert worst(entries, np.array([0.1, 0.3]), 4).tolist() == pytest.approx([0.15, 0, 0.6, 0])
    nothing = np.array([], np.int64)
    none = Entries(nothing, nothing, np.array([]), np.array([]))
    assert worst(none, np.array([0.1]), 2).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("seed", [402, 411])
def test_small_faults_do_not_hide_one_another_in_the_healthy_loss(seed: int) -> None:
    # Counted as healthy, what the smallest faults lose trebles the healthy loss of these draws.
    drawn = published.trial("vote007", seed)
    assert published.score(drawn, hypothesis(drawn.evidence))[2] > 0.9
