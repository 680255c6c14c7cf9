"""Panes and windows by the compiled helper: equal to the bit to what Python makes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from builders.schemas.compiled_helper import compiled, in_python
from builders.streams.pane_pings import START_S
from hypothesis import given, settings
from hypothesis import strategies as st

from streams.windowing.panes import NO_RTT, Pane, Pings, Window, close_pane, close_window

_START_NS = START_S * 10**9


def random_pings(random: np.random.Generator, rows: int, paths: int, times: int) -> Pings:
    """Records of one second in any order; where there are few times, many are copies."""
    rtt = random.integers(0, 50, rows).astype(np.uint32)
    rtt[random.random(rows) < 0.2] = NO_RTT
    sent, lost, refused = (random.integers(0, 3, rows).astype(np.uint32) for _ in range(3))
    return Pings(
        random.integers(0, paths, rows).astype(np.int32),
        _START_NS + random.integers(0, times, rows) * (999_999_999 // max(times - 1, 1)),
        rtt, sent, lost, refused, np.zeros(rows, np.int32), np.zeros(rows, np.int64),
    )  # fmt: skip


@given(
    rows=st.lists(st.integers(0, 400), min_size=1, max_size=4),
    paths=st.sampled_from([1, 2, 30, 5000]),
    times=st.sampled_from([1, 2, 40, 999_999_999]),
    seed=st.integers(0, 2**32),
)
@settings(deadline=None, max_examples=150)
def test_the_helper_makes_the_panes_that_python_does(
    rows: list[int], paths: int, times: int, seed: int
) -> None:
    compiled()
    random = np.random.default_rng(seed)
    parts = [random_pings(random, n, paths, times) for n in rows]
    pane, duplicates = close_pane(START_S, parts)
    with in_python():
        expected, copies = close_pane(START_S, parts)
    assert duplicates == copies
    for name in Pane.__slots__:
        one, other = getattr(pane, name), getattr(expected, name)
        np.testing.assert_equal(one, other, name)  # bit by bit
        assert name == "start_s" or one.dtype == other.dtype, name


def test_a_closed_pane_holds_no_more_memory_than_its_rows() -> None:
    compiled()
    parts = [random_pings(np.random.default_rng(1), 4000, 10, 5)]
    pane, _ = close_pane(START_S, parts)
    for name in set(Pane.__slots__) - {"start_s"}:
        values = getattr(pane, name)
        whole = values if values.base is None else values.base
        assert whole.nbytes <= 5 * values.nbytes, f"{name} keeps what lies behind it"


def columns(part: Pings) -> tuple[np.ndarray, ...]:
    return (part.path, part.time_ns, part.rtt_ns, part.sent, part.lost, part.refused)


def test_records_of_no_path_or_of_another_second_are_refused() -> None:
    part = random_pings(np.random.default_rng(1), 8, 4, 100)

    def room(rows: int) -> tuple[np.ndarray, ...]:
        return (np.zeros(rows, np.int32), np.zeros((5, rows), np.uint32), np.zeros(rows, "f4"),
                np.zeros(rows, np.uint64))  # fmt: skip

    good = columns(part)
    assert compiled().sum_pings([good], _START_NS, *room(8))[0] == len(np.unique(part.path))
    assert compiled().sum_pings([], _START_NS, *room(0)) == (0, 0)
    late, early = part.time_ns + 10**9, part.time_ns - 10**9
    far = np.full(8, np.iinfo(np.int64).min)
    for wrong, error in (
        (good[:5], TypeError),
        ([*good], TypeError),
        (columns(replace(part, path=part.path - np.int32(4))), ValueError),
        (columns(replace(part, time_ns=late)), ValueError),
        (columns(replace(part, time_ns=early)), ValueError),
        (columns(replace(part, time_ns=far)), ValueError),
        (columns(replace(part, sent=part.sent[1:])), ValueError),
        (columns(replace(part, time_ns=part.time_ns[1:])), ValueError),
    ):
        with pytest.raises(error):
            compiled().sum_pings([wrong], _START_NS, *room(8))
    for at in range(4):
        short = [*room(8)]
        short[at] = short[at][..., 1:].copy()
        with pytest.raises(ValueError, match="buffer"):
            compiled().sum_pings([good], _START_NS, *short)


@given(st.lists(st.lists(st.integers(0, 40), max_size=120), min_size=1, max_size=4))
@settings(deadline=None, max_examples=150)
def test_times_that_are_equal_keep_their_number(paths: list[list[int]]) -> None:
    compiled()
    path = np.arange(len(paths), dtype=np.int32)
    counts = [np.array([*map(len, paths)], np.uint32)] * 5
    samples = [at << 32 | time for at, times in enumerate(paths) for time in times]
    pane = Pane(START_S, path, *counts, np.zeros(len(path), "f4"), np.array(samples, np.uint64))
    found = close_window(START_S, START_S + 30, [pane])
    with in_python():
        expected = close_window(START_S, START_S + 30, [pane])
    np.testing.assert_equal(found.features_us, expected.features_us)


def random_pane(random: np.random.Generator, at: int, paths: int, most: int) -> Pane:
    path = np.flatnonzero(random.random(paths) < 0.7).astype(np.int32)
    count = random.integers(0, most, len(path))
    rtt = random.integers(0, 2**32 - 1, count.sum()) >> random.integers(0, 24, count.sum())
    samples = (np.repeat(path, count).astype(np.uint64) << np.uint64(32)) | rtt.astype(np.uint64)
    records, sent, lost, refused = random.integers(0, 9, (4, len(path)), np.uint32)
    mean = np.zeros(len(path), np.float32)
    return Pane(
        at, path, records, sent, lost, refused, count.astype(np.uint32), mean, np.sort(samples)
    )


@pytest.mark.parametrize(("panes", "most"), [(1, 2), (2, 9), (30, 3), (30, 40)])
def test_the_helper_makes_the_windows_that_python_does(panes: int, most: int) -> None:
    compiled()
    random = np.random.default_rng(panes * most)
    some = [random_pane(random, START_S + at, 50, most) for at in range(panes)]
    found = close_window(START_S, START_S + 30, some)
    with in_python():
        expected = close_window(START_S, START_S + 30, some)
    for name in Window.__slots__:
        one, other = getattr(found, name), getattr(expected, name)
        np.testing.assert_equal(one, other, name)  # bit by bit
    assert {k: v.dtype for k, v in found.features_us.items()} == {
        k: v.dtype for k, v in expected.features_us.items()
    }


def test_panes_that_are_none_are_refused() -> None:
    pane = random_pane(np.random.default_rng(1), START_S, 8, 3)
    good = (pane.path, *([pane.sent] * 5), pane.samples)
    path, counts, out = np.zeros(8, np.int32), np.zeros((5, 8), np.uint32), np.zeros((7, 8), "f4")
    assert compiled().sum_panes([good], path, counts, out) == len(pane.path)
    for wrong, error in (
        (good[:6], TypeError),
        ([*good], TypeError),
        ((pane.path + np.int32(8), *good[1:]), ValueError),
        ((pane.path - np.int32(8), *good[1:]), ValueError),
        ((*good[:6], pane.samples + np.uint64(8 << 32)), ValueError),
        ((*good[:5], pane.sent[1:], pane.samples), ValueError),
    ):
        with pytest.raises(error):
            compiled().sum_panes([wrong], path, counts, out)
    for arrays in ((path, counts[:4], out), (path, counts, out[:6]), (path[:2], counts, out)):
        with pytest.raises(ValueError, match=r"buffer|path"):
            compiled().sum_panes([good], *arrays)
