"""Summaries of the windows of the last five minutes: each path by itself."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from localizer.baselines.latency import FEATURES, LatencyBaseline, mean_of_quartiles
from localizer.baselines.robust import MAD_TO_SIGMA

PATHS = 7
FEATURE = st.one_of(st.floats(1, 1e5, width=32), st.just(np.nan))


@given(arrays.arrays(np.float32, (PATHS, len(FEATURES)), elements=FEATURE))
def test_the_mean_of_quartiles_is_that_of_numpy(features: np.ndarray) -> None:
    for dtype in (np.float32, np.float64):
        wanted = features[:, :3].mean(axis=1, dtype=dtype)
        assert np.array_equal(mean_of_quartiles(features, dtype), wanted, equal_nan=True)


@given(
    arrays.arrays(np.float32, st.tuples(st.integers(1, 10), st.just(PATHS), st.just(len(FEATURES))),
                  elements=FEATURE),
    st.integers(0, 2**10 - 1),
)  # fmt: skip
def test_a_summary_is_the_median_spread_and_second_maximum_of_windows_without_a_flag(
    windows: np.ndarray, flags: int
) -> None:
    baseline = LatencyBaseline()
    flagged = np.array([[bool(flags >> (w + p) % 10 & 1) for p in range(PATHS)] for w in range(10)])
    flagged = flagged[: len(windows)]
    for number, (features, slow) in enumerate(zip(windows, flagged, strict=True), 1):
        baseline.learn(30 * number, features, slow)
    baseline.advance(30 * (len(windows) + 1), PATHS)
    for path in range(PATHS):
        calm = ~flagged[:, path] & np.isfinite(windows[:, path, 6])
        value = windows[calm, path, :3].mean(axis=1)
        value = value[np.isfinite(value)]
        middle = np.median(value) if len(value) else np.nan
        assert np.isclose(baseline.middle[path], middle, equal_nan=True)
        spread = MAD_TO_SIGMA * np.median(np.abs(value - middle)) if len(value) >= 4 else 0.0
        assert np.isclose(baseline.spread[path], spread, rtol=1e-5, atol=0.05)
        ceiling = np.sort(windows[calm, path, 6])[-2] if len(value) >= 8 else np.nan
        assert np.array_equal(baseline.ceiling[path], ceiling, equal_nan=True)


@given(
    arrays.arrays(np.float32, st.tuples(st.integers(1, 5), st.just(PATHS), st.just(len(FEATURES))),
                  elements=FEATURE),
    st.lists(st.integers(0, 2**PATHS - 1), min_size=5, max_size=5),
    st.integers(0, 2**PATHS - 1),
)  # fmt: skip
def test_windows_of_some_paths_are_those_of_all_with_nothing_elsewhere(
    windows: np.ndarray, there: list[int], dropped: int
) -> None:
    def mask(bits: int) -> np.ndarray:
        return np.array([bool(bits >> path & 1) for path in range(PATHS)])

    some, every = LatencyBaseline(), LatencyBaseline()
    for number, (features, bits) in enumerate(zip(windows, there, strict=False), 1):
        has = mask(bits)
        full = np.where(has[:, None], features, np.float32(np.nan))
        flagged = has & (features[:, 0] > 1e3)
        rows = np.flatnonzero(has)
        some.learn(30 * number, full[rows], flagged, rows)
        every.learn(30 * number, full, flagged)
    for keep in (np.ones(PATHS, bool), mask(dropped)):
        for baseline in (some, every):
            baseline.retain(keep)
            baseline.advance(30 * (len(windows) + 1), int(keep.sum()))
        for name in ("reference", "middle", "spread", "ceiling"):
            found, wanted = getattr(some, name), getattr(every, name)
            assert np.array_equal(found, wanted, equal_nan=True), name
        asked = np.arange(int(keep.sum()))
        assert np.array_equal(some.references(asked), every.references(asked), equal_nan=True)
        found, wanted = (each.flagged_before(1, len(asked)) for each in (some, every))
        assert found.tolist() == wanted.tolist()


def test_paths_without_windows_take_no_memory_but_for_flags_and_summary() -> None:
    paths, baseline = 1000, LatencyBaseline()
    nothing = np.empty((0, len(FEATURES)), np.float32)
    for number in range(1, 12):
        baseline.learn(30 * number, nothing, np.zeros(paths, bool), np.empty(0, np.int64))
    baseline.advance(360, paths)
    assert np.isnan(baseline.reference).all()
    assert baseline.nbytes <= 27 * paths
