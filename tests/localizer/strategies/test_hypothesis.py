"""The default strategy blames nothing that explains nothing."""

from __future__ import annotations

from localizer.strategies.hypothesis import hypothesis
from testbed import published


def test_two_directions_that_explain_nothing_do_not_vouch_for_each_other() -> None:
    # In this draw a healthy link is chosen each way by mistake, and both rates come down to 0 once
    # the real culprit is found: only the bonus that each lends the other would still keep them.
    drawn = published.trial("fat_tree_sparse", 56)
    assert min(blame.effect for blame in hypothesis(drawn.evidence)) > 1e-4
