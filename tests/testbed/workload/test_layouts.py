"""Ranks of a job's GPUs, and who talks to whom because of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.workload.layouts import KINDS, Layout, fit, pairs, ranks


def talks(layout: Layout) -> dict[tuple[int, int], str]:
    return {(a, b): KINDS[why] for a, b, why in pairs(layout).tolist()}


#                         hosts 0, 1: stage 0   hosts 2, 3: stage 1
TWO_STAGES = fit(hosts=4, rails=4, pp=2)


def test_tensor_ranks_fill_a_host_then_replicas_then_stages() -> None:
    place = ranks(TWO_STAGES)
    assert place.tp.tolist() == [[0, 1, 2, 3]] * 4
    assert place.dp[:, 0].tolist() == [0, 1, 0, 1]
    assert place.pp[:, 0].tolist() == [0, 0, 1, 1]


def test_stages_talk_to_their_neighbours_and_replicas_to_each_other() -> None:
    assert talks(TWO_STAGES) == {
        (0, 2): "pp", (1, 3): "pp", (2, 0): "pp", (3, 1): "pp",
        (0, 1): "dp", (1, 0): "dp", (2, 3): "dp", (3, 2): "dp",
    }  # fmt: skip


def test_expert_groups_talk_all_to_all_and_not_beyond() -> None:
    layout = fit(hosts=8, rails=4, ep=4)
    assert layout == Layout(rails=4, tp=4, pp=1, dp=8, ep=4)
    talking = talks(layout)
    assert {(a, b) for a in range(4) for b in range(4) if a != b} <= talking.keys()
    assert (0, 6) not in talking


@pytest.mark.parametrize(("ep", "low", "high"), [(1, 4, 7), (8, 8, 9)])
def test_an_endpoint_of_a_job_of_512_gpus_keeps_few_of_its_63_targets(
    ep: int, low: int, high: int
) -> None:
    targets = np.bincount(pairs(fit(hosts=64, rails=8, pp=8, ep=ep))[:, 0])
    assert (targets.min(), targets.max()) == (low, high)


def test_the_trees_of_a_stage_reach_all_of_its_hosts() -> None:
    for size in range(2, 40):
        known = {0}
        edges = [pair for pair, why in talks(fit(hosts=size, rails=1)).items() if why == "dp"]
        for _ in range(size):
            known |= {b for a, b in edges if a in known}
        assert known == set(range(size))


@given(
    hosts=st.integers(1, 24), rails=st.sampled_from([1, 2, 4, 8]), tp=st.integers(0, 8),
    pp=st.integers(1, 8), ep=st.integers(1, 16),
)  # fmt: skip
def test_every_gpu_has_a_position_of_its_own(
    hosts: int, rails: int, tp: int, pp: int, ep: int
) -> None:
    layout = fit(hosts, rails, tp=tp, pp=pp, ep=ep)
    place = ranks(layout)
    assert layout.tp * layout.pp * layout.dp == hosts * rails
    positions = set(zip(place.dp.ravel(), place.pp.ravel(), place.tp.ravel(), strict=True))
    assert len(positions) == hosts * rails
    assert (place.ep < layout.ep).all()
    talking = talks(layout)
    assert all(a != b and (b, a) in talking for a, b in talking)


@pytest.mark.parametrize(("wanted", "got"), [(1, 1), (4, 4), (5, 4), (100, 12)])
def test_a_degree_that_does_not_divide_becomes_the_next_smaller_that_does(
    wanted: int, got: int
) -> None:
    assert fit(hosts=12, rails=1, pp=wanted).pp == got
