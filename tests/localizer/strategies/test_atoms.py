"""Atoms by the compiled helper are those by whole arrays; what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
from builders.schemas.compiled_helper import compiled, in_python
from hypothesis import given, settings
from hypothesis import strategies as st

from localizer.evidence import F64
from localizer.strategies.hypothesis.atoms import NEVER, Atoms, Crossing
from localizer.strategies.hypothesis.latency import LatencyLikelihood
from localizer.strategies.hypothesis.likelihood import Likelihood
from localizer.strategies.hypothesis.loss import LossLikelihood
from localizer.strategies.hypothesis.parameters import DEFAULT

PATHS, MOST = 30, 12


def likelihood(kind: str, rng: np.random.Generator) -> Likelihood:
    if kind == "loss":
        lost = rng.integers(1, 40, PATHS).astype(float)
        return LossLikelihood(rng.integers(0, 200, PATHS).astype(float), lost, 1e-4)
    noise = rng.uniform(0.5, 5.0, PATHS)
    return LatencyLikelihood(rng.normal(0.0, 40.0, PATHS), noise, DEFAULT.latency)


def crossing(rng: np.random.Generator) -> Crossing:
    """Some paths cross it for sure, others perhaps, of which some not twice."""
    paths = rng.permutation(PATHS)
    sure, maybe = np.sort(paths[:6]), np.sort(paths[6 : rng.integers(6, PATHS)])
    chances = rng.dirichlet([2.0, 1.0, 1.0], len(maybe))
    chances[: len(maybe) // 3, 2] = 0.0
    logs = np.full(chances.shape, NEVER)
    np.log(chances, out=logs, where=chances > 0)
    return Crossing(sure, rng.integers(1, 3, 6).astype(float), maybe, logs)


def culprits(kind: str, rng: np.random.Generator, count: int) -> list[tuple[Crossing, float]]:
    most = 2.0 if kind == "loss" else 30.0
    return [(crossing(rng), float(rng.uniform(0.01, most))) for _ in range(count)]


def results(kind: str, seed: int, count: int) -> list[F64]:
    """What is computed with atoms that were rebuilt, split once more, and rebuilt in part."""
    rng = np.random.default_rng(seed)
    atoms = Atoms(PATHS, MOST, likelihood(kind, rng))
    bad = culprits(kind, rng, count)
    every, some = np.arange(PATHS), np.arange(0, PATHS, 3)
    atoms.rebuild(every, bad)
    atoms.split(*culprits(kind, rng, 1)[0])
    atoms.rebuild(some, bad[1:])
    rows = np.sort(rng.integers(0, PATHS, 50))
    once = rng.choice([0.0, 0.3, 1.0], 50)
    twice = np.where(once > 0.5, 0.0, rng.choice([0.0, 0.4, 1.0], 50) * (1 - once))
    crossed = np.array([1e-4, 0.2, 3.0]) * (1.0 if kind == "loss" else 20.0)
    weight, damage = atoms.live(every)
    return [
        atoms.likely(every, np.array([0.0, 0.5, 7.0])),
        atoms.likely(some[::-1], np.zeros(1)),
        atoms.gain(rows, once, twice, crossed, np.array([1.0, 0.4, 1.0])),
        np.sort(np.where(weight > NEVER / 2, damage, -1.0), axis=1),
    ]


@given(st.sampled_from(["loss", "latency"]), st.integers(0, 2**32), st.integers(0, 6))
@settings(deadline=None, max_examples=60)
def test_the_helper_gives_what_whole_arrays_give(kind: str, seed: int, count: int) -> None:
    compiled()
    found = results(kind, seed, count)
    with in_python():
        expected = results(kind, seed, count)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


def test_a_path_without_a_culprit_has_the_likelihood_of_a_healthy_one() -> None:
    rng = np.random.default_rng(3)
    model = likelihood("loss", rng)
    every, damage = np.arange(PATHS), np.array([0.3])
    found = Atoms(PATHS, MOST, model).likely(every, damage)
    np.testing.assert_allclose(found, model.log_f(every, np.full((PATHS, 1), 0.3)), rtol=1e-9)


@pytest.mark.parametrize("row", [-1, 2])
def test_a_row_out_of_range_is_refused(row: int) -> None:
    helper = compiled()
    two = (0, np.ones(2), np.ones(2), 0.0, 0.0, 0.0)
    weight, rows, one = np.zeros((2, 3)), np.array([row]), np.ones(1)
    with pytest.raises(ValueError, match="out of range"):
        helper.split_atoms(two, weight, weight.copy(), rows, np.zeros((1, 3)), one)
    with pytest.raises(ValueError, match="out of range"):
        helper.mix_atoms(two, weight, weight, rows, one, np.empty((1, 1)))
    with pytest.raises(ValueError, match="out of range"):
        helper.atoms_gain(two, weight, weight, (rows, one, one), one, one, np.empty((1, 1)))


def test_what_does_not_fit_together_is_refused() -> None:
    helper = compiled()
    two = (0, np.ones(2), np.ones(2), 0.0, 0.0, 0.0)
    rows, one = np.zeros(1, np.int64), np.ones(1)
    with pytest.raises(ValueError, match="no kind"):
        helper.mix_atoms((2, *two[1:]), np.zeros(2), np.zeros(2), rows, one, np.empty(1))
    with pytest.raises(ValueError, match="atoms"):
        helper.mix_atoms(two, np.zeros(3), np.zeros(3), rows, one, np.empty(1))
    with pytest.raises(ValueError, match="atoms"):
        helper.mix_atoms(two, np.zeros((2, 65)), np.zeros((2, 65)), rows, one, np.empty(1))
    with pytest.raises(ValueError, match="in the place of"):
        helper.mix_atoms(two, np.zeros(2), np.zeros(2), rows, one, np.empty(2))
