"""What a class must lose to be named, beside what was found before it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from localizer.evidence import Attribution
from localizer.options import DetectorParameters
from localizer.verdicts.attribute import Candidate, Unclaimed
from localizer.verdicts.parameters import ReachabilityParameters
from localizer.verdicts.rules.loss.significance import Significance

PARAMETERS = ReachabilityParameters()
MANY = PARAMETERS.few_culprits + 1


def shows_loss(
    *,
    traced_losses: int,
    found_before: int,
    stood: int = 0,
    level: float = 1e-9,
    joint: float = 1.0,
) -> bool:
    """Whether a link shows a loss of 20 in 1,000 probes of which so many are of traced paths.

    found_before  culprits that shorter windows named
    stood         of this window too, before this one
    level         largest p-value of a single culprit; joint: that of all paths together
    """
    crosses = np.arange(20) < 10  # path by path: traced over the link, or over it perhaps
    lost = np.where(crosses, traced_losses, 20 - traced_losses) / 10
    parameters = SimpleNamespace(reachability=PARAMETERS)
    state = SimpleNamespace(
        options=SimpleNamespace(verdicts=parameters, detectors=DetectorParameters()),
        background=SimpleNamespace(rate=1e-4, dispersion=1.0),
    )
    groups = SimpleNamespace(
        members=[["link:a|b"]], directed=np.array([True]),
        certain=lambda _: (crosses, np.zeros(20, bool)),
    )  # fmt: skip
    alarm = SimpleNamespace(groups=groups, sent=np.full(20, 50.0), lost=lost, window_s=240)
    everywhere = np.ones(20, bool)
    before = Unclaimed(everywhere, everywhere, everywhere, found_before)
    significance = Significance(cast("Any", state), cast("Any", alarm), level, level, before, None)
    candidate = Candidate(
        Attribution(0, 0.02, joint), np.where(crosses, 1.0, 0.5), everywhere, everywhere,
        everywhere, ~everywhere, np.zeros(20, int), 1, stood,
    )  # fmt: skip
    return significance.share(candidate) is not None


def test_where_many_culprits_are_found_a_link_must_lose_on_the_paths_traced_over_it() -> None:
    assert shows_loss(traced_losses=0, found_before=0)
    assert not shows_loss(traced_losses=0, found_before=MANY)
    assert shows_loss(traced_losses=20, found_before=MANY)


def test_the_more_culprits_stand_the_less_one_more_must_show() -> None:
    """20 of 500 lost at a healthy 1e-4 have a p-value of 3e-45."""
    p = 3e-45
    assert not shows_loss(traced_losses=20, found_before=0, level=p / 10)
    assert shows_loss(traced_losses=20, found_before=0, level=p / 10, stood=10)


def test_what_all_paths_show_beside_many_the_rest_of_the_paths_need_not_show_again() -> None:
    for joint, shown in ((1e-60, True), (1e-40, False)):
        assert shows_loss(
            traced_losses=20, found_before=0, level=1e-50, stood=MANY, joint=joint
        ) is shown  # fmt: skip
    assert not shows_loss(traced_losses=20, found_before=0, level=1e-50, stood=1, joint=1e-60)
