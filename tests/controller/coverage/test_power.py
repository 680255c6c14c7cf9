"""The smallest loss that is named: by binomial counts, and from several source hosts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from controller.coverage.cadence import planned_interval
from controller.coverage.power import Naming, Seen, losses_needed, smallest_loss

RULE = Naming(
    level=1e-9, rest_level=1e-4, healthy=2e-4, dispersion=1.0, least_excess=0.004, hosts=3,
    window_s=30.0,
)  # fmt: skip


def traced(probes: float, hosts: int) -> Seen:
    """So many probes from so many hosts, each crossing the link by request or by reply."""
    each = np.full(hosts, probes / hosts)
    return Seen(each, 0 * each)


@pytest.mark.parametrize("probes", [40, 900, 20_000])
def test_the_losses_needed_are_the_fewest_that_the_exact_test_takes(probes: int) -> None:
    needed = int(losses_needed(probes, RULE, RULE.level))
    material = needed > (RULE.healthy + RULE.least_excess) * probes
    assert material
    assert stats.binom.sf(needed - 1, probes, RULE.healthy) < RULE.level
    one_less = stats.binom.sf(needed - 2, probes, RULE.healthy) < RULE.level
    assert not (one_less and needed - 1 > (RULE.healthy + RULE.least_excess) * probes)


def test_drawn_losses_at_the_smallest_loss_are_significant_nine_times_of_ten() -> None:
    loss = smallest_loss(traced(2000, 20), RULE)
    assert loss is not None
    needed = losses_needed(1000, RULE, RULE.level)
    drawn = np.random.default_rng(1).binomial(1000, loss, 20_000)
    assert np.mean(drawn >= needed) == pytest.approx(0.9, abs=0.03)


@given(st.floats(50, 1e5), st.integers(3, 40))
def test_more_probes_name_smaller_losses(probes: float, hosts: int) -> None:
    few, many = (smallest_loss(traced(n, hosts), RULE) for n in (probes, 1.5 * probes))
    assert many is not None or few is None
    assert few is None or (many is not None and many <= few * 1.2), "counts come in steps"


def test_two_source_hosts_name_nothing_and_one_that_outweighs_all_others_little() -> None:
    assert smallest_loss(traced(5000, 2), RULE) is None
    even, most = traced(5000, 3), np.array([4800.0, 100.0, 100.0])
    loud = smallest_loss(Seen(most, 0 * most), RULE)
    alike = smallest_loss(even, RULE)
    assert loud is not None
    assert alike is not None
    assert loud > 2 * alike, "the other hosts alone must show it too"


def test_a_link_that_request_and_reply_cross_is_named_at_half_of_the_loss() -> None:
    once = smallest_loss(traced(2000, 20), RULE)
    each = np.full(20, 50.0)
    twice = smallest_loss(Seen(0 * each, each), RULE)
    assert once is not None
    assert twice == pytest.approx(once / 2, rel=0.01)


def test_no_probes_name_nothing() -> None:
    assert smallest_loss(traced(0, 5), RULE) is None
    assert smallest_loss(Seen(np.zeros(0), np.zeros(0)), RULE) is None
    assert smallest_loss(traced(4, 4), RULE) is None, "even if all four are lost"


def test_a_harder_goal_takes_a_shorter_interval_and_reaches_it() -> None:
    one_round = [traced(100, 20), traced(300, 30)]
    easy, hard = (planned_interval(one_round, loss, RULE) for loss in (0.2, 0.02))
    assert easy.interval_s > hard.interval_s
    assert hard.loss is not None
    assert hard.loss <= 0.02
    longer = [each.scaled(RULE.window_s / (1.5 * hard.interval_s)) for each in one_round]
    missed = [smallest_loss(each, RULE) for each in longer]
    assert any(loss is None or loss > 0.02 for loss in missed), "half as long again does not"


def test_a_goal_that_is_out_of_reach_gets_the_shortest_interval_and_what_it_names() -> None:
    found = planned_interval([traced(5, 5)], 0.001, RULE)
    assert found.interval_s == 0.1
    assert found.loss is not None
    assert found.loss > 0.001
    assert planned_interval([traced(5, 2)], 1.0, RULE).loss is None
