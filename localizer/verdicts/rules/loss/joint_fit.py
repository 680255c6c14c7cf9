"""How likely lost and answered probes are, if some components lose and all else is healthy."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]

#: Losses of one crossing that are tried: none, and from little more than healthy to all.
_TRIED: Final = -np.log1p(
    -np.concatenate([[0.0], np.geomspace(1e-3, 0.5, 20), [0.6, 0.7, 0.8, 0.9, 0.99, 0.9999]])
)
_LEAST: Final = 1e-6  # a loss that any path may have
_STEP: Final = 1e-3  # crossings that differ by less are alike
_SWEEPS: Final = 8
#: Components at once: the crossings of a path are kept in one integer.
MOST: Final = 5


def log_likelihood(crossings: F64, sent: F64 | I64, lost: F64 | I64, healthy: float) -> float:
    """ln of the likelihood of counts, at the losses of one crossing that suit them best [nat].

    crossings   (n, m) how often a round trip crosses each component, m <= MOST; of a route that is
                known in part, the expected number
    sent, lost  (n,) probes
    healthy     loss of a round trip that crosses none of them [1]
    Crossings that lose independently add up in -ln of the answered share; the likelihood is concave
    in these, so that the best one is found component by component.
    """
    times, n, k = _alike(crossings, sent, lost)
    floor = -np.log1p(-max(healthy, _LEAST))
    hazards = np.zeros(times.shape[1])
    best = -np.inf
    for _ in range(_SWEEPS):
        before = best
        for column in range(times.shape[1]):
            hazards[column] = 0.0
            rest = times @ hazards + floor
            total = rest[:, None] + times[:, column, None] * _TRIED
            likely = k @ np.log(-np.expm1(-total)) - (n - k) @ total
            hazards[column] = _TRIED[likely.argmax()]
            best = float(likely.max())
        if best - before < 1e-3:
            break
    return best


def _alike(crossings: F64, sent: F64 | I64, lost: F64 | I64) -> tuple[F64, F64, F64]:
    """Crossings (p, m) that differ, and the probes sent and lost over each (p,)."""
    steps = np.round(crossings / _STEP).astype(np.int64)
    base = int(steps.max(initial=0)) + 1
    key = steps @ base ** np.arange(steps.shape[1])
    _, first, which = np.unique(key, return_index=True, return_inverse=True)
    n, k = (np.bincount(which, each, len(first)).astype(np.float64) for each in (sent, lost))
    return (steps[first] * _STEP).astype(np.float64), n, k
