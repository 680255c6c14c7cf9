"""Tens of culprits at once are named only if each has evidence of its own."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from localizer.evidence import Attribution
from localizer.verdicts.attribute import Unclaimed
from localizer.verdicts.parameters import ReachabilityParameters
from localizer.verdicts.rules.loss_policy import LossPolicy

PARAMETERS = ReachabilityParameters()
MANY = PARAMETERS.few_culprits + 1


def settled(culprits: int, bad_paths: int, losses: int, window_s: int = 30) -> bool:
    """Whether so many culprits may be named, of so many bad paths and lost probes in all."""
    state = SimpleNamespace(
        options=SimpleNamespace(verdicts=SimpleNamespace(reachability=PARAMETERS))
    )
    bad = np.arange(1000) < bad_paths
    alarm = SimpleNamespace(
        evidence=SimpleNamespace(bad=bad), lost=np.array([losses]), window_s=window_s
    )
    policy = LossPolicy(
        cast("Any", state),
        0,
        cast("Any", alarm),
        1e-9,
        1e-9,
        cast("Any", None),
        Unclaimed.of(bad),
        None,
    )
    return policy.settled([Attribution(column, 0.5, 1e-9) for column in range(culprits)])


def test_a_few_culprits_are_named_at_once() -> None:
    assert settled(PARAMETERS.few_culprits, bad_paths=1, losses=1)


@pytest.mark.parametrize(
    ("bad_paths", "losses"),
    [(8 * MANY - 1, 128 * MANY), (8 * MANY, 128 * MANY - 1)],
    ids=["too few bad paths", "too few losses"],
)
def test_many_culprits_wait_for_paths_and_losses_of_their_own(bad_paths: int, losses: int) -> None:
    assert not settled(MANY, bad_paths, losses)
    assert settled(MANY, bad_paths, losses, window_s=PARAMETERS.settled_s)


def test_many_culprits_with_enough_evidence_each_are_named() -> None:
    assert settled(MANY, bad_paths=8 * MANY, losses=128 * MANY)
