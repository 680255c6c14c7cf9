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
