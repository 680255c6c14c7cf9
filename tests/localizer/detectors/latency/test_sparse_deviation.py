"""Answers of sparse paths against what is usual for them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from localizer.baselines.sparse_latency import Reference
from localizer.detectors.latency.deviation import LatencyDeviation
from localizer.detectors.latency.sparse_deviation import with_persistent, with_sparse

Compare = Callable[..., LatencyDeviation]
PATHS = 60
END_S = 1000
LAYER = np.zeros(PATHS, np.int8)
SPARSE = np.arange(20, PATHS)
USUAL = np.linspace(10, 40, len(SPARSE))


def dense() -> LatencyDeviation:
    """Twenty paths with windows, the first of them slow."""
    valid = np.arange(PATHS) < 20
    return LatencyDeviation(
        valid, np.where(np.arange(PATHS) == 0, 30.0, 0.0), np.ones(PATHS), np.arange(PATHS) == 0,
        np.full(PATHS, np.nan, np.float32),
    )  # fmt: skip


def merged(
    added_us: np.ndarray, ages_s: tuple[int, ...] = (5, 35), compare: Compare = with_sparse
) -> LatencyDeviation:
    """Answers of these ages, later than usual by so much (n, ages) or (n, 1) [us]."""
    rng = np.random.default_rng(1)
    shape = (len(SPARSE), len(ages_s))
    rtt = USUAL[:, None] + added_us + rng.normal(0, 0.3, shape)
    second = np.broadcast_to(END_S - np.array(ages_s), shape)
    spread = np.full(len(SPARSE), 0.3)
    return compare(
        dense(), END_S, SPARSE, np.full(len(SPARSE), 40.0), (rtt.astype(np.float32), second),
        Reference(USUAL, spread), LAYER,
    )  # fmt: skip


def added(*slow: float) -> np.ndarray:
    """Ten paths are later by so much in their answers, newest first."""
    out = np.zeros((len(SPARSE), 2))
    out[:10] = slow
    return out


def test_paths_whose_answers_are_slow_are_flagged_and_no_others() -> None:
    found = merged(added(12, 12))
    assert np.flatnonzero(found.flagged).tolist() == [0, *range(20, 30)]
    assert found.valid.all()
    assert found.excess_us[20:30] == pytest.approx(12, abs=1)


def test_paths_with_windows_keep_their_deviation() -> None:
    found, before = merged(added(12, 12)), dense()
    assert (found.excess_us[:20] == before.excess_us[:20]).all()
    assert (found.noise_us[:20] == before.noise_us[:20]).all()
    assert before.flagged.sum() == 1, "what was given is not changed"


def test_the_value_of_two_answers_is_their_mean() -> None:
    found = merged(added(20, 0))
    assert found.excess_us[20:30] == pytest.approx(10, abs=1)


def test_answers_that_are_older_than_the_evidence_do_not_count() -> None:
    found = merged(added(0, 50), ages_s=(5, 41))
    assert not found.flagged[20:].any()
    gone = merged(added(50, 50), ages_s=(41, 81))
    assert gone.valid.sum() == 20


def test_a_path_without_a_reference_is_not_judged() -> None:
    reference = Reference(np.full(len(SPARSE), np.nan), np.zeros(len(SPARSE)))
    rtt = np.full((len(SPARSE), 1), 99.0, np.float32)
    found = with_sparse(
        dense(), END_S, SPARSE, np.full(len(SPARSE), 40.0), (rtt, np.full(rtt.shape, END_S - 1)),
        reference, LAYER,
    )  # fmt: skip
    assert not found.valid[20:].any()
    assert np.isfinite(found.excess_us).all()
    assert found.sparse is not None
    assert len(found.sparse.answers.row) == 0


def test_the_spread_of_all_sparse_paths_is_noise_of_each() -> None:
    rng = np.random.default_rng(2)
    restless = merged(rng.normal(0, 5, (len(SPARSE), 2)))
    assert restless.noise_us[20:].min() > 2
    assert not restless.flagged[20:].any()


def test_a_path_is_persistently_slow_if_all_of_its_answers_are() -> None:
    mixed = added(12, 12)
    mixed[5:10] = (12, 0)
    found = merged(mixed, compare=with_persistent)
    assert np.flatnonzero(found.flagged).tolist() == [0, *range(20, 25)]
    assert found.valid.all()
    assert found.sparse is not None
    answers = found.sparse.answers
    assert {*answers.row[answers.slow].tolist()} == {*range(20, 25)}


def test_persistence_takes_two_answers_of_evidence_that_is_twice_as_long() -> None:
    older = merged(added(12, 12), ages_s=(5, 75), compare=with_persistent)
    assert older.flagged[20:30].all()
    one = merged(added(12, 12), ages_s=(5, 85), compare=with_persistent)
    assert not one.valid[20:].any()


ANSWER = st.one_of(st.just(0.0), st.floats(1, 1e4, width=32))


@given(arrays.arrays(np.float32, st.tuples(st.integers(1, 9), st.just(4)), elements=ANSWER),
       st.integers(0, 80))  # fmt: skip
def test_excess_is_the_mean_of_the_quartiles_of_the_answers_that_count_less_what_is_usual(
    rtt_us: np.ndarray, oldest_s: int
) -> None:
    paths = len(rtt_us)
    ages_s = np.array([1, 21, 41, 61]) + 7 * np.arange(paths)[:, None]
    none = np.zeros(paths)
    nothing = LatencyDeviation(none > 0, none, none + 1, none > 0, none.astype(np.float32))
    found = with_sparse(
        nothing, END_S, np.arange(paths), np.full(paths, float(oldest_s)),
        (rtt_us, END_S - ages_s), Reference(none + 10, none + 1), np.zeros(paths, np.int8),
    )  # fmt: skip
    assert found.sparse is not None
    listed = found.sparse.answers
    for path in range(paths):
        counted = (rtt_us[path] > 0) & (ages_s[path] <= oldest_s)
        values = rtt_us[path, counted].astype(float)
        quartiles = np.quantile(values, [0.25, 0.5, 0.75]) if len(values) else np.array([10.0])
        assert found.valid[path] == counted.any()
        assert np.isclose(found.excess_us[path], quartiles.mean() - 10, rtol=1e-12, atol=1e-9)
        assert (
            listed.second[listed.row == path].tolist() == (END_S - ages_s[path, counted]).tolist()
        )
