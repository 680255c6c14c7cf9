"""Loss: exact tails, a budget that adds up, a background that learns, witnesses that suffice."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse, stats

from localizer.detectors.alarm_budget import WEEK_S, AlarmBudget
from localizer.detectors.loss import (
    CLEANEST,
    MATERIAL,
    LossBaseline,
    alarming,
    pooled,
    upper_tail,
)
from localizer.verdicts import quorum

F = np.array


# --- the tail ---------------------------------------------------------------------------------


@given(st.integers(1, 5000), st.floats(0, 1), st.floats(1e-4, 0.2))
@settings(deadline=None, max_examples=200)
def test_the_tail_of_whole_counts_is_the_binomials(sent: int, share: float, rate: float) -> None:
    lost = round(share * sent)
    known = stats.binom.sf(lost - 1, sent, rate)
    assert upper_tail(F([float(lost)]), F([float(sent)]), rate)[0] == pytest.approx(
        known, rel=1e-6, abs=1e-300
    )


def test_where_nothing_was_lost_or_sent_nothing_is_surprising() -> None:
    assert upper_tail(F([0.0, 0.0]), F([100.0, 0.0]), 0.01).tolist() == [1.0, 1.0]


def test_shares_of_probes_lie_between_whole_ones() -> None:
    tail = upper_tail(F([1.0, 1.5, 2.0]), F([50.0, 50.0, 50.0]), 0.01)
    assert tail[0] > tail[1] > tail[2]


def test_congestion_that_comes_in_clumps_is_less_surprising() -> None:
    lost, sent = F([20.0]), F([1000.0])
    alone, clumped = (upper_tail(lost, sent, 0.002, d)[0] for d in (1.0, 4.0))
    assert alone < clumped
    assert clumped == pytest.approx(stats.binom.sf(20 / 4 - 1, 1000 // 4, 0.002), rel=1e-6)


def test_pooling_weighs_each_path_by_its_share() -> None:
    incidence = sparse.csr_array(F([[1.0, 0.5], [0.0, 1.0]]))
    assert pooled(incidence, F([4, 2])).tolist() == [4.0, 4.0]


# --- the budget -------------------------------------------------------------------------------


@given(st.floats(0.1, 50), st.integers(1, 10_000), st.sampled_from([1.0, 5.0, 30.0]))
@settings(max_examples=50)
def test_all_tests_of_a_week_together_spend_the_budget(
    per_week: float, components: int, every_s: float
) -> None:
    budget = AlarmBudget(per_week)
    tests = WEEK_S / every_s * components
    assert budget.level(components, every_s) * tests * budget.families == pytest.approx(per_week)


def test_a_week_has_604800_panes() -> None:
    assert AlarmBudget(1.0, families=1).level(1, 1.0) == pytest.approx(1 / 604_800)


def test_an_empty_fabric_divides_by_nothing() -> None:
    assert AlarmBudget().level(0, 1.0) == AlarmBudget().level(1, 1.0)


# --- the background ---------------------------------------------------------------------------


def learnt(rate: float, *, seconds: int = 3000, clump: int = 1, seed: int = 7) -> LossBaseline:
    """Panes of 50 components with 2,000 probes each; losses come ``clump`` at a time."""
    rng = np.random.default_rng(seed)
    background = LossBaseline()
    each = np.full(50, 2000.0)
    for _ in range(seconds):
        lost = clump * rng.binomial(2000, rate / clump, 50).astype(float)
        background.learn(each.sum(), lost.sum(), each, lost)
    return background


def test_it_learns_the_loss_of_healthy_panes() -> None:
    assert learnt(0.003).rate == pytest.approx(0.003, rel=0.05)


def test_it_is_never_believed_to_be_cleaner_than_clean() -> None:
    assert LossBaseline().rate == CLEANEST
    assert learnt(0.0).rate == CLEANEST


def test_it_forgets() -> None:
    background = learnt(0.01)
    for _ in range(6000):
        background.learn(1e5, 100.0, F([1e5]), F([100.0]))
    assert background.rate == pytest.approx(0.001, rel=0.05)


def test_it_learns_that_losses_come_in_clumps() -> None:
    assert learnt(0.003).dispersion == pytest.approx(1.0, abs=0.3)
    assert learnt(0.003, clump=4).dispersion == pytest.approx(4.0, rel=0.3)


def test_one_wild_pane_does_not_make_it_blind() -> None:
    background = learnt(0.001)
    background.learn(1e5, 5e4, F([2000.0]), F([2000.0]))
    assert background.dispersion < 3


# --- the alarm --------------------------------------------------------------------------------


def test_an_alarm_needs_significance_and_size() -> None:
    sent = F([1e6, 1e3, 100.0])
    lost = F([
        1e6 * (CLEANEST + MATERIAL * 0.9),  # sure, but small
        40.0,  # both
        1.0,  # large, but chance
    ])  # fmt: skip
    assert alarming(sent, lost, LossBaseline(), 1e-9).tolist() == [False, True, False]


def test_clean_weather_spends_no_more_than_its_budget() -> None:
    """200 components for an hour of panes: the budget allows 1/672 of an alarm; none may come."""
    rng = np.random.default_rng(3)
    background, level = LossBaseline(), AlarmBudget().level(200, 1.0)
    sent = np.full(200, 500.0)
    alarms = 0
    for _ in range(3600):
        lost = rng.binomial(500, CLEANEST, 200).astype(float)
        alarms += int(alarming(sent, lost, background, level).sum())
        background.learn(sent.sum(), lost.sum(), sent, lost)
    assert alarms == 0


# --- witnesses --------------------------------------------------------------------------------

I = np.array  # noqa: E741 — arrays of counts
paths = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 50), st.integers(0, 50)), min_size=1, max_size=30
)


def enough(rows: list[tuple[int, int, int]], least: int = 3) -> bool:
    """rows: (source host, lost, answered)."""
    source, lost, answered = (I([row[n] for row in rows]) for n in range(3))
    every = np.ones(len(rows), bool)
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
    loud = quorum.loudest(source, lost, np.ones(len(rows), bool))
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
    assert quorum.loudest(source, lost, np.ones(4, bool)) == 3


def test_a_pair_has_one_vote_however_many_five_tuples_it_has() -> None:
    pair, valid = I([0, 0, 0, 1, 1]), I([True, True, False, True, True])
    assert quorum.per_pair(pair, valid).tolist() == [0.5, 0.5, 0.0, 0.5, 0.5]
