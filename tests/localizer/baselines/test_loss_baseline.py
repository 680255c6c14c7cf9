"""The loss baseline: the healthy rate, its floor, its memory, and its dispersion."""

from __future__ import annotations

import numpy as np
import pytest

from localizer.baselines.loss import DEFAULT, LossBaseline

F = np.array


def learnt(rate: float, *, seconds: int = 3000, clump: int = 1, seed: int = 7) -> LossBaseline:
    """Panes of 50 components with 2,000 probes each; losses come ``clump`` at a time."""
    rng = np.random.default_rng(seed)
    baseline = LossBaseline()
    each = np.full(50, 2000.0)
    for _ in range(seconds):
        lost = clump * rng.binomial(2000, rate / clump, 50).astype(float)
        baseline.learn(each.sum(), lost.sum(), each, lost)
    return baseline


def test_the_baseline_learns_the_loss_of_healthy_panes() -> None:
    assert learnt(0.003).rate == pytest.approx(0.003, rel=0.05)


def test_the_baseline_is_never_below_the_least_rate() -> None:
    assert LossBaseline().rate == DEFAULT.least_rate
    assert learnt(0.0).rate == DEFAULT.least_rate


def test_old_losses_fade_from_the_baseline() -> None:
    baseline = learnt(0.01)
    for _ in range(6000):
        baseline.learn(1e5, 100.0, F([1e5]), F([100.0]))
    assert baseline.rate == pytest.approx(0.001, rel=0.05)


def test_the_dispersion_grows_where_losses_come_in_clumps() -> None:
    assert learnt(0.003).dispersion == pytest.approx(1.0, abs=0.3)
    assert learnt(0.003, clump=4).dispersion == pytest.approx(4.0, rel=0.3)


def test_one_wild_pane_hardly_moves_the_dispersion() -> None:
    baseline = learnt(0.001)
    baseline.learn(1e5, 5e4, F([2000.0]), F([2000.0]))
    assert baseline.dispersion < 3
