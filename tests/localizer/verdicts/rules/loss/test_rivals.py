"""A lossy switch is not named as the link that chance favours, nor a lossy link as its switch."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from localizer.baselines.pane_history import PaneHistory
from localizer.evidence import Attribution
from localizer.fabric.incidence.factored import FactoredIncidence
from localizer.fabric.observability import Classes
from localizer.verdicts.parameters import ReachabilityParameters
from localizer.verdicts.rules.loss.extent import earliest_s, lasting_s
from localizer.verdicts.rules.loss.rivals import may_replace

SPINE, LINK, OTHER_LINK = 0, 1, 2
HEALTHY = 1e-4
FIRST_S = 1_000_200


def fabric() -> Classes:
    """Four paths over a spine: one by each of two links both ways, one by both, one by neither."""
    shares = np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 1.0], [1.0, 0.5, 0.5], [1.0, 0.0, 0.0]])
    members = [["spine:s"], ["link:spine:s|tor:a"], ["link:spine:s|tor:b"]]
    factored = FactoredIncidence.unfactored(sparse.csr_array(shares))
    return Classes(members, np.array([False, True, True]), np.zeros(3, bool), factored)


@pytest.mark.parametrize(
    ("refuted", "classes", "instead", "may"),
    [
        pytest.param(LINK, {LINK: 0.97, OTHER_LINK: 0.03}, OTHER_LINK, False, id="the next best"),
        pytest.param(LINK, {LINK: 0.5, OTHER_LINK: 0.5}, OTHER_LINK, True, id="as likely"),
        pytest.param(LINK, {LINK: 1.0}, SPINE, True, id="the switch at its end"),
        pytest.param(SPINE, {SPINE: 1.0}, OTHER_LINK, True, id="a link of the switch"),
        pytest.param(LINK, None, OTHER_LINK, False, id="nothing is weighed"),
    ],
)
def test_without_a_refuted_class_only_what_outdid_it_or_is_as_likely_stands(
    refuted: int, classes: dict[int, float] | None, instead: int, may: bool
) -> None:
    inside = {SPINE: np.array([LINK, OTHER_LINK])}
    comparison: Any = SimpleNamespace(
        alarm=SimpleNamespace(groups=fabric()),
        containment=SimpleNamespace(inside=lambda column: inside.get(column, np.empty(0, int))),
    )
    out = Attribution(refuted, 0.05, 1e-9, classes=classes)
    assert may_replace(comparison, Attribution(instead, 0.05, 1e-9), [out]) is may


def state_of(lossy: set[int], sent: int = 1, most: int = 1) -> Any:
    """A path that was probed so often in each of 25 seconds, and lost a probe in some of them; from
    second 20 on it loses ``most``."""
    history = PaneHistory(30)
    history.grow(1)
    row, none = np.arange(1), np.zeros(1, np.uint32)
    for second in range(25):
        lost = (second in lossy) * (most if second >= 20 else 1)
        history.put(
            FIRST_S + second, row, np.full(1, 20.0, np.float32),
            sent=none + np.uint32(sent), lost=none + np.uint32(lost), refused=none,
        )  # fmt: skip
    verdicts = SimpleNamespace(reachability=ReachabilityParameters())
    return SimpleNamespace(
        history=history, options=SimpleNamespace(verdicts=verdicts),
        background=SimpleNamespace(rate=HEALTHY),
    )  # fmt: skip


def lasting(lossy: set[int]) -> int:
    """What ``lasting_s`` says of a path that lost in these of 25 seconds."""
    return lasting_s(state_of(lossy), FIRST_S + 24, np.arange(1))


@pytest.mark.parametrize(("first", "seconds"), [(20, 5), (4, 21), (24, 1)])
def test_trouble_lasts_since_its_first_loss(first: int, seconds: int) -> None:
    assert lasting({*range(first, 25)}) == seconds


def test_trouble_that_loses_now_and_then_lasts_since_its_first_loss() -> None:
    assert lasting({4, 12, 20, 24}) == 21


def test_trouble_that_was_over_for_a_while_does_not_count() -> None:
    assert lasting({*range(5), 22, 23, 24}) == 3


def test_trouble_that_loses_far_more_than_before_is_new() -> None:
    """A few of its paths shared an earlier trouble."""
    found = lasting_s(state_of(set(range(25)), 8, most=8), FIRST_S + 24, np.arange(1))
    assert found == 5


@pytest.mark.parametrize(
    ("effect", "sent", "earliest"),
    [
        (0.3, 1, 20 - 19),  # each answer of 20 s makes a loss of 30 % less likely by 0.36 nat
        (0.3, 10, 20 - 1),  # ten a second deny any earlier second
        (0.9, 1, 20 - 3),
        (1.0, 1, 20),  # one answer denies that all is lost
    ],
)
def test_trouble_may_have_begun_as_early_as_its_probes_do_not_deny(
    effect: float, sent: int, earliest: int
) -> None:
    state = state_of({20, 22, 24}, sent)
    found = earliest_s(state, FIRST_S + 24, np.arange(1), FIRST_S + 20, effect)
    assert found == FIRST_S + earliest


def test_without_probes_before_it_trouble_begins_with_its_first_loss() -> None:
    none = np.empty(0, np.int64)
    state = state_of({20, 22, 24})
    assert earliest_s(state, FIRST_S + 24, none, FIRST_S + 20, 0.3) == FIRST_S + 20
    assert earliest_s(state, FIRST_S + 24, np.arange(1), FIRST_S - 20, 0.3) == FIRST_S - 20
