"""Latency, short term: each path against its own past, so that no path needs to be like another.

The value of a window, the mean of its three quartiles, is compared with the median over ten
disjoint earlier windows (``baselines.latency``; five minutes span the burst cycles of training,
after SkeletonHunter, SIGCOMM 2025). A path is flagged when the shift is significant, material, and
the window does not look like a few of the earlier ones in all seven features (``lof``): what came
and went three times in five minutes is the rhythm of the workload.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from localizer.baselines.latency import LatencyBaseline, mean_of_quartiles
from localizer.baselines.robust import MAD_TO_SIGMA, sorted_lines
from localizer.baselines.sparse_latency import Reference
from localizer.detectors import lof
from schemas.parameters.parameter import parameter

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
Bool = npt.NDArray[np.bool_]
I64 = npt.NDArray[np.int64]

_BLOCK = 8_192  # paths at once: what is computed between two steps stays in the cache


@dataclass(frozen=True, slots=True)
class LatencyParameters:
    """When a window of a path counts as slow.

    least_answers   answered probes that make a window comparable
    sigmas          the shift must exceed so many times the path's noise,
    least_us        and this,
    least_share     and this share of the path's own round trip
    outlying        and the Local Outlier Factor of the window must be at least this
    healthy_share   share of healthy paths that may look slow, whatever the others of their peer
                    group do
    lasting         windows in a row: of what few pairs cross, so many must be slow
    lasting_share   share of healthy paths that may look slow in each of them
    quicker_share   share of paths that must be quicker than usual for them to tell the noise
    noise_share     a path's noise is at least this share of its round trip,
    noise_us        and at least this
    persistent      sparse paths: over evidence that is so many times as long, a path is as slow as
                    the quickest of its answers,
    least_persistent  of so many at least
    """

    least_answers: int = parameter(
        3, unit="probes", source="chosen: one answer for each of the three quartiles"
    )
    sigmas: float = parameter(
        4.0, unit="1", source="chosen: pytest tests/localizer/detectors (quiet paths)"
    )
    least_us: float = parameter(
        2.0, unit="us", source="chosen: make scorecard (recall of high_latency)"
    )
    least_share: float = parameter(
        0.10, unit="1", source="chosen: make scorecard (recall of high_latency)"
    )
    outlying: float = parameter(
        2.0, unit="1",
        source="measured: 98 of 100 healthy windows of simulated clusters are below; with +10 us "
        "on a path of 15 us 99 of 100 score above 10 (above 1 where bursts last up to 12 s and "
        "quadruple the round trip)",
    )  # fmt: skip
    healthy_share: float = parameter(
        0.005, unit="1", source="measured: on clean clusters 2e-4 on average, this at worst"
    )
    lasting: int = parameter(
        3, unit="windows", source="chosen: 90 s, longer than what slows a few pairs by chance"
    )
    lasting_share: float = parameter(
        1e-4, unit="1",
        source="chosen: pytest tests/localizer/situations/test_slow_rnic_in_a_ring.py; of 32,000 "
        "windows under bursts none is a third in a row, which bounds it at 9e-5 with 95 %",
    )  # fmt: skip
    quicker_share: float = parameter(
        0.1, unit="1", source="chosen: pytest tests/localizer/detectors (a switch slows most paths)"
    )
    noise_share: float = parameter(
        0.02, unit="1", source="chosen: pytest tests/localizer/detectors (quiet paths)"
    )
    noise_us: float = parameter(
        0.3, unit="us", source="chosen: pytest tests/localizer/detectors (quiet paths)"
    )
    persistent: float = parameter(
        2.0, unit="1", source="chosen: eight rounds of a pair, the time to name latency"
    )
    least_persistent: int = parameter(2, unit="answers", source="chosen: one of them is a burst's")


DEFAULT: Final = LatencyParameters()


class SparseAnswers(NamedTuple):
    """Answers of sparse paths, one by one: M of them, those of a path beside each other.

    row   (M,) path of each answer; second (M,) of it
    slow  (M,) whether it is slow by itself
    """

    row: I64
    second: I64
    slow: Bool


@dataclass(frozen=True)
class SparseEvidence:
    """Evidence of sparse paths.

    window_s  (P,) seconds that the evidence of each path spans; 0: it has windows
    slow_us   (P,) answers of sparse paths above this are slow [us]; NaN where unknown
    listed    makes ``answers``; most windows end without anybody who asks for them
    """

    window_s: F64
    slow_us: F64
    listed: Callable[[], SparseAnswers]

    @cached_property
    def answers(self) -> SparseAnswers:
        """The answers that are evidence."""
        return self.listed()

    def bounds(self, rows: Bool | slice = slice(None)) -> SparseEvidence:
        """Without the answers, and all paths but those of a mask (P,)."""
        known = rows if isinstance(rows, slice) else rows[: len(self.window_s)]
        return SparseEvidence(self.window_s[known], self.slow_us[known], _no_answers)


def _no_answers() -> SparseAnswers:
    none = np.empty(0, np.int64)
    return SparseAnswers(none, none, np.empty(0, bool))


@dataclass(frozen=True, slots=True)
class LatencyDeviation:
    """One window against the past, per path.

    valid          (P,) there was something to compare
    excess_us      (P,) value minus reference, 0 where not valid
    noise_us       (P,) robust spread of that difference while healthy, > 0
    flagged        (P,) shifted upwards: significantly, materially, and unlike earlier windows
    lof            (P,) Local Outlier Factor of the paths that shifted; NaN elsewhere, or without a
                   past
    healthy_share  share of healthy paths that may look shifted [1]
    sparse         evidence of the sparse paths; None where all have windows
    """

    valid: Bool
    excess_us: F64
    noise_us: F64
    flagged: Bool
    lof: F32
    healthy_share: float = DEFAULT.healthy_share
    sparse: SparseEvidence | None = None


def deviation(
    baseline: LatencyBaseline,
    end_s: int,
    features: F32,
    layer: npt.NDArray[np.int8],
    parameters: LatencyParameters = DEFAULT,
    lof_parameters: lof.LofParameters = lof.DEFAULT,
) -> LatencyDeviation:
    """Compare a window with the baseline, which is advanced to it but learns nothing.

    end_s     end of the window [s]
    features  (P, F) as in FEATURES [us]; NaN where too few probes were answered
    layer     (P,) code of the layer: the cross-section of healthy shifts is taken within it
    """
    paths = len(features)
    baseline.advance(end_s, paths)
    reference = baseline.reference
    value = mean_of_quartiles(features, np.float64)
    valid = np.isfinite(value) & np.isfinite(reference)
    excess = np.where(valid, value - reference, 0.0)
    usual = np.nan_to_num(reference.astype(np.float64))
    noise = np.maximum(
        np.maximum(baseline.spread, parameters.noise_share * usual), parameters.noise_us
    )
    for code in np.unique(layer[valid]):
        here = valid & (layer == code)
        noise[here] = np.maximum(
            noise[here], _cross_section(excess[here], parameters.quicker_share)
        )
    least = np.maximum(parameters.least_us, parameters.least_share * usual)
    shifted = np.flatnonzero(valid & (excess > np.maximum(parameters.sigmas * noise, least)))
    references = baseline.references(shifted)
    units = lof.in_noise_units(references, features[shifted], lof_parameters)
    factor = np.full(paths, np.nan, np.float32)
    factor[shifted] = lof.local_outlier_factor(*units, lof_parameters.neighbours)
    flagged = np.zeros(paths, bool)
    flagged[shifted] = ~(factor[shifted] < parameters.outlying)  # NaN: the shift alone decides
    return LatencyDeviation(valid, excess, noise, flagged, factor, parameters.healthy_share)


def lasting(
    newest: LatencyDeviation,
    baseline: LatencyBaseline,
    sparse: I64,
    parameters: LatencyParameters = DEFAULT,
) -> LatencyDeviation:
    """The newest window, but only paths are flagged that were so in those before it, too.

    sparse  rows of the paths that have no windows
    Two pairs that are slow in one window may be so by chance, but hardly in three in a row.
    """
    flagged = newest.flagged & baseline.flagged_before(parameters.lasting - 1, len(newest.flagged))
    valid = newest.valid.copy()
    valid[sparse] = flagged[sparse] = False
    return replace(
        newest, valid=valid, flagged=flagged, healthy_share=parameters.lasting_share, sparse=None
    )


def with_sparse(
    dense: LatencyDeviation,
    end_s: int,
    rows: I64,
    window_s: F64,
    answers: tuple[F32, I64],
    reference: Reference,
    layer: npt.NDArray[np.int8],
    parameters: LatencyParameters = DEFAULT,
) -> LatencyDeviation:
    """The deviation of the paths with windows, and of n sparse ones by their newest answers.

    rows       (n,) sparse paths; window_s (n,) seconds that their evidence spans
    answers    (n, m) round trips [us], 0 where absent, and the seconds of their panes
    reference  (n,) what they are compared with; layer (P,)
    The value of a path is the mean of the three quartiles of its answers, as that of a window.
    """
    rtt, second = answers
    new = _new(end_s, window_s, rtt, second, reference)
    sparse = _Sparse(rows, window_s, rtt, second, new, _mean_of_quartiles(rtt, new))
    return _merged(dense, sparse, np.asarray(new.any(axis=1)), reference, layer, parameters)


def with_persistent(
    dense: LatencyDeviation,
    end_s: int,
    rows: I64,
    window_s: F64,
    answers: tuple[F32, I64],
    reference: Reference,
    layer: npt.NDArray[np.int8],
    parameters: LatencyParameters = DEFAULT,
) -> LatencyDeviation:
    """The same over evidence that is longer: the value of a path is its quickest answer.

    A fault that hits some five-tuples only, a dozen pairs, does not stand out among the answers
    that training slows: of two answers of a healthy path it hardly ever slows both.
    """
    rtt, second = answers
    window_s = parameters.persistent * window_s
    new = _new(end_s, window_s, rtt, second, reference)
    enough: Bool = new.sum(axis=1, dtype=np.int64) >= parameters.least_persistent
    quickest = np.where(new, rtt, np.inf).min(axis=1, initial=np.inf)
    sparse = _Sparse(rows, window_s, rtt, second, new, np.where(enough, quickest, 0.0))
    found = _merged(dense, sparse, enough, reference, layer, parameters)
    if (evidence := found.sparse) is None:
        return found

    def listed() -> SparseAnswers:
        answers = evidence.answers
        return answers._replace(slow=answers.slow & found.flagged[answers.row])

    return replace(found, sparse=replace(evidence, listed=listed))


def _new(end_s: int, window_s: F64, rtt: F32, second: I64, reference: Reference) -> Bool:
    """(n, m) answers that are evidence."""
    known = np.isfinite(reference.usual_us)[:, None]
    out: Bool = (rtt > 0) & (second >= end_s - window_s[:, None]) & known
    return out


@dataclass(frozen=True, slots=True)
class _Sparse:
    """Sparse paths: rows, window_s, value_us (n,); rtt, second, new (n, m) answers, and which of
    them count."""

    rows: I64
    window_s: F64
    rtt: F32
    second: I64
    new: Bool
    value_us: F64


def _merged(
    dense: LatencyDeviation, sparse: _Sparse, valid: Bool, reference: Reference,
    layer: npt.NDArray[np.int8], parameters: LatencyParameters,
) -> LatencyDeviation:  # fmt: skip
    """The deviation of the paths with windows, and of those of n sparse ones that are valid."""
    rows = sparse.rows
    usual = np.nan_to_num(reference.usual_us, nan=0.0)
    excess = np.where(valid, sparse.value_us - usual, 0.0)
    noise = np.maximum(
        np.maximum(reference.spread_us, parameters.noise_share * usual), parameters.noise_us
    )
    for code in np.unique(layer[rows[valid]]):
        here = valid & (layer[rows] == code)
        noise[here] = np.maximum(
            noise[here], _cross_section(excess[here], parameters.quicker_share)
        )
    least = np.maximum(parameters.least_us, parameters.least_share * usual)
    bound = np.maximum(parameters.sigmas * noise, least)
    paths = len(dense.valid)
    spans, slow_us = np.zeros(paths), np.full(paths, np.nan)
    spans[rows], slow_us[rows] = (
        sparse.window_s,
        np.where(np.isfinite(reference.usual_us), usual + bound, np.nan),
    )

    def listed() -> SparseAnswers:
        new = np.ascontiguousarray(sparse.new)
        row = rows[np.flatnonzero(new) // new.shape[1]]
        return SparseAnswers(row, sparse.second[new], sparse.rtt[new] > slow_us[row])

    evidence = SparseEvidence(spans, slow_us, listed)
    merged = replace(
        dense, valid=dense.valid.copy(), excess_us=dense.excess_us.copy(),
        noise_us=dense.noise_us.copy(), flagged=dense.flagged.copy(), lof=dense.lof.copy(),
        sparse=evidence,
    )  # fmt: skip
    merged.valid[rows], merged.excess_us[rows], merged.noise_us[rows] = valid, excess, noise
    merged.flagged[rows], merged.lof[rows] = valid & (excess > bound), np.nan
    return merged


def _mean_of_quartiles(values: F32, counts: Bool) -> F64:
    """(n,) mean of the three quartiles of the values (n, m) that count; 0 where none does.

    Source  quantiles of type 7 (Hyndman & Fan 1996), as those of windows
    """
    out = np.zeros(len(values))
    for start in range(0, len(values), _BLOCK):
        part = slice(start, start + _BLOCK)
        known, count = counts[part].T, counts[part].sum(axis=1, dtype=np.int64)
        ordered = sorted_lines(np.where(known, values[part].T, np.float32(np.inf)))
        lines = [line.astype(np.float64) for line in ordered]
        with np.errstate(invalid="ignore"):  # of paths with fewer values, which are left out
            for each in range(1, len(lines) + 1):
                np.copyto(out[part], _quartiles_of(lines[:each]), where=count == each)
    return out


def _quartiles_of(lines: list[F64]) -> F64:
    """(n,) mean of the quartiles of so many values each, which are sorted."""
    total, last = np.zeros(len(lines[0])), len(lines) - 1
    for quarter in (1, 2, 3):
        position = last * quarter / 4
        below = int(position)
        low, high = lines[below], lines[min(below + 1, last)]
        total += (low + (high - low) * (position - below)) / 3
    return total


def comparable(
    features: F32,
    count: npt.NDArray[np.integer],
    whole: Bool,
    least_answers: int = DEFAULT.least_answers,
) -> F32:
    """(n, F) features with NaN where a window holds too little.

    features  (n, F) [us]; count (n,) answered probes
    whole     (n,) answered all through the window: a part of it, from a container that has just
              come back, may be nothing but a training burst
    """
    out = features.astype(np.float32)
    out[(count < least_answers) | ~whole] = np.nan
    return out


def _cross_section(excess_us: F64, quicker_share: float) -> float:
    """Robust spread of the healthy among these shifts [us].

    About the median while the median itself is healthy. A switch of a small fabric may slow most of
    the paths: then their excess is no spread, and that of the paths that are quicker than usual is.
    """
    about = np.median(np.abs(excess_us - np.median(excess_us)))
    quicker = -excess_us[excess_us < 0]
    if len(quicker) >= quicker_share * len(excess_us):
        about = min(about, np.median(quicker))
    return MAD_TO_SIGMA * float(about)
