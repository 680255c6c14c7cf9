"""Sums by segment are those of H^T, whatever was asked before, with the helper and without."""

from __future__ import annotations

import contextlib

import numpy as np
import numpy.typing as npt
import pytest
from builders.clusters import Cluster, request
from builders.incidences import incidence_of, routes_chunk
from builders.schemas.compiled_helper import compiled, in_python
from hypothesis import given, settings
from hypothesis import strategies as st

from localizer.fabric.incidence.segment_paths import SegmentPaths

I32 = npt.NDArray[np.int32]
SEGMENTS = 9
PATHS = 1500  # enough for sums to be remembered


def slots_of(rng: np.random.Generator, paths: int = PATHS) -> I32:
    """Four columns with gaps, cut from a larger array as those of an incidence are."""
    room = rng.integers(0, SEGMENTS, (4, paths + 7), dtype=np.int32)
    return room[:, :paths]


def written_out(slots: I32) -> npt.NDArray[np.float64]:
    """(Q, P) H^T without the empty segment."""
    out = np.zeros((SEGMENTS, slots.shape[1]))
    for slot in slots:
        np.add.at(out, (slot, np.arange(slots.shape[1])), 1.0)
    out[0] = 0
    return out


@pytest.mark.parametrize("helper", [True, False])
@given(seed=st.integers(0, 2**32), changed=st.lists(st.floats(0, 1), max_size=12))
@settings(deadline=None, max_examples=40)
def test_sums_of_counts_that_change_by_and_by_are_exact(
    helper: bool, seed: int, changed: list[float]
) -> None:
    if helper:
        compiled()
    rng = np.random.default_rng(seed)
    slots = slots_of(rng)
    whole = written_out(slots)
    windows = [rng.integers(0, 2**20, PATHS), rng.integers(0, 7, PATHS)]
    with contextlib.nullcontext() if helper else in_python():
        paths = SegmentPaths(slots, SEGMENTS)
        for number, share in enumerate(changed):
            counts = windows[number % 2].copy()  # two windows are asked for in turn
            some = rng.random(PATHS) < share
            counts[some] = rng.integers(0, 2**20, int(some.sum()))
            windows[number % 2] = counts
            if number % 3:  # as a history has them
                counts = counts.astype(np.uint32)
            assert paths.sums(counts)[1:].tolist() == (whole @ counts)[1:].tolist()


@given(seed=st.integers(0, 2**32), share=st.floats(0, 1))
@settings(deadline=None, max_examples=60)
def test_sums_of_shares_are_equal_bit_by_bit_with_the_helper_and_without(
    seed: int, share: float
) -> None:
    compiled()
    rng = np.random.default_rng(seed)
    slots = slots_of(rng, 200)
    values = np.where(rng.random(200) < share, rng.random(200), 0.0)
    fast = SegmentPaths(slots, SEGMENTS).sums(values)
    with in_python():
        slow = SegmentPaths(slots, SEGMENTS).sums(values)
    assert fast[1:].tobytes() == slow[1:].tobytes()
    assert fast[1:] == pytest.approx((written_out(slots) @ values)[1:])


def test_negative_and_huge_counts_are_summed_too() -> None:
    rng = np.random.default_rng(1)
    slots = slots_of(rng)
    paths, whole = SegmentPaths(slots, SEGMENTS), written_out(slots)
    for counts in (np.full(PATHS, 2**40), np.full(PATHS, -3), np.ones(PATHS, bool)):
        assert paths.sums(counts)[1:].tolist() == (whole @ counts)[1:].tolist()


def test_the_paths_of_some_segments_come_one_segment_after_the_other() -> None:
    paths = SegmentPaths(np.array([[1, 1, 2, 0], [2, 0, 1, 0]], np.int32), 4)
    found, count = paths.of(np.array([2, 3, 1]))
    assert found.tolist() == [0, 2, 0, 1, 2]
    assert count.tolist() == [2, 0, 3]


@pytest.mark.parametrize(
    ("slots", "ends"),
    [
        (np.array([[1, 9]], np.int32), np.zeros(10, np.int64)),
        (np.array([[-1]], np.int32), np.zeros(10, np.int64)),
        (np.array([[1]], np.int64), np.zeros(10, np.int64)),
        (np.array([[1]], np.int32), np.zeros(0, np.int64)),
    ],
)
def test_the_helper_refuses_segments_out_of_range(slots: I32, ends: npt.NDArray[np.int64]) -> None:
    with pytest.raises(ValueError, match=r"out of range|not columns"):
        compiled().count_segments(slots, ends)


def test_the_helper_refuses_paths_out_of_range() -> None:
    slots, sums = np.ones((1, 3), np.int32), np.zeros(2)
    for row in (-1, 3):
        with pytest.raises(ValueError, match="out of range"):
            compiled().add_segments(slots, np.array([row]), np.ones(1), sums)
    edges, values = np.array([0, 0, 1]), np.ones(3)
    for path in (-1, 3):
        with pytest.raises(ValueError, match="out of range"):
            compiled().sum_segments(edges, np.array([path], np.int32), values, sums)
    with pytest.raises(ValueError, match="out of range"):
        compiled().segment_paths(slots, np.zeros(2, np.int64), np.zeros(2, np.int32))


def test_an_incidence_is_the_same_one_until_something_changes() -> None:
    cluster = Cluster(hosts=4)
    paths = cluster.paths
    incidence = incidence_of(paths[:-1], cluster.topology)
    before = incidence.factored()
    assert incidence.factored() is before
    assert before.fingerprints(np.ones(before.shape[0], bool)) is before.fingerprints(
        np.ones(before.shape[0], bool)
    )
    path = paths[0]
    hops = [path.src_asw, "dsw1", path.dst_asw] if path.src_asw != path.dst_asw else [path.src_asw]
    incidence.learn_routes(routes_chunk([(request(path), hops)]))
    after = incidence.factored()
    assert after is not before
    incidence.retain(np.arange(len(incidence)) > 0)
    assert incidence.factored().shape[0] == after.shape[0] - 1
