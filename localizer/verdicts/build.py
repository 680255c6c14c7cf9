"""A validated attribution -> a verdict with all of its evidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from localizer.evidence import Attribution, Evidence
from localizer.explanation import confidence, explain, untraced_suspects
from localizer.explanation.explain import Lone
from localizer.explanation.issue_features import features
from localizer.explanation.issue_types import issue_types, likeliest_first, of_members
from localizer.explanation.parameters import DEFAULT
from localizer.fabric.observability import Classes
from localizer.state.fabric_state import FabricState
from localizer.verdicts.verdict import I64, NOTHING_BESIDE, Beside, Drifted, Measured, Verdict
from schemas.component_ids import component, kind_of
from schemas.documents.incident import SMALLEST_P, Direction, Layer, Symptom

F64 = npt.NDArray[np.float64]

#: Where a component is; all others are in the underlay.
LAYER: dict[str, Layer] = {"vswitch": "overlay", "container": "overlay", "host": "host"}


@dataclass(frozen=True, slots=True)
class Alarm:
    """Some class is worse than the alarm budget allows: what a strategy is asked, and about what.

    groups      observability classes
    evidence    for the strategy
    sent, lost  (P,) probes of the window [count]
    window_s    seconds that were compared
    excess_us   (P,) latency above the path's own past, where the trouble is that
    partial     the trouble may be one of one direction, or of some five-tuples only
    """

    groups: Classes
    evidence: Evidence
    sent: I64
    lost: I64
    window_s: int
    excess_us: F64 | None = None
    partial: bool = True


@dataclass(frozen=True, slots=True)
class Finding:
    """What validation found of an attribution.

    bad      (n,) rows of the bad paths that it explains, sorted
    p_value  of the decision, before correction for the classes that were tried
    effect   loss [1] or added latency [us]
    first_s  first bad second
    lone       the host that complains, where too few do; None: enough do
    lof      median Local Outlier Factor of the bad paths; None where there is none
    drifted  how far, of a slow drift
    renewal_s  seconds in which the evidence renews itself
    contains, denied, crowded, earliest_s  see ``Verdict``
    beside   what becomes of open incidents
    rivals   components that are not denied yet, and ln of how likely each is beside the class
    weighed  the strategy has weighed other classes by probes that soon tell them apart
    """

    symptom: Symptom
    bad: I64
    p_value: float
    effect: float
    first_s: int
    lone: Lone | None = None
    lof: float | None = None
    drifted: Drifted | None = None
    renewal_s: int = 1
    contains: frozenset[str] | None = None
    crowded: bool = False
    earliest_s: int | None = None
    rivals: Mapping[str, float] = field(default_factory=dict)
    denied: frozenset[str] = frozenset()
    beside: Beside = NOTHING_BESIDE
    weighed: bool = False


def build(
    state: FabricState,
    alarm: Alarm,
    attribution: Attribution,
    share: F64,
    finding: Finding,
    *,
    only: bool,
) -> Verdict:
    """The verdict on a class, named by its likeliest member.

    share  (P,) of each path's traversals that cross the class; 0 where the path was not measured
    only   the strategy blames nothing else
    """
    evidence, bad = alarm.evidence, alarm.evidence.bad
    least = state.options.verdicts.attribution.least_alternative
    alternatives = _alternatives(alarm.groups, attribution, least)
    verdict = _named(alarm, attribution, finding, alternatives)
    shown = features(state, verdict, share, alarm.sent, alarm.excess_us)
    issue = issue_types(verdict.tie_set, verdict.symptom, shown)
    if verdict.drifted is not None:
        issue = replace(issue, stated=None)  # the catalogue knows no slow drift
    members = of_members(verdict.tie_set, verdict.symptom, shown)
    verdict = confidence.share_out(replace(verdict, issue=issue), members, alone=only)
    crosses, probed = share > 0, alarm.sent > 0
    contrast = explain.contrast(bad & probed, probed & ~bad, crosses)
    verdict = confidence.beside(verdict, finding.rivals)
    if finding.weighed:
        verdict = replace(verdict, others=_others(alarm.groups, attribution, least, verdict))
    measured = Measured(
        contrast,
        explain.layers(state.layer == 1, alarm.lost, alarm.sent, crosses),
        verdict.effect,
        alarm.window_s,
        len(np.unique(state.src[verdict.bad])),
        explain.examples(verdict.bad, state.index.paths),
        finding.lof,
    )
    found = untraced_suspects.suspects(
        state, verdict, share, evidence.sent, evidence.lost, evidence.bad
    )
    if found is not None:
        widened = confidence.widen(verdict, found.possible)
        verdict = replace(widened, untraced=found.untraced)
    text = explain.sentence(verdict, contrast, alarm.window_s, finding.lone)
    return replace(verdict, measured=measured, text=text)


def _named(
    alarm: Alarm, attribution: Attribution, finding: Finding, alternatives: dict[str, float]
) -> Verdict:
    """A verdict whose confidence is that of the class."""
    groups, column = alarm.groups, attribution.column
    tie_set = likeliest_first(groups.members[column], finding.symptom)
    culprit, instead_of, lone = tie_set[0], None, finding.lone
    certainty = confidence.of_class(attribution.classes, column)
    layer = LAYER.get(kind_of(culprit), "underlay")
    if lone is not None:
        culprit, instead_of, layer = component("host", lone.host), culprit, "host"
        others = [each for each in tie_set if each != culprit]
        tie_set = [culprit, *(others if lone.probing == 1 else ())]
        certainty *= DEFAULT.unweighed  # one witness: it may be right about the network
    return Verdict(
        culprit, tie_set, layer, finding.symptom, corrected(finding.p_value, len(groups.members)),
        certainty, finding.bad, int(np.count_nonzero(groups.share(column))), finding.first_s,
        finding.effect,
        direction=_direction(alarm, attribution), instead_of=instead_of,
        alternatives=alternatives, drifted=finding.drifted,
        five_tuples=_five_tuples(alarm, attribution), renewal_s=finding.renewal_s,
        contains=finding.contains, crowded=finding.crowded, earliest_s=finding.earliest_s,
        denied=finding.denied, beside=finding.beside,
    )  # fmt: skip


def _direction(alarm: Alarm, attribution: Attribution) -> Direction:
    """Which way a link hurts."""
    if not alarm.partial or not alarm.groups.directed[attribution.column]:
        return "both"
    if attribution.direction == "a>b":
        return "a>b"
    return "b>a" if attribution.direction == "b>a" else "both"


def _five_tuples(alarm: Alarm, attribution: Attribution) -> float | None:
    """Share of the five-tuples that are hurt; None where all are."""
    return round(attribution.share, 3) if alarm.partial and attribution.share < 1 else None


def _alternatives(groups: Classes, attribution: Attribution, least: float) -> dict[str, float]:
    """Other classes that may be the culprit, by their first member, likeliest first."""
    return {
        groups.members[column][0]: round(likely, 3)
        for column, likely in sorted((attribution.classes or {}).items(), key=lambda each: -each[1])
        if column != attribution.column and likely >= least
    }


def _others(
    groups: Classes, attribution: Attribution, least: float, verdict: Verdict
) -> dict[str, float]:
    """Members of the alternatives, likeliest first, a class's probability shared alike; not those
    that the verdict holds in its tie set already, or denies."""
    known = {*verdict.tie_set, *verdict.denied}
    classes = sorted((attribution.classes or {}).items(), key=lambda each: -each[1])
    return {
        name: round(likely / len(groups.members[column]), 4)
        for column, likely in classes if column != attribution.column and likely >= least
        for name in groups.members[column] if name not in known
    }  # fmt: skip


def corrected(p: float, tests: int) -> float:
    """A p-value after Bonferroni's correction; never below what documents can say of it."""
    return min(1.0, max(SMALLEST_P, p * tests))
