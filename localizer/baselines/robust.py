"""Medians over short axes, and the factor that makes a median deviation a standard one."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

F64 = npt.NDArray[np.float64]
Floats = npt.NDArray[np.floating]

#: Standard deviation of a normal distribution over its median absolute deviation, 1 / Phi^-1(3/4).
MAD_TO_SIGMA: Final = 1.4826


def median(values: Floats) -> F64:
    """(P, F) median over the second axis of (P, R, F), NaNs left out; NaN where all are NaN.

    numpy's nanmedian takes ten times as long on short axes.
    """
    ordered = np.sort(values, axis=1)
    count = np.isfinite(ordered).sum(axis=1, keepdims=True)
    low = np.take_along_axis(ordered, np.maximum((count - 1) // 2, 0), axis=1)
    high = np.take_along_axis(ordered, np.minimum(count // 2, values.shape[1] - 1), axis=1)
    half: F64 = ((low + high) / 2.0)[:, 0].astype(np.float64)
    return np.where(count[:, 0] > 0, half, np.nan)
