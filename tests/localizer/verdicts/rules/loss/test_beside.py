"""Whether a component loses beside those that open incidents name, or instead of them."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from scipy import sparse

from localizer.baselines.pane_history import PaneHistory
from localizer.evidence import Attribution
from localizer.fabric.incidence.factored import FactoredIncidence
from localizer.fabric.observability import Classes
from localizer.verdicts.attribute import Unclaimed
from localizer.verdicts.parameters import ReachabilityParameters
from localizer.verdicts.rules.loss.beside import beside
from localizer.verdicts.rules.loss.containment import Containment
from localizer.verdicts.rules.loss.rivals import Comparison, outdone
from localizer.verdicts.verdict import Beside

TOR, ONE, TWO, RNIC = range(4)
NAMES = ["tor:t", "link:spine:a|tor:t", "link:spine:b|tor:t", "rnic:r"]
#: Twenty paths over each link, twenty over neither, and of each twenty four that end at the rnic.
EACH, OF_RNIC = 20, 4
SECONDS, SENT = 10, 4


def paths() -> np.ndarray:
    shares = np.zeros((3 * EACH, 4))
    shares[:, TOR] = 1.0
    shares[:EACH, ONE] = shares[EACH : 2 * EACH, TWO] = 1.0
    for first in range(0, 3 * EACH, EACH):
        shares[first : first + OF_RNIC, RNIC] = 1.0
    return shares


def comparison(lost: np.ndarray, known: set[str]) -> Comparison:
    """Paths that lose so many of each second's probes, and open incidents."""
    shares, count = paths(), 3 * EACH
    factored = FactoredIncidence.unfactored(sparse.csr_array(shares))
    directed = np.array([False, True, True, False])
    groups = Classes([[name] for name in NAMES], directed, np.zeros(4, bool), factored)
    history = PaneHistory(30)
    history.grow(count)
    none = np.zeros(count, np.uint32)
    for second in range(SECONDS):
        history.put(
            1_000_000 + second, np.arange(count), np.full(count, 20.0, np.float32),
            sent=none + np.uint32(SENT), lost=lost[second].astype(np.uint32), refused=none,
        )  # fmt: skip
    state = SimpleNamespace(
        history=history, background=SimpleNamespace(rate=1e-4), suspects=known, troubled=known,
        options=SimpleNamespace(
            verdicts=SimpleNamespace(reachability=ReachabilityParameters())
        ),
    )  # fmt: skip
    evidence = SimpleNamespace(bad=lost.sum(axis=0) > 0)
    alarm = SimpleNamespace(groups=groups, window_s=5, evidence=evidence)
    inside = Containment(groups, np.ones(count, bool))
    return Comparison(cast("Any", state), 1_000_000 + SECONDS - 1, cast("Any", alarm), inside)


def losing(rates: dict[int, float], seed: int = 0) -> np.ndarray:
    """Losses (SECONDS, P) where components lose such shares of the probes that cross them."""
    survive = np.prod([1 - rate * paths()[:, each] for each, rate in rates.items()], axis=0)
    return np.random.default_rng(seed).binomial(SENT, np.tile(1 - survive, (SECONDS, 1)))


def seen(
    column: int, lost: np.ndarray, known: set[str], stood: list[int], others: list[int]
) -> Beside | None:
    mine = (lost.sum(axis=0) > 0) & (paths()[:, column] > 0)
    everywhere = np.ones(3 * EACH, bool)
    return beside(comparison(lost, known), column, stood, others, Unclaimed.of(everywhere), mine)


def test_an_rnic_that_dies_below_a_lossy_tor_loses_beside_it() -> None:
    lost = losing({TOR: 0.05, RNIC: 1.0})
    assert seen(RNIC, lost, {"tor:t"}, [], [TOR]) == Beside(apart=frozenset({"tor:t"}))
    assert seen(TOR, lost, {"rnic:r"}, [], [RNIC]) == Beside(apart=frozenset({"rnic:r"}))


@pytest.mark.parametrize("seed", range(5))
def test_a_link_that_loses_as_its_lossy_tor_does_is_nothing_new(seed: int) -> None:
    lost = losing({TOR: 0.05}, seed)
    for link in (ONE, TWO):
        assert seen(link, lost, {"tor:t"}, [], [TOR]) is None, "the incident explains it"
        assert seen(link, lost, set(), [TOR], [TOR]) is None, "so does a verdict of this second"


def test_one_of_several_parts_must_show_more_than_a_component_that_is_no_part() -> None:
    """The worst of many parts is worse by chance."""
    lost = losing({TOR: 0.05})
    mine, everywhere = paths()[:, ONE] > 0, np.ones(3 * EACH, bool)

    def least(*, is_part: bool) -> int:
        """Fewest losses more of its paths that name a link beside its ToR."""
        more = lost.copy()
        for extra, at in enumerate(zip(*np.nonzero((more == 0) & mine), strict=True)):
            of = comparison(more, {"tor:t"})
            if not is_part:
                none = SimpleNamespace(inside=lambda _: np.array([], np.int64))
                of = replace(of, containment=cast("Any", none))
            bad = mine & (more.sum(axis=0) > 0)
            if beside(of, ONE, [], [TOR], Unclaimed.of(everywhere), bad) is not None:
                return extra
            more[at] += 1
        raise AssertionError

    assert least(is_part=False) < least(is_part=True)


def test_two_lossy_links_leave_nothing_to_the_tor_that_they_were_taken_for() -> None:
    lost = losing({ONE: 0.3, TWO: 0.2})
    idle = Beside(idle=frozenset({"tor:t"}))
    assert seen(ONE, lost, {"tor:t"}, [], [TWO]) == idle
    assert seen(TWO, lost, {"tor:t"}, [ONE], [ONE]) == idle


@pytest.mark.parametrize("left", [False, True], ids=["claimed", "left"])
def test_what_a_shorter_window_named_is_known_by_all_of_its_paths(left: bool) -> None:
    """It claims those that cross it for certain; on what it leaves it may look healthy."""
    lost = losing({TOR: 0.5})
    everywhere, of_rnic = np.ones(3 * EACH, bool), paths()[:, RNIC] > 0
    before = Unclaimed(everywhere if left else of_rnic, ~everywhere, everywhere, 1)
    mine = of_rnic & (lost.sum(axis=0) > 0)
    assert beside(comparison(lost, set()), RNIC, [TOR], [], before, mine) is None
    dead = losing({TOR: 0.5, RNIC: 1.0})
    assert beside(comparison(dead, set()), RNIC, [TOR], [], before, mine) is not None


def test_a_wrong_name_is_not_defended() -> None:
    lost = losing({TOR: 0.1})
    assert seen(TOR, lost, {"rnic:r"}, [], []) == Beside(idle=frozenset({"rnic:r"}))


def test_without_open_incidents_there_is_nothing_to_compare() -> None:
    assert seen(ONE, losing({ONE: 0.3}), set(), [], []) == Beside()


def refuted(lost: np.ndarray, columns: list[int], known: set[str] | None = None) -> set[int]:
    """The classes among the blamed ones that a rival outdoes; known: named by open incidents."""
    blamed = [Attribution(each, 0.1, 1e-9) for each in columns]
    left = np.ones(3 * EACH, bool)
    return set(np.flatnonzero(outdone(comparison(lost, known or set()), blamed, left)).tolist())


def test_a_switch_is_refuted_by_two_of_its_links_together() -> None:
    lost = losing({ONE: 0.3, TWO: 0.2})
    assert TOR in refuted(lost, [TOR])
    assert not refuted(losing({TOR: 0.1}), [TOR])


def test_what_the_other_link_loses_does_not_make_a_link_its_switch() -> None:
    assert not refuted(losing({ONE: 0.3, TWO: 0.2}), [ONE, TWO])


def test_what_an_open_incident_lost_before_is_no_loss_of_the_switch() -> None:
    """An rnic below the ToR was silent until it was replaced, while a link of the ToR loses."""
    lost = losing({ONE: 0.5})
    lost[: SECONDS - 3, paths()[:, RNIC] > 0] = SENT
    assert ONE in refuted(lost, [ONE]), "all that the rnic lost went round the link too"
    assert not refuted(lost, [ONE], {"rnic:r", NAMES[ONE]})


def test_a_switch_is_compared_with_its_links_although_they_have_incidents() -> None:
    assert TOR in refuted(losing({ONE: 0.5}), [TOR], {NAMES[ONE]})
    assert not refuted(losing({TOR: 0.2}), [TOR], {NAMES[ONE]})
