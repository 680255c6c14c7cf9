"""Paths that are slow outright: most answers of a window, and by far. Pure.

That a healthy path looks slow in a window is so likely that few paths are no alarm: half of the
five-tuples of an rnic that three hosts probe. But what slows a healthy path far slows some of its
answers, not three of four of them: then so few paths are one.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from localizer.detectors.latency.deviation import LatencyDeviation
from localizer.detectors.latency.parameters import DEFAULT, LatencyParameters

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
Bool = npt.NDArray[np.bool_]
I64 = npt.NDArray[np.int64]


def far_above(
    shift: LatencyDeviation, usual_us: F32, parameters: LatencyParameters = DEFAULT
) -> I64:
    """(n,) flagged paths with windows whose excess is far above what flags a path.

    usual_us  (P,) round trip that each is compared with [us]
    """
    rows = np.flatnonzero(shift.flagged)
    if shift.sparse is not None:
        rows = rows[shift.sparse.window_s[rows] == 0]
    return rows[shift.excess_us[rows] > _far_us(shift, usual_us, rows, parameters)]


def outright(
    shift: LatencyDeviation,
    rows: I64,
    rtt_us: F32,
    usual_us: F32,
    parameters: LatencyParameters = DEFAULT,
) -> Bool:
    """(P,) paths that are slow outright.

    rows      (n,) of ``far_above``
    rtt_us    (S, n) their mean round trip in each second of the window [us], 0: no answer
    usual_us  (P,) as of ``far_above``
    """
    bound = usual_us[rows] + _far_us(shift, usual_us, rows, parameters)
    answered, far = (rtt_us > 0).sum(axis=0), (rtt_us > bound).sum(axis=0)
    out = np.zeros(len(shift.flagged), bool)
    enough = far >= np.maximum(parameters.least_outright, parameters.outright_answers * answered)
    out[rows] = enough
    return out


def _far_us(
    shift: LatencyDeviation, usual_us: F32, rows: I64, parameters: LatencyParameters
) -> F64:
    """(n,) excess that is far above what flags a path [us]."""
    least = np.maximum(
        parameters.least_us, parameters.least_share * usual_us[rows].astype(np.float64)
    )
    return parameters.outright * np.maximum(parameters.sigmas * shift.noise_us[rows], least)
