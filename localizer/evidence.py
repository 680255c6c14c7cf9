"""What a strategy is given and what it gives back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

Bool = npt.NDArray[np.bool_]
F64 = npt.NDArray[np.float64]
I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Evidence:
    """One window of probes over P paths and C observability classes of components.

    incidence   (P, C) share of a path's traversals, forward and reply, that cross the class; 0..1
    sent, lost  (P,) probes [count]
    excess_us   (P,) latency above the path's own past [us]; zeros when the symptom is loss
    noise_us    (P,) robust spread of that excess while healthy [us], > 0; ones when it is loss
    bad         (P,) paths that the detector holds for bad
    source      (P,) code of the source host
    overlay     (P,) layer
    background  healthy loss probability of a round trip [1], learnt
    latency     the symptom is latency; else it is loss or unreachability
    suspect     (C,) classes of open incidents: likelier than others to be the cause now; None: none
    """

    incidence: sparse.csr_array
    sent: I64
    lost: I64
    excess_us: F64
    noise_us: F64
    bad: Bool
    source: I32
    overlay: Bool
    background: float
    latency: bool = False
    suspect: Bool | None = None


@dataclass(frozen=True, slots=True)
class Blame:
    """A class that a strategy holds for guilty.

    column   column of the incidence
    effect   estimated loss probability [1] or added latency [us] of a path that crosses it fully
    p_value  of the strategy's own test, corrected for the classes it looked at; 1.0 if it has none
    """

    column: int
    effect: float
    p_value: float
