"""Latency of sparse paths: their newest answers against what is usual for the path or its pair.

A path that is probed too rarely to fill a window is compared by the answers of several rounds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from localizer.baselines.robust import sorted_lines
from localizer.baselines.sparse_latency import Reference
from localizer.detectors.latency.deviation import LatencyDeviation, cross_section
from localizer.detectors.latency.parameters import DEFAULT, LatencyParameters
from localizer.detectors.latency.sparse_evidence import SparseAnswers, SparseEvidence

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
Bool = npt.NDArray[np.bool_]
I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]

_BLOCK = 8_192  # paths at once: what is computed between two steps stays in the cache


def with_sparse(
    dense: LatencyDeviation,
    end_s: int,
    rows: I64,
    window_s: F64,
    answers: tuple[F32, I32 | I64],
    reference: Reference,
    layer: npt.NDArray[np.int8],
    parameters: LatencyParameters = DEFAULT,
    epoch_s: int = 0,
) -> LatencyDeviation:
    """The deviation of the paths with windows, and of n sparse ones by their newest answers.

    rows       (n,) sparse paths, rising; window_s (n,) seconds that their evidence spans
    answers    (n, m) round trips [us], 0 where absent, and the seconds of their panes
    reference  (n,) what they are compared with; layer (P,)
    epoch_s    from which these seconds count [s since the epoch]
    The value of a path is the mean of the three quartiles of its answers, as that of a window.
    """
    rtt, second = answers
    new = _new(end_s - epoch_s, window_s, rtt, second, reference)
    value = _mean_of_quartiles(rtt, new)
    sparse = _Sparse(rows, window_s, rtt, second, new, value, epoch_s)
    return _merged(dense, sparse, np.asarray(new.any(axis=1)), reference, layer, parameters)


def with_persistent(
    dense: LatencyDeviation,
    end_s: int,
    rows: I64,
    window_s: F64,
    answers: tuple[F32, I32 | I64],
    reference: Reference,
    layer: npt.NDArray[np.int8],
    parameters: LatencyParameters = DEFAULT,
    epoch_s: int = 0,
) -> LatencyDeviation:
    """The same over evidence that is longer: the value of a path is its quickest answer.

    A fault that hits some five-tuples only, a dozen pairs, does not stand out among the answers
    that training slows: of two answers of a healthy path it hardly ever slows both.
    """
    rtt, second = answers
    window_s = parameters.persistent * window_s
    new = _new(end_s - epoch_s, window_s, rtt, second, reference)
    enough: Bool = new.sum(axis=1, dtype=np.int64) >= parameters.least_persistent
    quickest = np.where(new, rtt, np.inf).min(axis=1, initial=np.inf)
    value = np.where(enough, quickest, 0.0)
    sparse = _Sparse(rows, window_s, rtt, second, new, value, epoch_s)
    found = _merged(dense, sparse, enough, reference, layer, parameters)
    if (evidence := found.sparse) is None:
        return found

    def listed() -> SparseAnswers:
        answers = evidence.answers
        return answers._replace(slow=answers.slow & found.flagged[answers.row])

    return replace(found, sparse=replace(evidence, listed=listed))


def _new(end_s: int, window_s: F64, rtt: F32, second: I32 | I64, reference: Reference) -> Bool:
    """(n, m) answers that are evidence."""
    known = np.isfinite(reference.usual_us)[:, None]
    # Answers have whole seconds; numbers of one type are compared in a third of the time.
    since_s = np.ceil(end_s - window_s).astype(second.dtype)[:, None]
    out: Bool = (rtt > 0) & np.greater_equal(second, since_s) & known
    return out


@dataclass(frozen=True, slots=True)
class _Sparse:
    """Sparse paths: rows, window_s, value_us (n,); rtt, second, new (n, m) answers, and which of
    them count; epoch_s: from which seconds count."""

    rows: I64
    window_s: F64
    rtt: F32
    second: I32 | I64
    new: Bool
    value_us: F64
    epoch_s: int


def _merged(
    dense: LatencyDeviation, sparse: _Sparse, valid: Bool, reference: Reference,
    layer: npt.NDArray[np.int8], parameters: LatencyParameters,
) -> LatencyDeviation:  # fmt: skip
    """The deviation of the paths with windows, and of those of n sparse ones that are valid."""
    rows, paths = sparse.rows, len(dense.valid)
    at: I64 | slice = slice(None) if len(rows) == paths else rows  # mostly all of them
    usual = np.nan_to_num(reference.usual_us, nan=0.0)
    excess = np.where(valid, sparse.value_us - usual, 0.0)
    noise = np.maximum(
        np.maximum(reference.spread_us, parameters.noise_share * usual), parameters.noise_us
    )
    layers = layer[at]
    for code in np.unique(layers[valid]):
        here = valid & (layers == code)
        noise[here] = np.maximum(noise[here], cross_section(excess[here], parameters.quicker_share))
    least = np.maximum(parameters.least_us, parameters.least_share * usual)
    bound = np.maximum(parameters.sigmas * noise, least)
    spans, slow_us = np.zeros(paths), np.full(paths, np.nan)
    spans[at], slow_us[at] = (
        sparse.window_s,
        np.where(np.isfinite(reference.usual_us), usual + bound, np.nan),
    )

    def listed() -> SparseAnswers:
        new = np.ascontiguousarray(sparse.new)
        row = rows[np.flatnonzero(new) // new.shape[1]]
        second = sparse.second[new].astype(np.int64) + sparse.epoch_s
        return SparseAnswers(row, second, sparse.rtt[new] > slow_us[row])

    evidence = SparseEvidence(spans, slow_us, listed)
    merged = replace(
        dense, valid=dense.valid.copy(), excess_us=dense.excess_us.copy(),
        noise_us=dense.noise_us.copy(), flagged=dense.flagged.copy(), lof=dense.lof.copy(),
        sparse=evidence,
    )  # fmt: skip
    merged.valid[at], merged.excess_us[at], merged.noise_us[at] = valid, excess, noise
    merged.flagged[at], merged.lof[at] = valid & (excess > bound), np.nan
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
        there = np.flatnonzero(np.bincount(count)).tolist()  # mostly one or two numbers of values
        with np.errstate(invalid="ignore"):  # of paths with fewer values, which are left out
            for each in filter(None, there):
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
