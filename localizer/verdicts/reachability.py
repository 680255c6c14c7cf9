"""Loss and unreachability over the newest 5 and 30 s -> verdicts."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from localizer import strategies
from localizer.detectors import loss
from localizer.evidence import F64, Evidence
from localizer.explanation.issue_features import OWNS
from localizer.explanation.untraced_suspects import widen
from localizer.fabric.observability import Classes
from localizer.state import FabricState
from localizer.verdicts import quorum
from localizer.verdicts.common import (
    PLAUSIBLE,
    about_host,
    add_evidence,
    direct,
    owners,
    suspects,
    verdict_on,
)
from localizer.verdicts.verdict import I64, Verdict
from schemas.documents.incident import Symptom

Bool = npt.NDArray[np.bool_]

#: Each a family of the alarm budget; the third is latency. Judged every second, so one bad pane is
#: enough to alarm; for the name, five-tuples that take turns must all have had theirs.
WINDOWS_S = (5, 30)
RECENT_S = 10  # a verdict must still be bad in these seconds,
STILL = 1e-4  # at this p-value
SURPRISE = 0.01  # p-value below which a path counts as bad
APART = 0.2  # share of a component's probes that must be apart from others to tell it from them
TOTAL = 0.95  # share of lost probes, or of silent five-tuples, that makes it unreachability
ONSET = 0.25  # share of the worst second's losses that marks the first bad one
TELLING = 4  # probes that a five-tuple must have sent to be called silent


def reachability(state: FabricState, at: int, judged: Bool) -> list[Verdict]:
    """Verdicts of all windows; a longer window adds what the shorter ones missed.

    judged  (P,) paths that may speak
    """
    if not (state.history.total("lost", at, RECENT_S) * judged).any():
        _learn(state, at, judged)
        return []
    groups = state.classes()
    level = state.budget.level(len(groups.members), 1.0)
    left = judged.copy()
    fresh = judged.copy()  # paths on no component that a shorter window has blamed
    verdicts: list[Verdict] = []
    for length in WINDOWS_S:
        verdicts += _window(state, at, length, left, fresh, groups, level)
    if not verdicts:
        _learn(state, at, judged)
    return verdicts


def _learn(state: FabricState, at: int, judged: Bool) -> None:
    groups = state.classes()
    sent, lost = (state.history.line(n, at).astype(np.int64) * judged for n in ("sent", "lost"))
    state.background.learn(
        float(sent.sum()), float(lost.sum()),
        groups.pooled(sent), groups.pooled(lost),
    )  # fmt: skip


def _window(
    state: FabricState,
    at: int,
    length: int,
    left: Bool,
    fresh: Bool,
    groups: Classes,
    level: float,
) -> list[Verdict]:
    """Verdicts of one window; takes the paths that they explain out of ``left`` and ``fresh``."""
    unclaimed = fresh.copy()
    background = state.background
    sent = state.history.total("sent", at, length) * left
    lost = state.history.total("lost", at, length) * left
    pooled = groups.pooled(sent), groups.pooled(lost)
    if not loss.alarming(*pooled, background, level).any():
        return []
    p_path = loss.upper_tail(lost.astype(float), sent.astype(float), background.rate)
    bad = (lost > 0) & (p_path < SURPRISE)
    known = suspects(groups, state.suspects)
    plausible = loss.upper_tail(pooled[1], pooled[0], background.rate) < PLAUSIBLE
    evidence = Evidence(
        groups, sent, lost, np.zeros(len(sent)), np.ones(len(sent)), bad,
        state.src, state.layer == 1, background.rate,
        suspect=known, plausible=plausible | known,
    )  # fmt: skip
    verdicts: list[Verdict] = []
    alone: list[Verdict] = []
    blames = strategies.get(state.options.strategy)(evidence)
    owner = owners(groups, blames, latency=False)
    for number, blame in enumerate(blames):
        share = groups.share(blame.column)
        rows = left & (share > 0) & ~(bad & (owner != number))
        n, k = float((share * sent * rows).sum()), float((share * lost * rows).sum())
        if not loss.alarming(np.array([n]), np.array([k]), background, level)[0]:
            continue
        if not _by_itself(state, sent, lost, share * rows, share * (rows & fresh)):
            continue
        left &= ~((share >= OWNS) | (bad & (owner == number)))
        mine = np.flatnonzero(rows & bad)
        if not _still(state, at, share * (rows & unclaimed)):
            continue
        fresh &= share == 0
        p = float(loss.upper_tail(np.array([k]), np.array([n]), background.rate)[0])
        first_s = _first_bad(state, at, length, mine)
        effect = _effect_since(state, at, first_s, share * rows, blame.effect)
        others = _without_most_answered(state, at, first_s, share * rows)
        symptom = _symptom(sent, lost, rows & bad, max(effect, others))
        verdict = verdict_on(
            groups, blame, symptom, mine, p, effect, first_s, alone=len(blames) == 1
        )
        witnessed = quorum.enough(state.src, lost, sent, rows, background, state.options.observers)
        if not witnessed:
            about_host(verdict, state.hosts.names[quorum.loudest(state.src, lost, rows)])
        direct(verdict, blame, groups)
        add_evidence(state, verdict, share, sent, lost, bad, length)
        widen(state, verdict, share, sent, lost, bad)
        (verdicts if witnessed else alone).append(verdict)
    return verdicts or alone[:1]


def _by_itself(state: FabricState, sent: I64, lost: I64, share: F64, apart: F64) -> bool:
    """Whether a component loses also where nothing that was blamed before it can be the cause.

    share, apart  (P,) of its paths, and of those among them that cross nothing blamed so far
    Where routes are unknown, the luck of ECMP puts more of a switch's paths on a lossy link than
    its share says, and the rest would be laid at the switch's door.
    """
    n, k = float((apart * sent).sum()), float((apart * lost).sum())
    if n < APART * float((share * sent).sum()):
        return True  # nothing to compare with: all of its paths cross what was blamed
    background = state.background
    p = loss.upper_tail(np.array([k]), np.array([n]), background.rate, background.dispersion)
    return bool(p[0] < STILL)


def _still(state: FabricState, at: int, share: F64) -> bool:
    """Whether the component loses in the newest seconds too, more than chance would.

    share  (P,) of the paths that speak for it: all that cross it, for the bad ones alone were
           chosen because they lost, and chance would always look guilty
    """
    sent, lost, newest = (
        float((share * state.history.total(name, at, length)).sum())
        for name, length in (("sent", RECENT_S), ("lost", RECENT_S), ("lost", RECENT_S // 2))
    )
    background = state.background
    p = loss.upper_tail(np.array([lost]), np.array([sent]), background.rate, background.dispersion)
    return bool(p[0] < STILL and newest > 0)


def _effect_since(state: FabricState, at: int, first_s: int, share: F64, fitted: float) -> float:
    """Loss since the first bad second; that second itself counts only while it is the only one.

    share   (P,) of the paths in question; those that cross the component fully speak for it
    fitted  what the strategy found over the whole window, for want of such paths
    """
    length = max(1, at - first_s)
    speak = share >= OWNS
    sent = int(state.history.total("sent", at, length)[speak].sum())
    lost = int(state.history.total("lost", at, length)[speak].sum())
    return lost / sent if sent else fitted


def _without_most_answered(state: FabricState, at: int, first_s: int, share: F64) -> float:
    """The same without the source host that reports most answers, 0 where too few are left: what
    lets nothing through for all others does not do so because one host says that it does."""
    length = max(1, at - first_s)
    speak = np.flatnonzero(share >= OWNS)
    sent = state.history.total("sent", at, length)[speak]
    lost = state.history.total("lost", at, length)[speak]
    source = state.src[speak]
    if not len(source):
        return 0.0
    rest = source != int(np.argmax(np.bincount(source, sent - lost)))
    if len(np.unique(source[rest & (lost > 0)])) < state.options.observers:
        return 0.0
    return float(lost[rest].sum() / max(int(sent[rest].sum()), 1))


def _symptom(sent: I64, lost: I64, bad: Bool, effect: float) -> Symptom:
    """Unreachability when nothing gets through, or nothing of some five-tuples.

    One lost probe of one says nothing about a five-tuple, so only those with more count.
    """
    told = bad & (sent >= TELLING)
    gone = told.any() and (lost[told] >= sent[told]).mean() >= TOTAL
    return "unconnectivity" if effect >= TOTAL or gone else "loss"


def _first_bad(state: FabricState, at: int, length: int, bad: I64) -> int:
    """First second of the window in which the bad paths lost as they did later, not by chance."""
    seconds = range(at - length + 1, at + 1)
    lost = np.array([int(state.history.line("lost", s)[bad].sum()) for s in seconds])
    return seconds[int(np.argmax(lost >= max(1.0, ONSET * lost.max())))]
