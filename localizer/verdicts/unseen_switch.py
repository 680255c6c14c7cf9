"""One verdict for what a switch above the ToRs explains, where no record and no route names any.

Without a topology document and without one traced route, a spine that loses packets shows as the
ToRs and hosts whose five-tuples it happens to hurt most. Several such components at once, or one
beside many bad paths that cross none of them, are less probable than one switch above the ToRs. The
verdict names ``spine:?``; which switch or link that is, only routes or a document can tell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
from scipy import special

from localizer.explanation import confidence, explain
from localizer.fabric.parameters import UNTRACED_LINKS
from localizer.fabric.untraced_links import UNSEEN_SWITCH, Trouble
from localizer.state.fabric_state import FabricState
from localizer.verdicts.build import Alarm
from localizer.verdicts.verdict import I64, Measured, Untraced, Verdict
from schemas.documents.incident import Symptom

Bool = npt.NDArray[np.bool_]


def joined(
    state: FabricState,
    alarm: Alarm,
    verdicts: Sequence[Verdict],
    lone: Sequence[Verdict],
    left: Bool,
) -> list[Verdict]:
    """The verdicts of one alarm, those that an unseen switch explains as one.

    lone  verdicts of a host that complains alone, see ``attribute``: the first one counts where
          there is no other
    left  (P,) paths that nothing which the strategy blames explains
    Unchanged where a switch above the ToRs is known, or where too little speaks against the
    components that are named.
    """
    incidence, out = state.incidence, list(verdicts or lone[:1])
    if not out or incidence.graph.given or incidence.graph.above_tors:
        return out
    evidence = alarm.evidence
    unsure: Bool = np.asarray(incidence.traces().missing.any(axis=0))
    if UNSEEN_SWITCH in state.suspects:
        out = [each for each in out if not each.lone_witness or not unsure[each.bad].all()]
    some = [each for each in out if UNSEEN_SWITCH in each.possible and not _all_bad(each)]
    if not some:
        return out
    mine: Bool = np.zeros(len(unsure), bool)
    for each in some:
        mine[each.bad] = True
    trouble = Trouble(evidence.sent, evidence.lost, mine, evidence.bad & left)
    if UNSEEN_SWITCH not in state.suspects and len(some) < UNTRACED_LINKS.joint:
        named = any(each.component in state.suspects for each in some)  # as the window ends, too
        if named or not trouble.spread(unsure):
            return out
    others = [each for each in out if each not in some]
    return [_verdict(state, alarm, some, mine | (trouble.elsewhere & unsure), unsure), *others]


def _all_bad(verdict: Verdict) -> bool:
    """Whether so many paths of the component are bad that the luck of ECMP is no explanation: an
    unseen switch is crossed by three quarters of them at most, where it is one of two."""
    if verdict.measured is None:
        return True
    bad, good = verdict.measured.contrast.bad_crossing, verdict.measured.contrast.good_crossing
    return bool(bad) and bool(
        special.betainc(bad, good + 1.0, UNTRACED_LINKS.most_crossed) < UNTRACED_LINKS.cleared
    )


def _verdict(
    state: FabricState, alarm: Alarm, some: Sequence[Verdict], bad: Bool, unsure: Bool
) -> Verdict:
    """A verdict on the unseen switch in the place of others.

    bad     (P,) bad paths that it explains
    unsure  (P,) paths that may cross it
    """
    sent, lost = alarm.sent, alarm.lost
    worst = min(some, key=lambda each: each.p_value)
    rows, probed = np.flatnonzero(bad), np.asarray(sent > 0)
    contrast = explain.contrast(
        alarm.evidence.bad & probed, ~alarm.evidence.bad & probed, unsure & probed
    )
    symptom: Symptom = "loss" if worst.family == "reachability" else worst.symptom
    unknown = int((unsure & probed).sum())
    verdict = Verdict(
        UNSEEN_SWITCH, [UNSEEN_SWITCH], "underlay", symptom,
        worst.p_value, confidence.untried(), rows, int(unsure.sum()),
        min(each.first_s for each in some), _effect(alarm, rows),
        contains=frozenset(name for each in some for name in each.tied) - {UNSEEN_SWITCH},
        untraced=Untraced(unknown, unknown), renewal_s=max(each.renewal_s for each in some),
    )  # fmt: skip
    measured = Measured(
        contrast, explain.layers(state.layer == 1, lost, sent, unsure), verdict.effect,
        alarm.window_s, len(np.unique(state.src[rows])),
        explain.examples(rows, state.index.paths),
    )  # fmt: skip
    text = explain.sentence(verdict, contrast, alarm.window_s)
    return replace(verdict, measured=measured, text=text)


def _effect(alarm: Alarm, rows: I64) -> float:
    """Loss [1] of some paths in the window, or their added latency [us]."""
    if alarm.excess_us is not None:
        return float(np.median(alarm.excess_us[rows]))
    return float(alarm.lost[rows].sum() / max(int(alarm.sent[rows].sum()), 1))
