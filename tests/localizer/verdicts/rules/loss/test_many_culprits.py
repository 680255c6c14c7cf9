"""Tens of culprits at once are named only if each has evidence of its own."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from localizer.evidence import Attribution
from localizer.verdicts.attribute import Candidate, Unclaimed
from localizer.verdicts.parameters import ReachabilityParameters
from localizer.verdicts.rules.loss import settled
from localizer.verdicts.rules.loss.policy import LossPolicy
from localizer.verdicts.rules.loss.rivals import Comparison

PARAMETERS = ReachabilityParameters()
MANY = PARAMETERS.few_culprits + 1
LOSSES = int(PARAMETERS.losses_each)


class History:
    """Of windows of seconds: losses began ``since_s`` seconds ago, and since then a share of the
    paths has been probed. So many of 1,000 paths are not new."""

    seconds = 60

    def __init__(self, since_s: int, heard: float, known: int = 1000) -> None:
        self.since_s, self.heard, self.known = since_s, heard, known

    def by_second(self, name: str, _at: int, length: int, _rows: Any) -> Any:
        assert name == "lost"
        return np.where(np.arange(length) >= length - self.since_s, 100, 0)

    def total(self, name: str, at: int, length: int, rows: Any = None) -> Any:
        if rows is None:
            return np.where(np.arange(1000) < (1000 if at == 0 else self.known), 100, 0)
        assert (name, length) == ("sent", self.since_s)
        return np.where(np.arange(len(rows)) < self.heard * len(rows), 100, 0)


def enough(
    culprits: int,
    bad_paths: int,
    losses: int,
    window_s: int = 30,
    heard: float = 1.0,
    known: int = 1000,
) -> bool:
    """Whether so many culprits may be named, of so many bad paths and lost probes in all, where
    such a share of the paths has been probed since the losses began, and so many are not new."""
    state = SimpleNamespace(
        options=SimpleNamespace(verdicts=SimpleNamespace(reachability=PARAMETERS)),
        history=History(11, heard, known),
        cadence=SimpleNamespace(interval_s=np.zeros(1000)),
    )
    bad = np.arange(1000) < bad_paths
    lost, sent = np.zeros(1000, np.int64), np.full(1000, 100)
    lost[0] = losses
    alarm = SimpleNamespace(
        evidence=SimpleNamespace(bad=bad), lost=lost, sent=sent, window_s=window_s
    )
    return settled.settled(cast("Any", state), 0, cast("Any", alarm), culprits)


def test_a_few_culprits_are_named_at_once() -> None:
    assert enough(PARAMETERS.few_culprits, bad_paths=1, losses=1)


def test_several_culprits_wait_while_most_paths_are_new_but_a_single_one_does_not() -> None:
    """In the first seconds of bursts, a fabric of many bad links has shown a few of them."""
    assert not enough(2, bad_paths=50, losses=1000, known=0)
    assert not enough(PARAMETERS.few_culprits, bad_paths=50, losses=1000, known=740)
    assert enough(PARAMETERS.few_culprits, bad_paths=50, losses=1000, known=760)
    assert enough(1, bad_paths=50, losses=1000, known=0)


@pytest.mark.parametrize(
    ("bad_paths", "losses"),
    [(8 * MANY - 1, LOSSES * MANY), (8 * MANY, LOSSES * MANY - 1)],
    ids=["too few bad paths", "too few losses"],
)
def test_many_culprits_wait_for_paths_and_losses_of_their_own(bad_paths: int, losses: int) -> None:
    assert not enough(MANY, bad_paths, losses)
    assert enough(MANY, bad_paths, losses, window_s=PARAMETERS.settled_s)


def test_many_culprits_with_enough_evidence_each_are_named() -> None:
    assert enough(MANY, bad_paths=8 * MANY, losses=LOSSES * MANY)


def test_many_culprits_wait_until_most_paths_have_been_probed_since_the_losses_began() -> None:
    """With bursts each 30 s, 11 s of losses are a third of a round: most links are not heard of."""
    assert not enough(MANY, 8 * MANY, LOSSES * MANY, heard=11 / 30)
    assert enough(MANY, 8 * MANY, LOSSES * MANY, heard=0.95)
    assert enough(MANY, 8 * MANY, LOSSES * MANY, window_s=PARAMETERS.settled_s, heard=11 / 30)


def waits(*, culprits: int, unsettled: int, since_s: int) -> bool:
    """Whether a lossy switch with two links inside waits, among so many culprits.

    unsettled  shorter windows that hold too many culprits to name them
    since_s    how long it has lost
    """
    state = SimpleNamespace(
        options=SimpleNamespace(verdicts=SimpleNamespace(reachability=PARAMETERS))
    )
    groups = SimpleNamespace(directed=np.array([False, True, True]))
    inside = SimpleNamespace(inside=lambda _: np.array([1, 2]))
    paths = np.ones(1, bool)
    policy = LossPolicy(
        cast("Any", state), 0, cast("Any", SimpleNamespace(groups=groups)), cast("Any", None),
        cast("Any", inside), Unclaimed(paths, paths, paths, 0, unsettled),
    )  # fmt: skip
    attribution = Attribution(0, 0.5, 1e-9)
    candidate = Candidate(
        attribution, np.ones(1), paths, paths, paths, ~paths, np.zeros(1, int), culprits, 0
    )  # fmt: skip
    return policy.may_be_its_links(candidate, since_s)


def test_a_switch_among_many_culprits_waits_for_a_minute_of_losses() -> None:
    assert waits(culprits=MANY, unsettled=0, since_s=30)
    assert not waits(culprits=MANY, unsettled=0, since_s=PARAMETERS.settled_s)
    assert not waits(culprits=1, unsettled=0, since_s=30)


def test_a_switch_waits_as_well_where_a_shorter_window_holds_too_many_culprits() -> None:
    assert waits(culprits=1, unsettled=1, since_s=30)


def is_rather_its_links(
    *,
    culprits: int = 2,
    since_s: int = 10,
    share: float = 1.0,
    named: bool = False,
    before: int = 0,
    monkeypatch: pytest.MonkeyPatch,
) -> bool:
    """Whether a lossy switch waits that several of its links explain better, among few culprits.

    share   of its five-tuples that lose; named: an open incident names it
    before  culprits that shorter windows found
    """
    state = SimpleNamespace(
        options=SimpleNamespace(verdicts=SimpleNamespace(reachability=PARAMETERS)),
        named={"spine:s0"} if named else set(),
        suspects={"spine:s0"},
    )
    groups = SimpleNamespace(directed=np.array([False]), members=[["spine:s0"]])
    paths = np.ones(1, bool)
    alarm = SimpleNamespace(groups=groups, evidence=SimpleNamespace(bad=paths))
    policy = LossPolicy(
        cast("Any", state), 0, cast("Any", alarm), cast("Any", None), cast("Any", None),
        Unclaimed(paths, paths, paths, before),
    )  # fmt: skip
    candidate = Candidate(
        Attribution(0, 0.5, 1e-9, share=share), np.ones(1), paths, paths, paths, ~paths,
        np.zeros(1, int), culprits, 0,
    )  # fmt: skip
    with monkeypatch.context() as patch:
        patch.setattr(Comparison, "is_several_links", lambda *_: True)
        return policy.is_rather_its_links(candidate, since_s, paths)


def test_a_switch_beside_another_culprit_waits_while_several_of_its_links_explain_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert is_rather_its_links(monkeypatch=monkeypatch)
    assert not is_rather_its_links(since_s=PARAMETERS.waiting_s, monkeypatch=monkeypatch)
    assert is_rather_its_links(share=0.5, monkeypatch=monkeypatch), "some of its five-tuples lose"
    assert is_rather_its_links(culprits=1, before=1, monkeypatch=monkeypatch)


def test_a_switch_that_is_blamed_alone_or_named_already_is_not_kept_waiting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert not is_rather_its_links(culprits=1, monkeypatch=monkeypatch)
    assert not is_rather_its_links(named=True, monkeypatch=monkeypatch)
