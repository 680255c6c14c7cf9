"""Layouts come back from throughput; jobs without collectives are declined."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.skeleton.inference import Skeleton, infer, infer_jobs
from controller.skeleton.series import Throughput
from evaluation.skeleton.trials import adjusted_rand
from testbed.training.cases import LabelledTraffic, training, without_collectives
from testbed.training.quiet import QUIET


def throughput(made: LabelledTraffic) -> Throughput:
    return Throughput(made.tx, made.rx, made.host, made.rail)


def missed(made: LabelledTraffic, found: Skeleton) -> int:
    have = {tuple(pair) for pair in found.pairs.tolist()}
    return sum(tuple(pair) not in have for pair in made.pairs.tolist())


MADE = training(128, moe=False, impairment="clocks", seed=301)
FOUND = infer(throughput(MADE))


def test_positions_are_found_and_no_true_pair_is_missed() -> None:
    assert not FOUND.declined
    assert adjusted_rand(MADE.position, FOUND.cluster) == 1
    assert missed(MADE, FOUND) == 0
    assert FOUND.dp * FOUND.tp_pp == 128
    assert FOUND.confidence > 0.8


def test_no_two_rnics_of_a_host_share_a_cluster_and_clusters_are_of_equal_size() -> None:
    assert len({*zip(MADE.host.tolist(), FOUND.cluster.tolist(), strict=True)}) == 128
    assert set(np.bincount(FOUND.cluster).tolist()) == {FOUND.dp}


def test_no_pair_is_inside_a_host_and_none_is_named_twice() -> None:
    assert (MADE.host[FOUND.pairs[:, 0]] != MADE.host[FOUND.pairs[:, 1]]).all()
    assert (FOUND.pairs[:, 0] < FOUND.pairs[:, 1]).all()
    assert len(np.unique(FOUND.pairs, axis=0)) == len(FOUND.pairs)


@pytest.mark.parametrize("kind", sorted(QUIET))
def test_a_job_without_collectives_is_declined_with_a_reason(kind: str) -> None:
    made = without_collectives(kind, 64, seed=302)
    found = infer(throughput(made))
    assert found.declined
    assert len(found.pairs) == 0


def test_two_jobs_on_the_same_hosts_are_told_apart_by_their_rhythms() -> None:
    made = training(256, moe=False, impairment="two-jobs", seed=303)
    found = infer_jobs(throughput(made))
    assert sorted(len(each.rnic) for each in found) == [128, 128]
    for each in found:
        assert len(np.unique(made.job[each.rnic])) == 1


def test_too_short_a_time_is_declined_with_what_is_needed() -> None:
    short = throughput(MADE).seconds(0, 100)
    assert infer(short).declined == "100 s of throughput; at least 240 s are needed"


def test_an_rnic_without_samples_is_in_no_cluster_and_the_others_are() -> None:
    tx, rx = MADE.tx.copy(), MADE.rx.copy()
    tx[5] = rx[5] = np.nan
    found = infer(Throughput(tx, rx, MADE.host, MADE.rail))
    assert found.cluster[5] == -1
    others = np.arange(128) != 5
    assert adjusted_rand(MADE.position[others], found.cluster[others]) == 1


def test_bursts_that_change_after_inference_are_declined_by_the_fidelity_check() -> None:
    tx, rx = MADE.tx.copy(), MADE.rx.copy()
    rng = np.random.default_rng(1)
    for row in range(0, 128, 2):  # every other rnic keeps another time from 600 s on
        shift = int(rng.integers(2, 9))
        tx[row, 600:], rx[row, 600:] = np.roll(tx[row, 600:], shift), np.roll(rx[row, 600:], shift)
    assert "fidelity" in infer(Throughput(tx, rx, MADE.host, MADE.rail)).declined


@settings(max_examples=6, deadline=None)
@given(st.randoms(use_true_random=False), st.floats(0.01, 100))
def test_neither_the_order_of_hosts_nor_the_unit_of_bytes_matters(
    random: object, scale: float
) -> None:
    names = np.arange(16)
    random.shuffle(names)  # type: ignore[attr-defined]
    other = infer(
        Throughput(MADE.tx * np.float32(scale), MADE.rx * np.float32(scale),
                   names[MADE.host], MADE.rail)
    )  # fmt: skip
    assert adjusted_rand(FOUND.cluster, other.cluster) == 1
    assert {tuple(pair) for pair in other.pairs.tolist()} == {
        tuple(pair) for pair in FOUND.pairs.tolist()
    }
