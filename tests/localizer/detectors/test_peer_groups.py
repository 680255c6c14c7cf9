"""Peer groups: a path is compared with the other paths of its own job."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from localizer.detectors import peer_groups
from localizer.fabric.incidence.factored import FactoredIncidence

#  hosts 0..5 form one job, 6..11 another; every host probes the others of its job
PAIRS = [(a, b) for job in (range(6), range(6, 12)) for a in job for b in job if a != b]
SRC, DST = np.array(PAIRS, np.int32).T
OVERLAY = np.ones(len(PAIRS), bool)
GROUP = peer_groups.peer_groups(SRC, DST, OVERLAY)
HOSTS = FactoredIncidence.unfactored(
    sparse.csr_array(
        ((SRC[:, None] == np.arange(12)) | (DST[:, None] == np.arange(12))).astype(float)
    )
)
VOTE = np.ones(len(PAIRS))


def test_hosts_whose_containers_probe_one_another_form_a_peer_group() -> None:
    assert np.unique(GROUP[SRC < 6]).size == 1
    assert np.unique(GROUP).size == 2


def test_the_underlay_does_not_join_jobs() -> None:
    src, dst = np.append(SRC, 0), np.append(DST, 11)
    group = peer_groups.peer_groups(
        src.astype(np.int32), dst.astype(np.int32), np.append(OVERLAY, False)
    )
    assert np.unique(group).size == 3
    assert (group[:-1] != group[-1]).all(), "paths between jobs form a group of their own"


def test_without_an_overlay_all_probes_count() -> None:
    assert np.unique(peer_groups.peer_groups(SRC, DST, ~OVERLAY)).size == 2


def test_a_host_slower_than_the_rest_of_its_job_stands_out() -> None:
    p = peer_groups.excess_p_values(HOSTS, GROUP, VOTE, (SRC == 3) | (DST == 3))
    assert p[3] < 1e-9
    assert p[[0, 1, 2, 4, 5]].min() > 1e-3
    assert (p[6:] == 1.0).all()


def test_fewer_slow_paths_are_significant_where_healthy_ones_are_rarely_slow() -> None:
    slow = (SRC == 3) & (DST < 3)
    rare, rarer = (
        peer_groups.excess_p_values(HOSTS, GROUP, VOTE, slow, healthy_share=q)[3]
        for q in (0.02, 0.005)
    )
    assert rarer < rare / 20


@pytest.mark.parametrize("level", [1e-2, 1e-6, 1e-10])
def test_to_ask_for_a_level_changes_no_p_value_below_it(level: float) -> None:
    rng, below = np.random.default_rng(5), 0
    for _ in range(40):
        slow = rng.random(len(PAIRS)) < np.where((SRC == 3) | (DST == 3), rng.random(), 0.05)
        full, quick = (
            peer_groups.excess_p_values(HOSTS, GROUP, VOTE, slow, level=each)
            for each in (1.0, level)
        )
        assert (quick[full < level] == full[full < level]).all()
        below += int((full < level).sum())
    assert below


@pytest.mark.parametrize("certain", [False, True])
def test_slow_votes_that_are_just_enough_for_a_level_are_not_left_out(certain: bool) -> None:
    """All of a component's votes are slow, and no other; of traversals known in one direction."""
    share = np.zeros((40, 2))
    share[:6, 0], share[:5, 1], share[5, 1] = 0.5, 1.0, 0.3
    both = sparse.csr_array(share)
    one_way = sparse.csr_array(np.where(share == 0.5, 1.0, share))
    other_way = sparse.csr_array(np.where(share == 0.5, 1e-9, share))
    incidence = FactoredIncidence.unfactored(one_way, other_way) if certain else (
        FactoredIncidence.unfactored(both)
    )  # fmt: skip
    slow, group = np.arange(40) < 6, np.zeros(40, np.int64)
    full = peer_groups.excess_p_values(incidence, group, np.ones(40), slow, certain=certain)
    for column in np.flatnonzero(full < 1):
        quick = peer_groups.excess_p_values(
            incidence, group, np.ones(40), slow, certain=certain, level=1.01 * full[column]
        )
        assert quick[column] == full[column]
    assert (full < 1).any()


def test_a_job_that_is_slow_as_a_whole_makes_no_component_stand_out() -> None:
    p = peer_groups.excess_p_values(HOSTS, GROUP, VOTE, SRC < 6)
    assert p.min() > 0.5


def test_a_component_that_all_paths_of_a_job_cross_cannot_be_told_from_the_job() -> None:
    everything = (SRC < 6).astype(float)
    assert peer_groups.excess_p_value(everything, GROUP, VOTE, SRC < 6) == 1.0


def test_the_p_value_is_one_where_no_path_is_slow() -> None:
    assert (
        peer_groups.excess_p_values(HOSTS, GROUP, VOTE, np.zeros(len(PAIRS), bool)) == 1.0
    ).all()


def test_the_common_shift_of_a_job_is_removed() -> None:
    excess = np.where(SRC < 6, 8.0, 0.0) + np.where(SRC == 3, 5.0, 0.0)
    left = peer_groups.without_common_shift(excess, GROUP, np.ones(len(PAIRS), bool))
    assert left[SRC == 3] == pytest.approx(5.0)
    assert left[SRC != 3] == pytest.approx(0.0)


def test_a_negative_common_shift_is_ignored() -> None:
    excess = np.where(SRC == 3, 0.0, -4.0)
    assert (
        peer_groups.without_common_shift(excess, GROUP, np.ones(len(PAIRS), bool)) == excess
    ).all()


@pytest.mark.parametrize("seed", range(5))
def test_the_p_values_of_all_components_are_those_of_each_by_itself(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shares = rng.integers(0, 3, (5, 20)) / 4.0  # five segments, of which each path has two
    shares[0] = 0.0
    segments = sparse.csr_array(shares)
    slots = rng.integers(0, 5, (2, len(PAIRS)), dtype=np.int32)
    incidence = FactoredIncidence(slots, segments, segments)
    vote, moved = rng.integers(0, 3, len(PAIRS)) / 2.0, rng.random(len(PAIRS)) < 0.3
    p = peer_groups.excess_p_values(incidence, GROUP, vote, moved)
    one = [peer_groups.excess_p_value(incidence.column(c), GROUP, vote, moved) for c in range(20)]
    assert p == pytest.approx(one)
    assert p.min() < 0.9


SLOW_OF_A_BURST = 0.6
#  an answer each: 40 of a component and 200 others, in ten seconds
ANSWERS = 240
CROSSES = (np.arange(ANSWERS) < 40).astype(float)
WEIGHT = np.ones(ANSWERS)


def stratified(second: np.ndarray, slow: np.ndarray) -> float:
    return peer_groups.stratified_p_value(CROSSES, second, WEIGHT, slow)


def test_answers_that_are_slow_at_all_times_stand_out_of_their_contemporaries() -> None:
    second = np.arange(ANSWERS) % 10
    assert stratified(second, CROSSES > 0) < 1e-12


def test_answers_that_all_fell_in_a_burst_are_compared_with_the_others_in_it() -> None:
    rng = np.random.default_rng(1)
    second = np.arange(ANSWERS) % 10
    second[:40] = 3
    burst = (second == 3) & (rng.random(ANSWERS) < SLOW_OF_A_BURST)
    assert stratified(second, burst) > 1e-3
    everywhere = np.zeros(ANSWERS, np.int64)
    assert stratified(everywhere, burst) < 1e-9, "without their times they would stand out"


def test_answers_at_times_without_others_prove_nothing() -> None:
    second = np.where(CROSSES > 0, 99, np.arange(ANSWERS) % 10)
    assert stratified(second, CROSSES > 0) == 1.0


SOME_SLOW = (CROSSES > 0) & (np.arange(ANSWERS) % 4 > 0)


def test_few_contemporaries_of_one_time_are_little_comparison() -> None:
    few = np.where(CROSSES > 0, 3, np.arange(ANSWERS) % 50)  # four others in the same second
    many = np.where(CROSSES > 0, 3, np.arange(ANSWERS) % 2 + 3)
    assert stratified(few, SOME_SLOW) > 1e3 * stratified(many, SOME_SLOW)


def test_few_contemporaries_at_each_of_many_times_are_a_comparison_together() -> None:
    assert stratified(np.arange(ANSWERS) % 50, SOME_SLOW) < 1e-9


def test_few_contemporaries_that_were_slow_themselves_count_in_their_second() -> None:
    second = np.arange(ANSWERS) % 50  # four others in a second, at most
    burst = second < 20
    assert stratified(second, burst & (np.arange(ANSWERS) % 4 > 0)) > 1e-3
