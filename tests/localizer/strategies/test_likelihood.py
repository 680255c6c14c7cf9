"""The likelihood that ``hypothesis`` searches, against sums over all that a route may be."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import sparse

from localizer.evidence import Evidence, Matrices
from localizer.strategies.hypothesis.candidates import BOTH, candidates
from localizer.strategies.hypothesis.loss import LossRows
from localizer.strategies.hypothesis.rows import Culprit

PATHS, CLASSES, SENT = 20, 7, 20
CULPRITS = [Culprit(0, 0.4), Culprit(3, 0.1), Culprit(5, 0.8, 0.5)]


def evidence(seed: int) -> Evidence:
    """Some crossings are sure, others are shares; the last class is a link."""
    rng = np.random.default_rng(seed)
    along, against = rng.choice([0.0, 0.0, 0.25, 0.5, 1.0], (2, PATHS, CLASSES))
    lost = rng.binomial(SENT, np.where(rng.random(PATHS) < 0.5, 0.3, 0.0))
    crossings = Matrices(
        sparse.csr_array((along + against) / 2), sparse.csr_array(along),
        sparse.csr_array(against), np.arange(CLASSES) == CLASSES - 1,
    )  # fmt: skip
    sent = np.full(PATHS, SENT)
    sent[::3] += 5
    return Evidence(
        crossings, sent, lost, np.zeros(PATHS), np.ones(PATHS), lost > 0,
        np.arange(PATHS, dtype=np.int32), np.zeros(PATHS, bool), 1e-3,
    )  # fmt: skip


def log_likelihood(given: Evidence, rows: LossRows, culprits: list[Culprit], path: int) -> float:
    """Over all ways in which the probe and the answer of a path may cross the culprits."""
    total = 0.0
    for times in product(range(3), repeat=len(culprits)):
        chance, survive = 1.0, 1.0 - rows.healthy_loss
        for culprit, crossed in zip(culprits, times, strict=True):
            column, mode = rows.choices.column[culprit.which], rows.choices.mode[culprit.which]
            a, b = (float(x[path, column]) * culprit.share for x in (given.forward, given.reverse))
            a, b = (a, b) if mode == BOTH else ((a, 0.0) if mode == 1 else (b, 0.0))
            chance *= ((1 - a) * (1 - b), a * (1 - b) + b * (1 - a), a * b)[crossed]
            survive *= (1 - culprit.size) ** crossed
        lost = int(given.lost[path])
        total += chance * survive ** (int(given.sent[path]) - lost) * (1 - survive) ** lost
    return float(np.log(total))


@pytest.mark.parametrize("seed", range(8))
def test_atoms_are_all_that_a_route_may_be_and_gains_are_differences(seed: int) -> None:
    given = evidence(seed)
    rows = LossRows(given, candidates(given))
    lossy = np.flatnonzero(given.lost > 0)
    every = np.arange(rows.paths)
    rows.rebuild(every, CULPRITS[:2])  # nine atoms at most: none is dropped
    likely = sum(log_likelihood(given, rows, CULPRITS[:2], path) for path in lossy.tolist())
    assert rows.total() == pytest.approx(likely)
    other = len(rows.choices) - 1  # the link, against its direction
    for which in (CLASSES - 2, other):
        more = Culprit(which, 0.3, 0.25)
        after = sum(
            log_likelihood(given, rows, [*CULPRITS[:2], more], path) for path in lossy.tolist()
        )
        sorts = rows.sorts(rows.of(which))
        gain = rows.gain(sorts, np.array([0.3]), np.array([0.25])).sum()
        assert gain == pytest.approx(after - likely)


@pytest.mark.parametrize("seed", range(8))
def test_a_path_on_known_and_unknown_routes_keeps_the_atoms_that_have_weight(seed: int) -> None:
    given = evidence(seed)
    rows = LossRows(given, candidates(given))
    rows.rebuild(np.arange(rows.paths), CULPRITS)
    dropped = (
        sum(  # of up to 27, 12 are kept: the likeliest, so little is lost
            log_likelihood(given, rows, CULPRITS, path)
            for path in np.flatnonzero(given.lost > 0).tolist()
        )
        - rows.total()
    )
    assert 0 <= dropped + 1e-9 < 0.5


@pytest.mark.parametrize("seed", range(8))
def test_clean_paths_are_counted_exactly(seed: int) -> None:
    given = evidence(seed)
    rows = LossRows(given, candidates(given))
    rows.healthy_loss = 0.0  # the likelihood of clean paths does not depend on it
    clean = np.flatnonzero(given.lost == 0).tolist()
    sizes, shares = np.array([0.0, 0.3, 0.9995, 0.5]), np.array([1.0, 1.0, 1.0, 0.25])
    got = rows.bulk(sizes, shares)
    for which in range(len(rows.choices)):
        want = [
            sum(log_likelihood(given, rows, [Culprit(which, size, share)], path) for path in clean)
            for size, share in zip(sizes.tolist(), shares.tolist(), strict=True)
        ]
        assert got[which] == pytest.approx(want)
        assert rows.bulk_of(which, sizes, shares) == pytest.approx(want)


def test_one_more_split_is_a_rebuild_and_loading_undoes_it() -> None:
    given = evidence(1)
    rows = LossRows(given, candidates(given))
    every = np.arange(rows.paths)
    rows.rebuild(every, CULPRITS)
    whole = rows.total()
    rows.rebuild(every, CULPRITS[:2])
    before, without = rows.atoms.saved(every), rows.total()
    rows.split(CULPRITS[2])
    assert rows.total() == pytest.approx(whole)
    rows.atoms.load(every, before)
    assert rows.total() == without != whole


def test_added_damage_is_likely_as_if_it_had_been_there() -> None:
    rows = LossRows(given := evidence(1), candidates(given))
    every, more = np.arange(rows.paths), np.array([0.0, 1e-6, 0.3, 7.0])
    damage = np.random.default_rng(2).random((rows.paths, 3))
    damage[0] = 0.0
    likely = rows.likelihood.log_more(every, damage, more)
    for at, added in enumerate(more):
        expected = rows.likelihood.log_f(every, damage + added)
        np.testing.assert_allclose(likely[:, :, at], expected, rtol=1e-9)
