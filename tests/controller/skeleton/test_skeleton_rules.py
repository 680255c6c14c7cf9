"""Rules of single steps: sizes, shifts, gaps, samples in any order."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.skeleton import clusters, series, spectra
from controller.skeleton.parameters import DEFAULT
from controller.skeleton.timing import shifts


@given(st.integers(2, 8), st.integers(2, 8))
def test_clusters_of_one_size_fit_that_size(groups: int, size: int) -> None:
    found = clusters.fit_sizes(np.full(groups, size), groups * size, DEFAULT)
    assert found is not None
    assert (found.size, found.exceptions) == (size, 0)
    assert (found.places == 1).all()


def test_a_cluster_of_several_positions_counts_as_several() -> None:
    found = clusters.fit_sizes(np.array([8, 48, 8]), 64, DEFAULT)
    assert found is not None
    assert (found.size, found.places.tolist()) == (8, [1, 6, 1])


def test_stragglers_are_exceptions_and_not_positions() -> None:
    found = clusters.fit_sizes(np.array([7, 7, 7, 7, 1, 1, 1, 1]), 32, DEFAULT)
    assert found is not None
    assert (found.size, found.exceptions) == (8, 4)


def test_late_replicas_of_all_stages_keep_their_order() -> None:
    stage = np.repeat(np.arange(4), 4)
    shift = stage * 1.0
    shift[3::4] += 0.8  # the last replica: nearer to the next stage than to its own
    label = np.where(np.arange(16) % 4 == 3, -1, stage)
    assert (clusters.balanced(label, shift, 30.0, DEFAULT).group == stage).all()


@given(st.lists(st.floats(-14, 14), min_size=2, max_size=8))
def test_a_shift_is_measured_to_a_small_part_of_a_sample(later: list[float]) -> None:
    hz = np.arange(1, 33) / 64
    rng = np.random.default_rng(1)
    wave = (rng.standard_normal((1, 2, 32)) + 1j * rng.standard_normal((1, 2, 32))) / hz
    moved = wave * np.exp(-2j * np.pi * hz * np.array(later)[:, None, None])
    axis = shifts.Axis(hz, np.ones(32), 30.0)
    measured = shifts.shifts(moved.astype(np.complex64), wave[0].astype(np.complex64), axis)
    assert np.abs(measured - later).max() < 0.02


@given(st.lists(st.floats(0, 12), min_size=2, max_size=6), st.floats(0, 30))
def test_shifts_on_a_circle_begin_after_the_widest_gap(later: list[float], turn: float) -> None:
    start = np.array(later) - min(later)
    unrolled = shifts.unrolled(start + turn, 30.0)
    assert np.allclose(unrolled, start, atol=1e-6)


@pytest.mark.parametrize("period", [12, 30, 55])
def test_the_period_of_rounds_is_found_and_not_that_of_micro_batches(period: int) -> None:
    second = np.arange(600)
    burst = (second % period < 3) * 5.0 + (second % 4 < 1) * (second % period < 0.7 * period)
    found, repeats = spectra.repetition(burst[None].astype(np.float32), 8, 120, 0.85)
    assert found == period
    assert repeats > 0.8


def test_the_common_course_explains_series_that_are_filters_of_it() -> None:
    rng = np.random.default_rng(2)
    source = rng.standard_normal(600)
    series_ = np.stack([a * np.roll(source, k) for a, k in ((1, 0), (2, 1), (0.5, 3))])
    made = spectra.frames(series_.astype(np.float32), 64, 16)
    assert spectra.drive(made).share > 0.9
    assert spectra.drive(spectra.frames(rng.standard_normal((9, 600)).astype(np.float32), 64, 16)
                         ).share < 0.5  # fmt: skip


def test_gaps_are_bridged_by_straight_lines() -> None:
    values = np.array([[1, np.nan, 3, np.nan], [np.nan] * 4], np.float32)
    assert series.filled(values).tolist() == [[1, 2, 3, 3], [0, 0, 0, 0]]


@given(st.permutations(range(8)))
def test_samples_come_in_any_order(order: list[int]) -> None:
    rows = pd.DataFrame({
        "node_sn": ["b", "b", "b", "b", "a", "a", "a", "a"],
        "real_ip": ["10.0.0.10", "10.0.0.10", "10.0.0.9", "10.0.0.9"] * 2,
        "time": [5_000_000_000, 6_000_000_000] * 4,
        "tx_bytes": range(8),
        "rx_bytes": range(8),
    })  # fmt: skip
    rows.loc[4:, "real_ip"] = ["10.0.1.2", "10.0.1.2", "10.0.1.1", "10.0.1.1"]
    made, names = series.arrange(rows.iloc[order], {})
    assert names.real_ip == ["10.0.1.1", "10.0.1.2", "10.0.0.9", "10.0.0.10"]
    assert made.tx.tolist() == [[6, 7], [4, 5], [2, 3], [0, 1]]
    assert made.rail.tolist() == [0, 1, 0, 1]


LIMITS = shifts.Limits(DEFAULT.separation, DEFAULT.doubt, DEFAULT.chance)


def test_a_late_replica_of_each_stage_does_not_hide_the_stages() -> None:
    late = np.array([0.0, 0.15, 1.0, 1.15, 2.1, 2.25, 3.2, 3.35])
    mixed = np.array([4, 0, 7, 2, 5, 1, 6, 3])
    label = shifts.blocks(late[mixed], 25.0, 0.3, LIMITS)
    assert (label == mixed // 2).all()


def test_hosts_that_are_spread_in_time_are_not_divided() -> None:
    rng = np.random.default_rng(1)
    spread = [rng.uniform(0, 5, 8), rng.normal(0, 1, 8), np.arange(8) * 0.7]
    assert all(shifts.blocks(each, 60.0, 0.3, LIMITS).max() == 0 for each in spread)


def test_groups_nearer_than_clocks_tell_are_one() -> None:
    near = np.repeat([0.0, 0.25], 4) + np.tile([0.0, 1e-4], 4)
    assert shifts.blocks(near, 25.0, 0.3, LIMITS).max() == 0
    assert shifts.merged(np.arange(8) // 4, near, 25.0, 0.3).max() == 0


@pytest.mark.parametrize(("hosts", "size"), [(8, 2), (8, 4), (12, 3)])
def test_the_p_value_of_spacings_is_their_frequency(hosts: int, size: int) -> None:
    rng = np.random.default_rng(2)
    gap = np.diff(np.sort(rng.uniform(0, 1, (40_000, hosts)), axis=1))
    between = np.arange(1, hosts) % size == 0
    p = np.array([shifts.spacing_p_value(g[~between], g[between]) for g in gap])
    for level in (0.01, 0.05, 0.3):
        assert (p < level).mean() == pytest.approx(level, rel=0.15)


def test_the_least_gap_is_between_members_and_not_between_means_of_groups() -> None:
    shift = np.array([0.0, 0.1, 0.9, 1.0, 2.0, 2.1]) + 29.5  # over the end of a round of 30 s
    label = np.array([0, 0, 1, 1, 2, 2])
    assert shifts.least_gap(label, shift, 30.0) == pytest.approx(0.8)
    assert shifts.least_gap(np.zeros(6, np.int64), shift, 30.0) == np.inf
