"""What single answers of sparse paths say of a candidate, and when they were given.

A burst of training slows most answers of a few seconds, and agents may probe all of their targets
in the same second: a single answer of many paths is one draw. So answers are compared with what
other paths of the same job were answered at the same time, must be slow at several times, and must
be slow still.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from localizer.detectors import peer_groups
from localizer.detectors.latency.deviation import LatencyDeviation
from localizer.detectors.latency.sparse_evidence import SparseAnswers, SparseEvidence
from localizer.verdicts.parameters import LatencyVerdictParameters

Bool = npt.NDArray[np.bool_]
F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]


class Pace(NamedTuple):
    """The paths whose evidence spans no more than so many seconds.

    shift   their deviation; length_s: what it spans [s]
    """

    shift: LatencyDeviation
    length_s: int


def by_pace(
    shift: LatencyDeviation, window_s: int, parameters: LatencyVerdictParameters
) -> list[Pace]:
    """The paths that are probed most often, then these and the next slower ones, then all.

    window_s  length of the windows of paths that are not sparse [s]
    A fabric may mix cadences: what the quick paths see must not wait for the slow ones, whose
    newest answers may be older than the trouble.
    """
    if shift.sparse is None:
        return [Pace(shift, window_s)]
    spans = np.maximum(shift.sparse.window_s, 1.0)
    step = np.ceil(np.log(spans / window_s) / np.log(parameters.pace)).clip(0)
    found = []
    for each in np.unique(step[shift.valid]):
        valid = shift.valid & (step <= each)
        length_s = max(window_s, int(spans[valid].max()))
        found.append(Pace(_only(shift, valid), length_s))
    return found or [Pace(shift, window_s)]


def _only(shift: LatencyDeviation, valid: Bool) -> LatencyDeviation:
    return LatencyDeviation(
        valid, shift.excess_us, shift.noise_us, shift.flagged & valid, shift.lof,
        shift.healthy_share, shift.sparse,
    )  # fmt: skip


def newest_slow(answers: SparseAnswers, paths: int) -> Bool:
    """(P,) sparse paths whose newest answer is slow."""
    order = np.argsort(answers.second, kind="stable")
    out = np.zeros(paths, bool)
    out[answers.row[order]] = answers.slow[order]  # of each path the newest is written last
    return out


@dataclass(frozen=True, slots=True)
class Timing:
    """When the answers of the paths of a candidate were slow.

    p_value  of so many slow answers among those that others of the job had at the same time
    draws    times at which they were slow
    lasting  they are so still
    round_s  time in which the evidence renews itself [s]
    """

    p_value: float
    draws: int
    lasting: bool
    round_s: int


def timing(
    shift: LatencyDeviation, sparse: SparseEvidence, at: int, share: F64, counts: Bool, vote: F64,
    peers: I64, parameters: LatencyVerdictParameters,
) -> Timing | None:  # fmt: skip
    """Timing of the answers that cross a component; None where it has no sparse path.

    share  (P,) of which each path crosses it; counts (P,) paths that are compared
    vote   (P,) weight of each path; peers (P,) peer group
    A path with windows counts as one answer at the end of them.
    """
    mine = counts & (share > 0)
    spans = sparse.window_s[mine & (sparse.window_s > 0)]
    if not len(spans):
        return None
    span_s = float(np.median(spans))
    bin_s = max(parameters.shortest_draw_s, span_s / parameters.draws_in_span)
    answers = sparse.answers
    some = counts[answers.row]
    dense = np.flatnonzero(counts & (sparse.window_s == 0))
    row = np.concatenate([answers.row[some], dense])
    slow = np.concatenate([answers.slow[some], shift.flagged[dense]])
    second = np.concatenate([answers.second[some], np.full(len(dense), at)])
    draw = np.maximum((at - second) // bin_s, 0).astype(np.int64) + 1
    draw[len(row) - len(dense) :] = 0  # windows are compared with windows
    weight = (vote / np.maximum(np.bincount(row, minlength=len(vote)), 1))[row]
    stratum = peers[row] * (int(draw.max(initial=0)) + 1) + draw
    p = peer_groups.stratified_p_value(share[row], stratum, weight, slow, shift.healthy_share)
    crossing = share[row] * weight
    late = crossing * slow
    new = second > at - span_s / parameters.rounds
    rate, newest = (
        float(late[of].sum() / max(crossing[of].sum(), 1e-9)) for of in (slice(None), new)
    )
    hurt = draw[(share[row] > 0) & slow]
    draws = len(np.unique(hurt[hurt > 0])) + (parameters.least_draws if (hurt == 0).any() else 0)
    lasting = bool(newest > 0 and newest >= parameters.lasting * rate)
    return Timing(p, draws, lasting, round(span_s / parameters.rounds))
