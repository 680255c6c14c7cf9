"""Labelled traffic: what is sent is received, and the truth has the layout's shape."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.training.cases import IMPAIRMENTS, training
from testbed.training.positions import Shape, positions
from testbed.training.rhythm import Rhythm
from testbed.training.traffic import Disturbance, Rates, traffic


@given(st.sampled_from([1, 2, 4]), st.sampled_from([1, 2]), st.sampled_from([2, 4, 8]))
def test_every_position_has_one_rnic_per_replica(pp: int, per_host: int, dp: int) -> None:
    if pp % per_host:
        return
    shape = Shape(dp * pp // per_host, 8, pp, per_host)
    made = positions(shape)
    assert shape.tp * shape.pp * shape.dp == shape.hosts * 8
    assert (np.bincount(made.position.ravel()) == shape.dp).all()
    assert (made.pairs[:, 0] // 8 != made.pairs[:, 1] // 8).all()


@pytest.mark.parametrize("collective", ["ring", "tree"])
def test_what_is_sent_is_received(collective: str) -> None:
    shape = Shape(16, 8, 4, collective=collective, wraps=True)  # type: ignore[arg-type]
    made = traffic(positions(shape), Rhythm(), Rates(background=0.0), Disturbance(slow=1), 120,
                   np.random.default_rng(1))  # fmt: skip
    assert made.tx.sum() == pytest.approx(made.rx.sum(), rel=1e-3)


def test_later_stages_burst_later() -> None:
    made = traffic(positions(Shape(8, 8, 2)), Rhythm(jitter=0.0, shift_s=2.0),
                   Rates(noise=0.0, background=0.0), Disturbance(), 200,
                   np.random.default_rng(1))  # fmt: skip
    first, later = (made.tx[row] > 0.6 * made.tx.max() for row in (0, 63))
    assert (first[:-2] == later[2:]).mean() > 0.95


@pytest.mark.parametrize("impairment", IMPAIRMENTS)
def test_a_case_is_the_same_for_the_same_seed(impairment: str) -> None:
    one, other = (training(64, moe=True, impairment=impairment, seed=3, duration_s=60)
                  for _ in range(2))  # fmt: skip
    assert np.array_equal(one.tx, other.tx, equal_nan=True)
    assert np.array_equal(one.pairs, other.pairs)
