"""From an alarm to verdicts: the one attribution pipeline of loss, latency and drift.

    alarm -> evidence -> strategy -> assign bad paths -> validate -> claim paths -> build verdict

A policy is what differs between the three: which paths count, and which test an attribution must
pass with the paths that are left to it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt

from localizer import strategies
from localizer.evidence import Attribution
from localizer.explanation.issue_features import OWNS
from localizer.fabric.observability import Classes
from localizer.state.fabric_state import FabricState
from localizer.verdicts import unseen_switch
from localizer.verdicts.build import Alarm, Finding, build
from localizer.verdicts.verdict import Verdict

Bool = npt.NDArray[np.bool_]
F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Unclaimed:
    """Paths (P,) that verdicts of the same second leave over.

    left       no verdict explains them, so they may speak for another component
    clear      they cross no component that a verdict blames, or whose trouble is over
    judged     all that may be judged
    culprits   such components so far [count]
    standing   their classes
    unsettled  windows whose evidence is not enough to name all culprits [count]
    """

    left: Bool
    clear: Bool
    judged: Bool
    culprits: int = 0
    unsettled: int = 0
    standing: tuple[int, ...] = ()

    @classmethod
    def of(cls, judged: Bool) -> Unclaimed:
        """Before the first verdict: all paths that may be judged."""
        return cls(judged, judged, judged)


@dataclass(frozen=True, slots=True)
class Candidate:
    """An attribution that is to be validated.

    share     (P,) of each path's traversals that cross the class
    counts    (P,) paths that are left, measured, and in the scope of the attribution
    rows      (P,) those among them that cross the class, without bad paths that another explains
    clear     (P,) see ``Unclaimed``
    control   (P,) paths that are left and measured, and cross nothing that the strategy blames
    owner     (P,) number of the attribution that explains most of each path's trouble; -1: none
    culprits  how many the strategy blames
    stood     how many culprits stood before this one, in shorter windows too
    others    the classes of what else the strategy blames
    standing  classes that stood before this one, in shorter windows too
    """

    attribution: Attribution
    share: F64
    counts: Bool
    rows: Bool
    clear: Bool
    control: Bool
    owner: I64
    culprits: int
    stood: int
    others: tuple[int, ...] = ()
    standing: tuple[int, ...] = ()


class Over:
    """The attribution holds for the window, but the trouble is over: it explains its paths, and
    there is no verdict.
    """


class Policy(Protocol):
    """What one kind of trouble asks of an attribution."""

    @property
    def alarm(self) -> Alarm:
        """Why, and on what, the strategy is asked."""

    def measured(self) -> Bool:
        """(P,) paths that were measured."""

    def scope(self, attribution: Attribution) -> Bool:
        """(P,) paths that an attribution is about; those that it owns are explained by it."""

    def refuted(self, attributions: list[Attribution]) -> Bool | None:
        """(K,) classes that cannot be the culprits, so that the strategy is asked again; None: all
        may be."""

    def may_replace(self, attribution: Attribution, refuted: list[Attribution]) -> bool:
        """Whether an attribution that came up only without the refuted ones may stand."""

    def settled(self, attributions: list[Attribution]) -> bool:
        """Whether there is enough evidence for so many culprits at once; else nothing is said."""

    def leaves_to_owners(self, attributions: list[Attribution]) -> bool:
        """Whether an attribution claims only paths of which it explains more than any other does;
        else all that cross its class, so that another one must show on others."""

    def validate(self, candidate: Candidate) -> Finding | Over | None:
        """The finding, if the candidate stands by itself; None: it does not."""


def attribute(
    state: FabricState, policy: Policy, unclaimed: Unclaimed
) -> tuple[list[Verdict], Unclaimed]:
    """Verdicts of one alarm, and the paths that they leave over.

    A verdict that too few hosts bear witness to counts only where there is no other, unless no
    other host has a path across its component, and culprits are few: then none will ever tell.
    """
    alarm = policy.alarm
    evidence, groups = alarm.evidence, alarm.groups
    strategy = strategies.get(state.options.strategy)
    attributions = strategy(evidence)
    refuted = policy.refuted(attributions)
    if refuted is not None and refuted.any():
        possible = ~refuted if evidence.plausible is None else evidence.plausible & ~refuted
        first = {each.column for each in attributions}
        out = [each for each in attributions if refuted[each.column]]
        attributions = [
            each for each in strategy(replace(evidence, plausible=possible))
            if each.column in first or policy.may_replace(each, out)
        ]  # fmt: skip
    if not policy.settled(attributions):
        return [], replace(unclaimed, unsettled=unclaimed.unsettled + 1)
    owner = owners(groups, attributions, latency=evidence.latency)
    measured, left, clear = policy.measured(), unclaimed.left, unclaimed.clear
    blamed = unclaimed.culprits
    control = left & measured & (owner < 0)
    verdicts: list[Verdict] = []
    lone: list[Verdict] = []
    standing = list(unclaimed.standing)
    for number, attribution in enumerate(attributions):
        share, scope = groups.share(attribution.column), policy.scope(attribution)
        counts = left & measured & scope
        rows = counts & (share > 0) & ~(evidence.bad & (owner != number))
        culprits = len(attributions)
        others = tuple(each.column for each in attributions if each is not attribution)
        candidate = Candidate(
            attribution, share, counts, rows, clear, control, owner, culprits, blamed, others,
            tuple(standing),
        )  # fmt: skip
        finding = policy.validate(candidate)
        if finding is None:
            continue
        claimed = scope & (share >= OWNS)
        if policy.leaves_to_owners(attributions):
            claimed &= owner == number
        left = left & ~(claimed | (evidence.bad & (owner == number)))
        clear, blamed = clear & (share == 0), blamed + 1
        standing.append(attribution.column)
        if isinstance(finding, Over):
            continue
        verdict = build(state, alarm, attribution, share * measured, finding, only=culprits == 1)
        contested = finding.lone is not None and (
            finding.crowded or len(np.unique(state.src[share > 0])) > 1
        )
        (lone if contested else verdicts).append(verdict)
    rest = replace(unclaimed, left=left, clear=clear, culprits=blamed, standing=tuple(standing))
    return unseen_switch.joined(state, alarm, verdicts, lone, left), rest


def owners(groups: Classes, attributions: list[Attribution], *, latency: bool) -> I64:
    """(P,) which attribution explains most of each path's trouble; -1 where none crosses it."""
    if not attributions:
        return np.full(groups.paths, -1)
    effect = np.array([each.effect for each in attributions])
    strength = effect if latency else -np.log1p(-np.clip(effect, 1e-9, 0.999))
    part = np.stack([groups.share(each.column) for each in attributions]) * strength[:, None]
    return np.where(part.max(axis=0) > 0, part.argmax(axis=0), -1)
