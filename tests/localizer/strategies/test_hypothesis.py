"""The default strategy: what is its own beside the contract of all strategies."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from builders.evidence.samples import column_of, fabric, late, lossy
from builders.evidence.small import evidence

from localizer.evidence import Evidence, Matrices
from localizer.strategies.hypothesis.candidates import TUNNELLED, candidates
from localizer.strategies.hypothesis.strategy import hypothesis
from testbed.scenarios import published


def test_a_queue_that_is_not_equally_long_for_all_is_one_culprit() -> None:
    even = late([("spine:dsw1", 80.0)], seed=3)
    uneven = np.random.default_rng(4).normal(1.0, 0.25, len(even.sent))
    blames = hypothesis(replace(even, excess_us=even.excess_us * uneven))
    assert [blame.column for blame in blames] == [column_of("spine:dsw1")]
    assert 60 < blames[0].effect < 100


def test_one_wild_path_outvotes_no_other() -> None:
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


def tunnelled(rnic: str, added_us: float, seed: int) -> Evidence:
    """Only the overlay's paths over an rnic are late: its offload is broken."""
    everybody, quiet = late([(rnic, added_us)], seed=seed), late([], seed=seed)
    excess = np.where(everybody.overlay, everybody.excess_us, quiet.excess_us)
    groups, flagged = fabric()[0], excess > 4.0
    return replace(
        everybody, excess_us=excess, bad=flagged, lost=flagged.astype(np.int64),
        crossings=Matrices(groups.incidence, tunnels=groups.tunnels),
    )  # fmt: skip


def test_an_rnic_that_slows_tunnelled_packets_alone_is_named_with_all_of_them() -> None:
    (blame,) = hypothesis(tunnelled("rnic:r3.1", 25.0, seed=3))
    assert blame.column == column_of("rnic:r3.1")
    assert blame.tunnelled
    assert blame.share == 1.0, "all that is tunnelled is late, no matter by which five-tuple"
    assert blame.effect == pytest.approx(25.0, rel=0.15)


def test_an_rnic_that_slows_everything_is_no_broken_offload() -> None:
    groups = fabric()[0]
    everything = replace(
        late([("rnic:r3.1", 25.0)], seed=3),
        crossings=Matrices(groups.incidence, tunnels=groups.tunnels),
    )
    (blame,) = hypothesis(everything)
    assert (blame.column, blame.tunnelled) == (column_of("rnic:r3.1"), False)


def test_only_what_holds_an_rnic_may_fail_the_overlay_alone() -> None:
    evidence, groups = tunnelled("rnic:r3.1", 25.0, seed=3), fabric()[0]
    choices = candidates(evidence, tunnels=True)
    (alone,) = np.nonzero(choices.mode == TUNNELLED)
    held = [groups.members[column] for column in choices.column[alone]]
    assert all(any(name.startswith("rnic:") for name in names) for names in held)
    paths = np.arange(len(evidence.sent))
    entries = choices.of_paths(evidence, paths)
    assert evidence.overlay[entries.row[np.isin(entries.which, alone)]].all()
    assert not (candidates(evidence).mode == TUNNELLED).any(), "losses do not ask"


RNIC, LINK = 0, 1


def bursts(dead: int) -> Evidence:
    """So many bursts of 100 across an rnic, all of them lost, may also have crossed a link in one
    direction; 30 others may have, and 400 cross neither. One burst of 16 has lost a probe, and
    eight switches are crossed by all."""
    paths = dead + 430
    forward, reverse = np.zeros((2, paths, 11))
    forward[:dead, RNIC] = reverse[:dead, RNIC] = 1.0
    forward[:dead, LINK] = 0.4
    forward[dead : dead + 30, LINK] = reverse[dead : dead + 30, LINK] = 0.5
    forward[dead + 30 :, 2] = reverse[dead + 30 :, 2] = 1.0
    forward[:, 3:] = reverse[:, 3:] = 1.0
    lost = [100] * dead + [int(i % 16 == 0) for i in range(430)]
    directed = [number == LINK for number in range(11)]
    return evidence(
        (forward + reverse) / 2, lost, 100, along=forward, against=reverse, directed=directed
    )


@pytest.mark.parametrize("dead", [1, 2, 3])
def test_lost_bursts_are_those_of_the_rnic_that_all_of_them_cross(dead: int) -> None:
    (blame,) = hypothesis(bursts(dead))
    assert (blame.column, blame.share) == (RNIC, 1.0)
    assert blame.effect > 0.99
    assert blame.classes is not None
    assert blame.classes[RNIC] > 0.99


def untraced(loss: float, seed: int) -> Evidence:
    """288 paths across either of two links in each direction, no one knows which, and 672 across
    neither; one that lost its only probe is known to have crossed the first."""
    rng = np.random.default_rng(seed)
    forward, reverse = np.zeros((2, 961, 5))
    forward[:289, :2] = reverse[:289, :2] = 0.5
    forward[0, :2] = 1.0, 0.0
    forward[289:, 2:] = reverse[289:, 2:] = 1 / 3
    crossed = (rng.random((2, 289)) < 0.5).sum(axis=0)
    lost = (rng.random(961) > (1 - loss) ** np.pad(crossed, (0, 672))).astype(int)
    lost[0] = 1
    return evidence(
        (forward + reverse) / 2, lost.tolist(), 1, along=forward, against=reverse,
        directed=[True, True, False, False, False],
    )  # fmt: skip


@pytest.mark.parametrize("loss", [0.2, 0.27, 0.35, 0.43])
@pytest.mark.parametrize("seed", range(3))
def test_of_links_that_hardly_a_probe_tells_apart_each_is_probable(loss: float, seed: int) -> None:
    (blame,) = hypothesis(untraced(loss, seed))
    assert blame.column in {0, 1}
    assert blame.classes is not None
    # The one probe is at most (1 - q^2) / (q / 2) likelier lost over a link crossed for certain.
    assert min(blame.classes.get(0, 0.0), blame.classes.get(1, 0.0)) > 0.2
