"""Which hosts bear witness for a link that loses, by how its paths cross it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Literal, cast

import numpy as np
import pytest
from scipy import sparse

from localizer.evidence import Attribution
from localizer.verdicts.rules.loss.witnesses import Witnesses

OVER_ONE = np.nextafter(1.0, 2.0)  # as sums of ECMP shares may come out
#: One path of each of five hosts: over the link by the request, by the reply, by both for sure,
#: perhaps, and not at all.
FORWARD = np.array([OVER_ONE, 0.0, 1.0, 0.25, 0.0])
REVERSE = np.array([0.0, 1.0, OVER_ONE, 0.0, 0.0])


def witnesses(
    direction: Literal["a>b", "b>a", "both"], *, lost: int = 0, directed: bool = True
) -> Witnesses:
    """Of an attribution with a loss of a third, of 20 probes a path."""
    state = SimpleNamespace(
        src=np.arange(5, dtype=np.int32),
        history=SimpleNamespace(seconds=30),
        probed=lambda _at, _length: np.ones(5, bool),
        options=SimpleNamespace(observers=3),
    )
    shares = [sparse.csr_array(each[:, None]) for each in (FORWARD, REVERSE)]
    alarm = SimpleNamespace(
        groups=SimpleNamespace(
            rows=lambda rows, _columns: [each[rows] for each in shares], directed=[directed]
        ),
        sent=np.full(5, 20), lost=np.full(5, lost), window_s=5,
    )  # fmt: skip
    found = Attribution(0, 1 / 3, 1e-9, direction=direction)
    return Witnesses.of(cast("Any", state), 0, cast("Any", alarm), found, np.ones(5, bool))


@pytest.mark.parametrize(
    ("direction", "crossing", "hosts"),
    [
        ("a>b", [1.0, 0.0, 1.0, 0.25, 0.0], 2),
        ("b>a", [0.0, 1.0, 1.0, 0.0, 0.0], 2),
        ("both", [1.0, 1.0, 1.0, 0.25, 0.0], 3),
    ],
)
def test_only_paths_that_cross_a_link_where_it_is_bad_bear_witness(
    direction: Literal["a>b", "b>a", "both"], crossing: list[float], hosts: int
) -> None:
    found = witnesses(direction)
    assert found.crossing.tolist() == crossing
    assert found.hosts == hosts


def test_a_switch_is_crossed_by_either_direction_whatever_the_strategy_says() -> None:
    assert witnesses("a>b", directed=False).crossing.tolist() == [1.0, 1.0, 1.0, 0.25, 0.0]


def test_an_unknown_route_that_answers_is_hardly_a_witness_and_a_known_one_is() -> None:
    assert witnesses("a>b").probing[[0, 3]].tolist() == [1.0, pytest.approx(0.0, abs=1e-3)]
    assert witnesses("a>b", lost=5).probing[3] == 0.25
