"""When something changed: the likeliest single change of a mean, or of a rate. Pure."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

F64 = npt.NDArray[np.float64]


def change_of_level(values: F64, weight: F64) -> int:
    """Index of the first value of a new level: the likeliest single change of a mean.

    values  (S,) series; weight (S,) how well each value is known, 0: not at all
    Source  Gaussian likelihood of one change in mean (Page 1955; Hinkley 1970): the cut that leaves
            the least squares within the two parts
    """
    weight = np.where(np.isfinite(values), weight, 0.0)
    values = np.where(weight > 0, values, 0.0)
    ahead_w, ahead = np.cumsum(weight)[:-1], np.cumsum(weight * values)[:-1]
    after_w, after = weight.sum() - ahead_w, float(weight @ values) - ahead
    gain = np.where(
        (ahead_w > 0) & (after_w > 0),
        ahead**2 / np.maximum(ahead_w, 1e-12) + after**2 / np.maximum(after_w, 1e-12),
        -np.inf,
    )
    return int(np.argmax(gain)) + 1 if len(gain) and np.isfinite(gain).any() else 0
