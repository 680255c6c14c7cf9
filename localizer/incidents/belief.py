"""How probable the culprit of an incident is by all windows since it began. No I/O.

A verdict weighs the classes by one window, and a window of 5 s may be all noise. Windows that share
no second are separate evidence, so the odds that they give are multiplied; of windows that overlap
one counts: the newest, if it covers no fewer seconds than what it overlaps.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from localizer.explanation.confidence import cap
from localizer.explanation.parameters import DEFAULT
from localizer.verdicts.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Window:
    """What the seconds [start_s, end_s) weigh the classes as, beside the class that is named.

    others    first member of another class -> ln of its odds
    unlisted  ln of the most odds of a class that is not listed
    """

    start_s: int
    end_s: int
    others: Mapping[str, float]
    unlisted: float

    @property
    def length_s(self) -> int:
        """Seconds that it covers."""
        return self.end_s - self.start_s

    def overlaps(self, other: Window) -> bool:
        """Whether some second is in both."""
        return self.start_s < other.end_s and other.start_s < self.end_s

    def log_odds(self, name: str) -> float:
        """Ln of the odds of another class."""
        return self.others.get(name, self.unlisted)

    def and_of(self, later: Window) -> Window:
        """By the seconds of both."""
        names = dict.fromkeys((*self.others, *later.others))
        return Window(
            self.start_s, later.end_s,
            {name: self.log_odds(name) + later.log_odds(name) for name in names},
            self.unlisted + later.unlisted,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Belief:
    """The windows of an incident's verdicts.

    apart   windows that share no second, oldest first
    newest  a window that stands for those that it overlaps; None: none does
    """

    apart: tuple[Window, ...] = ()
    newest: Window | None = None

    def add(self, verdict: Verdict, start_s: int, end_s: int) -> Belief:
        """With a verdict by the seconds [start_s, end_s) on what the incident names."""
        own, others = _classes(verdict)
        least = DEFAULT.least_weighed
        own = max(own, least)
        log_odds = {name: math.log(max(p, least) / own) for name, p in others.items()}
        window = Window(start_s, end_s, log_odds, math.log(least / own))
        overlapped = [each for each in self.apart if each.overlaps(window)]
        covered_s = sum(each.length_s for each in overlapped)
        if window.length_s < covered_s:
            return replace(self, newest=None)
        if window.length_s == covered_s:
            return replace(self, newest=window)
        kept = [window, *(each for each in self.apart if each not in overlapped)]
        kept.sort(key=lambda each: each.start_s)
        if len(kept) > DEFAULT.windows_kept:
            kept[:2] = [kept[0].and_of(kept[1])]
        return Belief(tuple(kept))

    def applied(self, verdict: Verdict) -> Verdict:
        """A verdict by the newest window, its probabilities after all of them.

        The shares of the members of the named class, and what the newest window gives to classes
        that it does not list, stay as they are. The cap of ``localizer.explanation.confidence``
        holds for the named class.
        """
        windows = [
            each for each in self.apart if self.newest is None or not each.overlaps(self.newest)
        ]
        if self.newest is not None:
            windows.append(self.newest)
        if not windows:
            return verdict
        total, *rest = windows
        for each in rest:
            total = total.and_of(each)
        own, others = _classes(verdict)
        log_odds = {name: total.log_odds(name) for name in (*others, *total.others)}
        most = max(0.0, *log_odds.values()) if log_odds else 0.0
        weights = {name: math.exp(each - most) for name, each in log_odds.items()}
        part = min(own + sum(others.values()), 1.0)
        part /= math.exp(-most) + sum(weights.values())
        now = min(part * math.exp(-most), max(own, cap(verdict.kind, verdict.symptom)))
        return _with(verdict, now, {name: part * weight for name, weight in weights.items()})


def _classes(verdict: Verdict) -> tuple[float, dict[str, float]]:
    """Probability of the class of the named component, and of each other one that is listed."""
    inside = _named_class(verdict)
    each = verdict.tie_set_probability or {verdict.component: verdict.confidence}
    listed = {**{name: p for name, p in each.items() if p > 0.0}, **verdict.alternatives}
    others = {
        name: p for name, p in listed.items()
        if name not in inside and (name in verdict.undecided or name in verdict.alternatives)
    }  # fmt: skip
    if verdict.component in verdict.undecided:  # the verdict itself names another class
        rest = [name for name in verdict.tie_set if name not in verdict.undecided]
        others |= {first: sum(each.get(name, 0.0) for name in rest) for first in rest[:1]}
    return sum(p for name, p in each.items() if name in inside), others


def _named_class(verdict: Verdict) -> set[str]:
    """The named component and what its tie set shares a class with."""
    if verdict.component in verdict.undecided:
        return {verdict.component}
    return {verdict.component, *verdict.tied} - verdict.undecided


def _with(verdict: Verdict, own: float, others: Mapping[str, float]) -> Verdict:
    """The verdict, with the probability of its class and of others, by first member."""
    before, _ = _classes(verdict)
    if not before:
        return verdict
    inside = _named_class(verdict)
    outside = (1.0 - own) / max(1.0 - before, 1e-9)
    return replace(
        verdict,
        confidence=verdict.confidence * own / before,
        tie_set_probability={
            name: round(p * own / before if name in inside else others.get(name, p * outside), 4)
            for name, p in verdict.tie_set_probability.items()
        },
        alternatives={
            name: round(others[name], 3)
            for name in sorted(others, key=lambda each: -others[each])
            if others[name] >= DEFAULT.least_weighed
        },
    )
