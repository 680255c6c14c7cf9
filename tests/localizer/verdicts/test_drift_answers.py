"""Which answers of rarely probed paths the drift baseline learns."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from scipy import sparse

from localizer.detectors.latency.deviation import LatencyDeviation
from localizer.detectors.latency.sparse_evidence import SparseAnswers, SparseEvidence
from localizer.fabric.incidence.factored import FactoredIncidence
from localizer.fabric.observability import Classes
from localizer.options import Options
from localizer.state.fabric_state import FabricState
from localizer.verdicts.rules import drift

END_S = 9000


def learnt(
    ages_s: tuple[int, ...], slow: tuple[bool, ...], over_agg: tuple[float, ...] = ()
) -> list[bool]:
    """Of paths whose newest answer of 20 us has these ages: which the drift baseline has learnt.

    slow      paths with a slow answer in their evidence, which spans 100 s
    over_agg  share of each path that crosses an agg with an open incident about latency
    """
    paths = len(ages_s)
    state, rows = FabricState("f1", None, Options()), np.arange(paths)
    if over_agg:
        factored = FactoredIncidence.unfactored(sparse.csr_array(np.array([over_agg]).T))
        groups = Classes([["agg:a"]], np.zeros(1, bool), np.zeros(1, bool), factored)
        state.slow, cast("Any", state).classes = {"agg:a"}, lambda: groups
    for age_s in sorted({*ages_s}, reverse=True):
        now = rows[np.array(ages_s) == age_s]
        state.latency.answers.add(
            END_S - age_s, now, np.full(len(now), 20, np.float32),
            np.full(len(now), 100.0), np.full(len(now), np.nan),
        )  # fmt: skip
    answers = SparseAnswers(rows, END_S - np.array(ages_s), np.array(slow))
    evidence = SparseEvidence(np.full(paths, 100.0), np.full(paths, 30.0), lambda: answers)
    zero = np.zeros(paths)
    everything = np.ones(paths, bool)
    state.latency.deviation = LatencyDeviation(
        everything, zero, zero + 1, ~everything, zero.astype(np.float32), sparse=evidence
    )
    drift.learn(state, END_S - 1, everything)
    first = state.drift.first(paths)
    assert np.allclose(first[np.isfinite(first)], np.log(20))
    return np.isfinite(first).tolist()


def test_an_answer_is_learnt_in_one_window_and_not_as_long_as_it_is_evidence() -> None:
    assert learnt((1, 29, 31, 90), (False,) * 4) == [True, True, False, False]


def test_paths_with_a_slow_answer_in_their_evidence_teach_no_drift() -> None:
    assert learnt((1, 1), (False, True)) == [True, False]


def test_paths_that_may_cross_what_is_known_to_be_slow_teach_no_drift() -> None:
    assert learnt((1, 1, 1), (False,) * 3, (0.0, 0.25, 1.0)) == [True, False, False]
