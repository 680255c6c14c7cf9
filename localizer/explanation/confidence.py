"""How probable it is that a verdict names the culprit: the product of what is known, capped. Pure.

    confidence = min(cap, P(the class explains it) x P(the component, given the class))

The first factor weighs the class against every other that could stand in its place (the strategy's
likelihoods, ``Attribution.classes``), the second the members of the tie set against each other. The
cap is what finite experience supports: after n verdicts of a kind, k of them right, the next one is
right with a probability of (k + 1/2) / (n + 1), which is below 1 however many there were.

Source  Jeffreys' prior for a share: posterior mean of Beta(k + 1/2, n - k + 1/2).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from localizer.explanation.parameters import DEFAULT
from localizer.verdicts.verdict import Verdict
from schemas.component_ids import TIER_KIND, kind_of
from schemas.documents.incident import Symptom

Trials = tuple[int, int]  # right ones, of all

#: Verdicts in docs/scorecard/results.jsonl by what they name and say, those that the default
#: strategy gave while nothing else was broken and while something was. No lossy switch was ever
#: among several faults there, so those that were named by mistake count against all of them.
#: ``python -m evaluation.scorecard.verdict_counts`` prints both tables.
TRIALS: Final[dict[tuple[str, Symptom], tuple[Trials, Trials]]] = {
    ("agent", "agent_down"): ((28, 28), (28, 28)),
    ("agent", "agent_starved"): ((18, 18), (18, 18)),
    ("agent", "clock_skewed"): ((18, 18), (18, 18)),
    ("container", "loss"): ((3, 3), (3, 3)),
    ("container", "unconnectivity"): ((20, 20), (18, 18)),
    ("host", "high_latency"): ((40, 40), (36, 36)),
    ("link", "loss"): ((235, 235), (296, 300)),
    ("link", "unconnectivity"): ((32, 32), (42, 42)),
    ("rnic", "high_latency"): ((45, 45), (48, 48)),
    ("rnic", "loss"): ((69, 69), (22, 22)),
    ("rnic", "unconnectivity"): ((163, 163), (88, 88)),
    ("switch", "high_latency"): ((30, 30), (17, 17)),
    ("switch", "loss"): ((66, 66), (20, 20)),
    ("switch", "unconnectivity"): ((85, 85), (15, 15)),
    ("vswitch", "high_latency"): ((95, 95), (57, 57)),
    ("vswitch", "loss"): ((2, 2), (2, 2)),
}
#: Verdicts of the same results whose component no probe tells from others of its tie set: how often
#: the first member was the culprit, of how many.
FIRST_RIGHT: Final[dict[tuple[str, Symptom], tuple[int, int]]] = {
    ("container", "loss"): (0, 3),
    ("container", "unconnectivity"): (38, 38),
    ("rnic", "high_latency"): (93, 93),
    ("rnic", "loss"): (32, 91),
    ("rnic", "unconnectivity"): (219, 231),
    ("switch", "unconnectivity"): (1, 1),
    ("vswitch", "high_latency"): (152, 152),
    ("vswitch", "loss"): (2, 2),
}


def jeffreys(right: float, trials: float) -> float:
    """Posterior mean of a share."""
    return (right + 0.5) / (trials + 1.0)


def cap(kind: str, symptom: Symptom, *, alone: bool = True) -> float:
    """The most that may be claimed of a verdict on this kind of component.

    alone  nothing else is broken at the time
    """
    group = "switch" if kind in TIER_KIND.values() else kind
    counted = TRIALS.get((group, symptom))
    if counted is None:
        return untried()
    at_rest, among_others = counted
    return jeffreys(*(at_rest if alone else among_others))


def untried() -> float:
    """The most that may be claimed of a kind of verdict that no trial has shown."""
    return jeffreys(DEFAULT.untried, DEFAULT.untried)


def of_class(classes: Mapping[int, float] | None, column: int) -> float:
    """Probability of a class by the strategy's own weighing."""
    return DEFAULT.unweighed if classes is None else classes.get(column, 0.0)


def by_rule(kind: str, symptom: Symptom, witnesses: int) -> float:
    """Confidence of a verdict by rule: so many observers agree, each of which counts once."""
    return min(cap(kind, symptom), jeffreys(witnesses, witnesses))


def share_out(verdict: Verdict, members: Mapping[str, float], *, alone: bool) -> Verdict:
    """The verdict, its confidence divided among the members of the tie set.

    members  probability of each member, given that it is one of them
    alone    nothing else is broken at the time
    Until then ``confidence`` is that of the class, from then on that of the component.
    """
    known = min(verdict.confidence, cap(verdict.kind, verdict.symptom, alone=alone))
    members = _with_experience(verdict, members)
    each = {name: round(known * share, 4) for name, share in members.items()}
    return replace(
        verdict,
        confidence=known * members[verdict.component],
        tie_set_probability=each if len(each) > 1 else {},
    )


def widen(verdict: Verdict, names: list[str]) -> Verdict:
    """The verdict, its confidence divided with other components that it may mean as well, each as
    probably as the whole tie set.
    """
    if not names:
        return verdict
    each = verdict.tie_set_probability or {verdict.component: verdict.confidence}
    each = {**each, **dict.fromkeys(names, sum(each.values()))}
    part = 1.0 / (1 + len(names))
    return replace(
        verdict,
        confidence=verdict.confidence * part,
        tie_set_probability={name: round(p * part, 4) for name, p in each.items()},
        possible=names,
    )


def beside(verdict: Verdict, rivals: Mapping[str, float]) -> Verdict:
    """The verdict, its confidence divided with rivals that join the tie set until they are denied.

    rivals  component -> ln of how likely it is beside the whole tie set
    """
    if not rivals:
        return verdict
    known = verdict.tie_set_probability or {verdict.component: verdict.confidence}
    odds = {name: math.exp(min(nats, 0.0)) for name, nats in rivals.items()}
    part = 1.0 / (1.0 + sum(odds.values()))
    total = sum(known.values())
    each = {name: p * part for name, p in known.items()}
    each |= {name: total * part * odd for name, odd in odds.items()}
    return replace(
        verdict,
        confidence=verdict.confidence * part,
        tie_set=[*verdict.tie_set, *sorted(rivals, key=lambda name: (-odds[name], name))],
        tie_set_probability={name: round(p, 4) for name, p in each.items()},
        rivals=frozenset(rivals),
    )


def _with_experience(verdict: Verdict, members: Mapping[str, float]) -> Mapping[str, float]:
    """The shares of a tie set after what trials showed: a Beta prior, updated."""
    if len(members) == 1:
        return members
    first = verdict.tie_set[0]
    right, trials = FIRST_RIGHT.get((kind_of(first), verdict.symptom), (0, 0))
    share = (DEFAULT.belief * members[first] + right) / (DEFAULT.belief + trials)
    others = (1.0 - share) / max(1.0 - members[first], 1e-9)
    return {name: share if name == first else each * others for name, each in members.items()}
