"""Witnesses: no single source host makes the network a culprit."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from localizer.baselines.loss import LossBaseline
from localizer.verdicts.rules import quorum

I = np.array  # noqa: E741 — arrays of counts
paths = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 50), st.integers(0, 50)), min_size=1, max_size=30
)


def enough(rows: list[tuple[int, int, int]], least: int = 3) -> bool:
    """rows: (source host, lost, answered)."""
    source, lost, answered = (I([row[n] for row in rows]) for n in range(3))
    every = np.ones(len(rows))
    return quorum.enough(source, lost, lost + answered, every, LossBaseline(), least)


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)), min_size=1, max_size=30))
@settings(max_examples=100)
def test_one_source_host_alone_is_never_enough(counts: list[tuple[int, int]]) -> None:
    assert not enough([(4, lost, answered) for lost, answered in counts])


@given(paths, st.integers(1, 10**6))
@settings(max_examples=100)
def test_making_the_loudest_host_louder_never_convinces(
    rows: list[tuple[int, int, int]], more: int
) -> None:
    source, lost = I([r[0] for r in rows]), I([r[1] for r in rows])
    if not lost.any():
        return
    loud = quorum.loudest(source, lost, np.ones(len(rows)))
    at = next(n for n, row in enumerate(rows) if row[0] == loud)
    louder = [(s, k + more * (n == at), a) for n, (s, k, a) in enumerate(rows)]
    hurt = {s for s, k, _ in rows if k}
    if loud in hurt:
        assert enough(louder) == enough(rows)


def test_three_hosts_that_see_it_are_enough_and_two_are_not() -> None:
    seen = [(0, 5, 5), (1, 5, 5), (2, 5, 5)]
    assert enough(seen)
    assert not enough(seen[:2])


def test_three_hosts_are_not_enough_when_two_of_them_lost_what_chance_loses() -> None:
    assert not enough([(0, 900, 100), (1, 1, 20_000), (2, 1, 20_000)])


def test_the_loudest_is_the_host_with_the_most_lost_probes() -> None:
    source, lost = I([3, 1, 3, 2]), I([4, 6, 4, 7])
    assert quorum.loudest(source, lost, np.ones(4)) == 3


def test_a_pair_has_one_vote_however_many_five_tuples_it_has() -> None:
    pair, valid = I([0, 0, 0, 1, 1]), I([True, True, False, True, True])
    assert quorum.per_pair(pair, valid).tolist() == [0.5, 0.5, 0.0, 0.5, 0.5]


def contradicted(rows: list[tuple[int, int, int]]) -> bool:
    """rows: (source host, lost, answered)."""
    source, lost, answered = (I([row[n] for row in rows]) for n in range(3))
    every = np.ones(len(rows))
    return quorum.contradicted(source, lost, lost + answered, every, 0.01)


def test_hosts_that_lose_nothing_where_one_loses_much_contradict_it() -> None:
    assert contradicted([(0, 100, 900), (1, 0, 100), (2, 0, 100)])


def test_hosts_that_lose_a_little_less_or_have_hardly_looked_do_not_contradict_it() -> None:
    assert not contradicted([(0, 13, 987), (1, 3, 300), (2, 3, 300)])
    assert not contradicted([(0, 13, 987), (1, 0, 20), (2, 0, 20)])


def test_one_host_that_looks_alone_will_never_be_confirmed() -> None:
    assert contradicted([(0, 13, 987)])


def test_hosts_whose_paths_hardly_cross_it_do_not_contradict_it() -> None:
    source, lost, sent = I([0, 1, 2, 3]), I([30, 0, 0, 0]), I([100, 100, 100, 100])
    assert quorum.contradicted(source, lost, sent, I([1.0, 0.5, 0.5, 0.5]), 0.01)
    assert not quorum.contradicted(source, lost, sent, I([1.0, 0.01, 0.01, 0.01]), 0.01)


def test_few_losses_convince_where_the_other_paths_hardly_cross_it() -> None:
    rows = [(0, 40, 60), (1, 2, 38), (2, 2, 38), *((host, 0, 1000) for host in range(3, 40))]
    source, lost, answered = (I([row[n] for row in rows]) for n in range(3))
    weight = np.where(source < 3, 1.0, 0.02)
    sent = lost + answered
    assert not quorum.enough(source, lost, sent, np.ones(len(rows)), LossBaseline(), 3)
    assert quorum.enough(source, lost, sent, weight, LossBaseline(), 3)


def test_a_host_probes_a_component_that_it_crosses_more_likely_than_not() -> None:
    source = I([0, 1, 1, 2, 2, 3])
    assert quorum.probing(source, I([1.0, 0.3, 0.3, 0.2, 0.2, 0.0])) == 2  # 1: 1 - 0.7^2 = 0.51


@given(st.lists(st.integers(0, 9), min_size=1, max_size=20))
def test_hosts_that_cross_it_for_sure_are_counted_as_they_are(source: list[int]) -> None:
    sources = I(source)
    assert quorum.probing(sources, np.ones(len(source))) == len(set(source))
    assert quorum.hosts(sources, np.ones(len(source), bool)) == len(set(source))


def test_answers_say_that_an_unknown_route_leads_elsewhere_but_not_a_known_one() -> None:
    weight, sent = I([1.0, 0.5, 0.5, 0.5, 0.0]), I([20, 20, 0, 20, 20])
    after = quorum.given_answers(weight, sent, I([0, 0, 0, 2, 0]), 0.3)
    assert after[[0, 2, 3, 4]].tolist() == [1.0, 0.5, 0.5, 0.0]
    assert after[1] == np.float64(0.7**20 / (0.7**20 + 1.0))
    assert quorum.given_answers(weight, sent, I([0] * 5), 1.0)[1] == 0.0
