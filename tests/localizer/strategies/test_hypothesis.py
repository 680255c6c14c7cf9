"""The default strategy: what is its own beside the contract of all strategies."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from localizer.strategies.hypothesis import hypothesis
from testbed import published
from tests.contracts.evidence_samples import column_of, fabric, late, lossy


def test_a_queue_that_is_not_equally_long_for_all_is_one_culprit() -> None:
    even = late([("spine:dsw1", 80.0)], seed=3)
    uneven = np.random.default_rng(4).normal(1.0, 0.25, len(even.sent))
    blames = hypothesis(replace(even, excess_us=even.excess_us * uneven))
    assert [blame.column for blame in blames] == [column_of("spine:dsw1")]
    assert 60 < blames[0].effect < 100


def test_one_wild_path_outvotes_nobody() -> None:
    evidence = late([("tor:asw10", 20.0)], seed=3)
    excess = evidence.excess_us.copy()
    excess[0] = 1e6
    blames = hypothesis(replace(evidence, excess_us=excess))
    assert blames[0].column == column_of("tor:asw10")


def test_what_is_not_plausible_is_not_blamed() -> None:
    evidence = lossy([("tor:asw10", 0.3)], seed=3)
    plausible = np.ones(len(fabric()[0].members), bool)
    plausible[column_of("tor:asw10")] = False
    blamed = [b.column for b in hypothesis(replace(evidence, plausible=plausible))]
    assert column_of("tor:asw10") not in blamed


def test_two_directions_that_explain_nothing_do_not_vouch_for_each_other() -> None:
    # In this draw a healthy link is chosen each way by mistake, and both rates come down to 0 once
    # the real culprit is found: only the bonus that each lends the other would still keep them.
    drawn = published.trial("fat_tree_sparse", 56)
    assert min(blame.effect for blame in hypothesis(drawn.evidence)) > 1e-4
