"""Whether a link loses, or several do, or the switch at their end."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from localizer.fabric.incidence.factored import FactoredIncidence
from localizer.fabric.observability import Classes
from localizer.verdicts.rules.loss.link_or_switch import (
    ends_of,
    links_of,
    most_explaining,
    nats_above_end,
    nats_above_links,
    together_explaining,
)

SPINE, LINK, OTHER_LINK = 0, 1, 2
HEALTHY = 1e-4


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
    links = links_of(groups, SPINE, np.array([LINK, OTHER_LINK]))
    assert most_explaining(groups, links, np.array([1, 5, 0, 0]), most=1) == [OTHER_LINK]


def test_links_that_explain_most_together_share_few_paths() -> None:
    """The first link and the second lie on the same lossy paths, the third on others."""
    shares = np.array([[1.0, 1.0, 1.0, 0.0], [1.0, 1.0, 1.0, 0.0], [1.0, 0.0, 0.0, 1.0]])
    members = [["spine:s"], *([f"link:spine:s|tor:{each}"] for each in "abc")]
    factored = FactoredIncidence.unfactored(sparse.csr_array(shares))
    groups = Classes(members, np.array([False, *[True] * 3]), np.zeros(4, bool), factored)
    links, lost = np.array([1, 2, 3]), np.array([6, 5, 4])
    assert set(most_explaining(groups, links, lost, most=2)) == {1, 2}
    assert together_explaining(groups, links, lost, most=2)[1] == 3
    assert len(together_explaining(groups, links, lost, most=8)) == 3


def test_losses_of_all_paths_are_the_switch() -> None:
    assert nats([20, 20, 20, 20], [8, 8, 8, 8]) < -20


def test_losses_of_the_paths_over_the_link_are_the_link() -> None:
    assert nats([20, 20, 20, 20], [10, 0, 5, 0]) > 10


def test_few_probes_elsewhere_leave_the_switch_possible() -> None:
    """As in the first seconds: the link loses, but hardly anything went round it yet."""
    assert 0 < nats([4, 1, 1, 1], [3, 0, 0, 0]) < 7


def test_probes_elsewhere_that_are_answered_deny_the_switch_step_by_step() -> None:
    by_count = [nats([4, n, n, n], [3, 0, 0, 0]) for n in (1, 3, 10)]
    assert by_count == sorted(by_count)
    assert by_count[-1] > 7


def test_a_lost_probe_elsewhere_counts_against_the_link() -> None:
    assert nats([8, 8, 8, 8], [4, 0, 2, 1]) < nats([8, 8, 8, 8], [4, 0, 2, 0]) - 5


def test_a_path_of_an_unknown_route_that_loses_nothing_does_not_deny_that_a_switch_is_dead() -> (
    None
):
    """Of 60 paths 20 are known to cross the dead switch, all over one link; requests of 40 take it
    or the other switch, and so do their answers, so that three of four get nothing through."""
    shares = np.array([[1.0, 1.0]] * 20 + [[0.5, 0.25]] * 40)
    members = [["agg:a"], ["link:agg:a|spine:s"]]
    factored = FactoredIncidence.unfactored(sparse.csr_array(shares))
    groups = Classes(members, np.array([False, True]), np.zeros(2, bool), factored)
    sent, lost = np.full(60, 4), np.repeat([4, 0], [50, 10])
    assert nats_above_end(groups, 1, 0, sent, lost, HEALTHY) < -7
    as_often_as_over_the_link = np.repeat([4, 0], [38, 22])
    assert nats_above_end(groups, 1, 0, sent, as_often_as_over_the_link, HEALTHY) > 7


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
    (of_both,) = nats_above_links(
        groups, 0, [1, 2], sent, np.round(lost * sent).astype(int), HEALTHY, partial=False
    )
    return of_both


def test_what_untraced_answers_lose_elsewhere_is_not_evidence_for_a_switch() -> None:
    assert untraced_answers(0.0, (0.2, 0.2)) < -7
    assert untraced_answers(0.2, (0.0, 0.0)) > 0


def one_of_two_bad_links(*, alone: bool) -> float:
    """Nats of a bad link above its spine, whose other bad link answers may come back over."""
    pairs = [(a, b) for a in range(8) for b in range(8) if 1 not in (a, b) and a != b]
    forward = np.zeros((len(pairs), 9))
    lost = np.zeros(len(pairs))
    for row, pair in enumerate(pairs):
        forward[row, [0, pair[0] + 1, pair[1] + 1]] = 1.0
        lost[row] = 1 - (1 - 0.1 * (0 in pair)) * (1 - 0.3)
    reverse = np.tile([0.25, *[0.0625] * 8], (len(pairs), 1))
    members = [["spine:s"], *([f"link:spine:s|tor:{each}"] for each in "abcdefgh")]
    factored = FactoredIncidence.unfactored(sparse.csr_array(forward), sparse.csr_array(reverse))
    groups = Classes(members, np.array([False, *[True] * 8]), np.zeros(9, bool), factored)
    sent = np.full(len(pairs), 600)
    counts = sent, np.round(lost * sent).astype(int)
    return nats_above_end(groups, 1, 0, *counts, HEALTHY, alone=alone)


def test_a_link_is_not_denied_by_what_answers_lose_at_other_culprits() -> None:
    assert one_of_two_bad_links(alone=False) > 7
    assert one_of_two_bad_links(alone=True) < -7


def of_some_five_tuples(*, links_lose: bool) -> float:
    """Nats of a spine that drops a share of its five-tuples above its links, of which three of
    eight lose or a random half of the five-tuples does."""
    pairs = [(a, b) for a in range(8) for b in range(8) if a != b]
    crossed = np.zeros((len(pairs), 9))
    for row, pair in enumerate(pairs):
        crossed[row, [0, pair[0] + 1, pair[1] + 1]] = 1.0
    members = [["spine:s"], *([f"link:spine:s|tor:{each}"] for each in "abcdefgh")]
    factored = FactoredIncidence.unfactored(sparse.csr_array(crossed))
    groups = Classes(members, np.array([False, *[True] * 8]), np.zeros(9, bool), factored)
    rng = np.random.default_rng(1)
    by_link = crossed[:, 1:4].any(axis=1)
    bad = by_link if links_lose else rng.random(len(pairs)) < by_link.mean()
    sent = np.full(len(pairs), 20)
    lost = rng.binomial(sent, np.where(bad, 0.3, 0.0))
    links = together_explaining(groups, np.arange(1, 9), lost, most=8)
    return min(nats_above_links(groups, 0, links, sent, lost, HEALTHY, partial=True))


def test_lossy_links_are_told_from_a_switch_that_drops_some_five_tuples() -> None:
    assert of_some_five_tuples(links_lose=True) < -14
    assert of_some_five_tuples(links_lose=False) > 14
