"""The five-tuples of one pair against each other."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from localizer.detectors import pair_contrasts
from localizer.fabric.incidence.factored import FactoredIncidence

PAIRS, PORTS, SPINES = 60, 4, 4
PAIR = np.repeat(np.arange(PAIRS), PORTS)
VALID = np.ones(len(PAIR), bool)
HEALTHY = 0.005
SPINE = np.random.default_rng(1).integers(0, SPINES, len(PAIR))
KNOWN = np.random.default_rng(2).random(len(PAIR)) < 0.25
#: Columns: the spines, of most paths each a quarter; then one ToR of each ten pairs.
CROSSED = np.hstack([
    np.where(KNOWN[:, None], SPINE[:, None] == np.arange(SPINES), 1 / SPINES),
    (PAIR // 10)[:, None] == np.arange(PAIRS // 10),
])  # fmt: skip
INCIDENCE = FactoredIncidence.unfactored(sparse.csr_array(CROSSED))


def p_values(slow: np.ndarray, valid: np.ndarray = VALID) -> np.ndarray:
    return pair_contrasts.excess_p_values(INCIDENCE, PAIR, valid, slow & valid, HEALTHY)


def test_a_spine_stands_out_by_its_known_paths_among_as_many_unknown_ones() -> None:
    back = np.random.default_rng(3).integers(0, SPINES, len(PAIR))
    p = p_values((SPINE == 2) | (back == 2))
    assert p[2] < 1e-4
    assert p[[0, 1, 3]].min() > 1e-3


def test_pairs_that_are_slow_as_a_whole_make_no_spine_stand_out() -> None:
    slow = np.random.default_rng(4).random(PAIRS)[PAIR] < 0.4
    assert p_values(slow).min() > 1e-2


def test_a_component_of_all_paths_of_its_pairs_is_not_compared() -> None:
    assert (p_values(PAIR < 10)[SPINES:] == 1.0).all()


def test_nothing_slow_or_little_is_no_evidence() -> None:
    assert (p_values(np.zeros(len(PAIR), bool)) == 1.0).all()
    assert (p_values(np.arange(len(PAIR)) < 2) == 1.0).all()


def test_paths_that_were_not_measured_do_not_count() -> None:
    slow = KNOWN & (SPINE == 1)
    valid = ~(slow & (np.cumsum(slow) > 5))
    assert p_values(slow, valid)[1] > 1e3 * p_values(slow)[1]


@pytest.mark.parametrize("level", [1e-2, 1e-4, 1e-8])
def test_to_ask_for_a_level_changes_no_p_value_below_it(level: float) -> None:
    rng, below = np.random.default_rng(5), 0
    for _ in range(40):
        slow = rng.random(len(PAIR)) < np.where(SPINE == 1, 0.6 * rng.random(), 0.02)
        full, quick = (
            pair_contrasts.excess_p_values(INCIDENCE, PAIR, VALID, slow, HEALTHY, level=each)
            for each in (1.0, level)
        )
        assert (quick[full < level] == full[full < level]).all()
        below += int((full < level).sum())
    assert below


@pytest.mark.parametrize("together", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("share", [0.02, 0.3])
def test_where_chance_decides_small_p_values_are_as_rare_as_they_say(
    share: float, together: float
) -> None:
    """However often the five-tuples of a pair are slow together."""
    rng = np.random.default_rng(5)
    found = []
    for _ in range(400):
        alone, shared = rng.random(len(PAIR)), rng.random(PAIRS)[PAIR]
        slow = np.where(rng.random(PAIRS)[PAIR] < together, shared, alone) < share
        found += p_values(slow)[:SPINES].tolist()
    for level in (0.1, 0.01, 0.001):
        assert np.mean(np.array(found) < level) <= 1.5 * level + 2 / len(found)
