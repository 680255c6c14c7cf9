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
from localizer.verdicts.rules.loss.rivals import (
    ends_of,
    links_inside,
    may_replace,
    nats_above_end,
    nats_above_links,
)

SPINE, LINK, OTHER_LINK = 0, 1, 2
HEALTHY = 1e-4
FIRST_S = 1_000_200


def fabric() -> Classes:
    """Four paths over a spine: one by each of two links both ways, one by both, one by neither."""
    shares = np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 1.0], [1.0, 0.5, 0.5], [1.0, 0.0, 0.0]])
    members = [["spine:s"], ["link:spine:s|tor:a"], ["link:spine:s|tor:b"]]
    factored = FactoredIncidence.unfactored(sparse.csr_array(shares))
    return Classes(members, np.array([False, True, True]), np.zeros(3, bool), factored)


def nats(sent: list[int], lost: list[int]) -> float:
    return nats_above_end(fabric(), LINK, SPINE, np.array(sent), np.array(lost), HEALTHY)


def test_ends_of_a_link_and_links_inside_a_switch() -> None:
    groups = fabric()
    assert ends_of(groups, LINK) == [SPINE]
    lost = np.array([1, 5, 0, 0])
    assert links_inside(groups, SPINE, np.array([LINK, OTHER_LINK]), lost, most=1) == [OTHER_LINK]


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


def test_losses_of_all_paths_are_the_switch() -> None:
    assert nats([20, 20, 20, 20], [8, 8, 8, 8]) < -20


def test_losses_of_the_paths_over_the_link_are_the_link() -> None:
    assert nats([20, 20, 20, 20], [10, 0, 5, 0]) > 10


def test_few_probes_elsewhere_leave_the_switch_possible() -> None:
    """As in the first seconds: the link loses, but hardly anything went round it yet."""
    assert 0 < nats([4, 1, 1, 1], [3, 0, 0, 0]) < 7


def test_probes_elsewhere_that_are_answered_deny_the_switch_step_by_step() -> None:
    by_count = [nats([4, n, n, n], [3, 0, 0, 0]) for n in (1, 3, 9)]
    assert by_count == sorted(by_count)
    assert by_count[-1] > 7


def test_a_lost_probe_elsewhere_counts_against_the_link() -> None:
    assert nats([8, 8, 8, 8], [4, 0, 2, 1]) < nats([8, 8, 8, 8], [4, 0, 2, 0]) - 5


def untraced_answers(spine: float, links: tuple[float, float]) -> float:
    """Nats of a spine above two of its four links, where they lose so much at each crossing, on
    paths whose requests are traced and whose answers come back over other bad links as well.

    Each answer takes the spine with a probability of a quarter, and 30 % of all answers are lost.
    """
    pairs = [(a, b) for a in range(4) for b in range(4) if a != b]
    forward = np.zeros((len(pairs) + 4, 5))
    lost = np.zeros(len(forward))
    for row, pair in enumerate(pairs):
        forward[row, [0, pair[0] + 1, pair[1] + 1]] = 1.0
        kept = np.prod([1 - links[each] for each in pair if each < 2])
        lost[row] = 1 - (1 - spine) * kept * 0.7
    lost[len(pairs) :] = 0.3  # their requests go elsewhere
    reverse = np.tile([0.25, *[0.125] * 4], (len(forward), 1))
    members = [["spine:s"], *([f"link:spine:s|tor:{each}"] for each in "abcd")]
    factored = FactoredIncidence.unfactored(sparse.csr_array(forward), sparse.csr_array(reverse))
    groups = Classes(members, np.array([False, *[True] * 4]), np.zeros(5, bool), factored)
    sent = np.full(len(forward), 80)
    return nats_above_links(groups, 0, [1, 2], sent, np.round(lost * sent).astype(int), HEALTHY)


def test_what_untraced_answers_lose_elsewhere_is_not_evidence_for_a_switch() -> None:
    assert untraced_answers(0.0, (0.2, 0.2)) < -7
    assert untraced_answers(0.2, (0.0, 0.0)) > 0


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
