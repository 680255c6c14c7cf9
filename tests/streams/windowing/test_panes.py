"""Panes and windows against plain Python: sums, duplicates, features."""

from __future__ import annotations

import random
from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from builders.streams.pane_pings import START_S, Ping, pings, plain
from hypothesis import given, settings
from hypothesis import strategies as st

from streams.windowing.panes import close_pane, close_window, features

records = st.builds(
    Ping,
    path=st.integers(0, 4),
    at_s=st.integers(0, 20).map(lambda n: n / 21),  # few times, so that duplicates happen
    rtt_us=st.none() | st.integers(0, 4_000_000).map(lambda ns: ns / 1000),
    sent=st.integers(0, 9),
    lost=st.integers(0, 9),
    refused=st.integers(0, 2),
    source=st.just(0),
    offset=st.just(0),
)


def kept(found: list[Ping]) -> list[Ping]:
    """One copy of each (path, time): the fewest lost, then the shortest time, and so on."""
    best: dict[tuple[int, int], Ping] = {}

    def rank(r: Ping) -> tuple[float, ...]:
        return (r.lost, float("inf") if r.rtt_us is None else r.rtt_us, r.refused, r.sent)

    for record in found:
        key = (record.path, record.time_ns)
        if key not in best or rank(record) < rank(best[key]):
            best[key] = record
    return list(best.values())


def reference(found: list[Ping]) -> dict[int, dict[str, Any]]:
    """path -> sums, told record by record."""
    out: dict[int, dict[str, Any]] = {}
    for r in kept(found):
        row = out.setdefault(r.path, {"records": 0, "sent": 0, "lost": 0, "refused": 0, "rtts": []})
        row["records"] += 1
        row["sent"] += r.sent
        row["lost"] += r.lost
        row["refused"] += r.refused
        row["rtts"] += [] if r.rtt_us is None else [round(r.rtt_us * 1000)]
    return out


@given(st.lists(records, min_size=1, max_size=30), st.integers(1, 4))
@settings(deadline=None, max_examples=150)
def test_a_pane_is_the_sum_of_its_records(found: list[Ping], parts: int) -> None:
    pane, duplicates = close_pane(
        START_S, [pings(p) for n in range(parts) if (p := found[n::parts])]
    )
    known = reference(found)
    assert pane.path.tolist() == sorted(known)
    for at, path in enumerate(pane.path.tolist()):
        row = known[path]
        for name in ("records", "sent", "lost", "refused"):
            assert getattr(pane, name)[at] == row[name], name
        assert pane.rtt_count[at] == len(row["rtts"])
        mean_us = sum(row["rtts"]) / max(1, len(row["rtts"])) / 1000
        assert pane.rtt_mean_us[at] == pytest.approx(mean_us, rel=1e-6)
    samples = sorted((path, ns) for path, row in known.items() for ns in row["rtts"])
    assert [(int(key) >> 32, int(key) & 0xFFFFFFFF) for key in pane.samples] == samples
    assert duplicates == len(found) - len(kept(found))


@given(st.lists(records, min_size=1, max_size=20), st.randoms())
@settings(deadline=None, max_examples=100)
def test_which_copy_of_a_duplicate_counts_does_not_depend_on_its_arrival(
    found: list[Ping], order: random.Random
) -> None:
    shuffled = order.sample(found, len(found))
    one, other = close_pane(START_S, [pings(found)]), close_pane(START_S, [pings(shuffled)])
    assert plain(one[0]) == plain(other[0])
    assert one[1] == other[1]


def test_the_copy_with_an_answer_wins() -> None:
    lost, answered = Ping(1, 0.5, None, lost=1), Ping(1, 0.5, 12.0)
    pane, duplicates = close_pane(START_S, [pings([lost]), pings([answered])])
    assert (pane.lost.tolist(), pane.rtt_count.tolist(), duplicates) == ([0], [1], 1)


def test_the_same_time_on_another_path_is_no_duplicate() -> None:
    pane, duplicates = close_pane(START_S, [pings([Ping(1, 0.5), Ping(2, 0.5)])])
    assert (pane.path.tolist(), duplicates) == ([1, 2], 0)


def test_the_first_and_the_last_nanosecond_belong_to_the_pane() -> None:
    pane, _ = close_pane(START_S, [pings([Ping(1, 0.0), Ping(1, 1 - 1e-9)])])
    assert pane.records.tolist() == [2]


@given(st.lists(st.lists(records, min_size=1, max_size=12), min_size=1, max_size=6))
@settings(deadline=None, max_examples=80)
def test_a_window_is_the_sum_of_its_panes(seconds: list[list[Ping]]) -> None:
    panes = [
        close_pane(START_S + at, [pings([r._replace(at_s=r.at_s + at) for r in found])])[0]
        for at, found in enumerate(seconds)
    ]
    window = close_window(START_S, START_S + 30, panes)
    sums: defaultdict[int, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    rtts: defaultdict[int, list[int]] = defaultdict(list)
    for found in seconds:
        for path, row in reference(found).items():
            for name in ("records", "sent", "lost", "refused"):
                sums[path][name] += row[name]
            rtts[path] += row["rtts"]
    assert window.path.tolist() == sorted(sums)
    for at, path in enumerate(window.path.tolist()):
        assert {name: int(getattr(window, name)[at]) for name in sums[path]} == sums[path]
        assert window.rtt_count[at] == len(rtts[path])
        assert_features({k: float(v[at]) for k, v in window.features_us.items()}, rtts[path])


def assert_features(found: dict[str, float], rtts_ns: list[int]) -> None:
    """numpy is the reference: type 7 quantiles, the sample's standard deviation."""
    assert list(found) == ["mean", "p25", "p50", "p75", "min", "std", "max"]
    if not rtts_ns:
        assert all(np.isnan(value) for value in found.values())
        return
    us = np.array(rtts_ns) / 1000
    known = {
        "mean": us.mean(), "min": us.min(), "max": us.max(),
        "std": us.std(ddof=1) if len(us) > 1 else 0.0,
        **{f"p{q}": np.percentile(us, q) for q in (25, 50, 75)},
    }  # fmt: skip
    for name, value in known.items():
        assert found[name] == pytest.approx(value, rel=1e-5, abs=1e-4), name


@given(
    st.dictionaries(
        st.integers(0, 2**31 - 1),
        st.lists(st.integers(0, 2**32 - 2), min_size=1, max_size=40),
        max_size=5,
    ),
    st.sets(st.integers(0, 2**31 - 1), max_size=3),
)
@settings(deadline=None, max_examples=100)
def test_features_of_any_round_trips_equal_numpys(
    rtts: dict[int, list[int]], silent: set[int]
) -> None:
    keys = [(path << 32) | ns for path, found in rtts.items() for ns in found]
    paths = np.array(sorted({*rtts, *silent}), np.int32)
    out = features(np.sort(np.array(keys, np.uint64)), paths)
    for at, path in enumerate(paths.tolist()):
        found = {name: float(values[at]) for name, values in out.items()}
        if path in rtts:  # float32 holds seven digits of an hour
            us = np.array(rtts[path]) / 1000
            assert found["p50"] == pytest.approx(np.percentile(us, 50), rel=1e-6, abs=1e-3)
            assert found["mean"] == pytest.approx(us.mean(), rel=1e-6, abs=1e-3)
            assert found["min"] <= found["p25"] <= found["p50"] <= found["p75"] <= found["max"]
        else:
            assert np.isnan(found["p50"])


def test_a_window_without_panes_is_empty() -> None:
    window = close_window(START_S, START_S + 30, [])
    assert len(window.path) == len(window.sent) == 0
    assert all(len(values) == 0 for values in window.features_us.values())


def test_counts_of_a_busy_window_do_not_wrap() -> None:
    busy = [Ping(1, n / 100, sent=10**6, lost=10**6) for n in range(100)]
    panes = [
        close_pane(START_S + at, [pings([r._replace(at_s=r.at_s + at) for r in busy])])[0]
        for at in range(30)
    ]
    assert close_window(START_S, START_S + 30, panes).sent.tolist() == [30 * 100 * 10**6]
