"""What verdicts about reachability and latency have in common."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from localizer.evidence import Attribution
from localizer.explanation import confidence, explain
from localizer.explanation.issue_features import name_type
from localizer.explanation.issue_types import likeliest_first
from localizer.fabric.observability import Classes
from localizer.state import FabricState
from localizer.verdicts.verdict import I64, Verdict
from schemas.component_ids import component, kind_of
from schemas.documents.incident import SMALLEST_P, Layer, Symptom

Bool = npt.NDArray[np.bool_]
F64 = npt.NDArray[np.float64]

#: Where a component is; all others are in the underlay.
LAYER: dict[str, Layer] = {"vswitch": "overlay", "container": "overlay", "host": "host"}
#: A class whose paths are no worse than chance makes them with this probability is no candidate.
PLAUSIBLE = 1e-2
#: Alternatives to the culprit that are less probable are left out of the evidence.
WORTH_TELLING = 0.01


def suspects(groups: Classes, names: set[str]) -> Bool:
    """(K,) classes that hold one of these components."""
    return np.array([not names.isdisjoint(members) for members in groups.members], bool)


def owners(groups: Classes, blames: list[Attribution], *, latency: bool) -> npt.NDArray[np.int64]:
    """(P,) which of the blames explains most of each path's trouble; -1 where none crosses it."""
    if not blames:
        return np.full(groups.paths, -1)
    effect = np.array([blame.effect for blame in blames])
    strength = effect if latency else -np.log1p(-np.clip(effect, 1e-9, 0.999))
    part = np.stack([groups.share(blame.column) for blame in blames]) * strength[:, None]
    return np.where(part.max(axis=0) > 0, part.argmax(axis=0), -1)


def verdict_on(
    groups: Classes, blame: Attribution, symptom: Symptom, bad: I64, p: float, size: float,
               first_s: int, *, alone: bool) -> Verdict:  # fmt: skip
    """A verdict on a class, named by its likeliest member; its confidence is that of the class.

    p     of the decision, before correction for the classes that were tried
    size  loss [1] or added latency [us]
    alone the strategy blames nothing else
    """
    tie_set = likeliest_first(groups.members[blame.column], symptom)
    layer = LAYER.get(kind_of(tie_set[0]), "underlay")
    crossed = int(np.count_nonzero(groups.share(blame.column)))
    verdict = Verdict(
        tie_set[0], tie_set, layer, symptom, corrected(p, len(groups.members)),
        confidence.of_class(blame.classes, blame.column), bad, crossed, first_s, size, alone=alone,
    )  # fmt: skip
    others = {
        groups.members[column][0]: round(likely, 3)
        for column, likely in sorted((blame.classes or {}).items(), key=lambda each: -each[1])
        if column != blame.column and likely >= WORTH_TELLING
    }
    if others:
        verdict.evidence["alternatives"] = others
    return verdict


def corrected(p: float, tests: int) -> float:
    """A p-value after Bonferroni's correction; never below what documents can say of it."""
    return min(1.0, max(SMALLEST_P, p * tests))


def direct(verdict: Verdict, blame: Attribution, groups: Classes) -> None:
    """Which way a link hurts, and which share of the five-tuples on it."""
    if blame.direction in ("a>b", "b>a") and groups.directed[blame.column]:
        verdict.direction = "a>b" if blame.direction == "a>b" else "b>a"
    if blame.share < 1:
        verdict.evidence["share_of_five_tuples"] = round(blame.share, 3)


def about_host(verdict: Verdict, host: str) -> None:
    """Too few observers to blame the network: the verdict is about the host that complains."""
    who = component("host", host)
    verdict.evidence["instead_of"] = verdict.component
    verdict.component, verdict.tie_set, verdict.layer = who, [who], "host"
    verdict.confidence *= confidence.UNWEIGHED  # one witness: it may be right about the network


def add_evidence(state: FabricState, verdict: Verdict, share: F64, sent: I64, lost: I64, bad: Bool,
                 length: int, excess_us: F64 | None = None) -> None:  # fmt: skip
    """Fill in what a person reads: the contrast, the layers, the strength, examples.

    excess_us  (P,) latency above the path's own past, where the verdict is about that
    """
    name_type(state, verdict, share, sent, excess_us)
    crosses, probed = share > 0, sent > 0
    facts = explain.crossing(verdict.component, bad & probed, probed & ~bad, crosses)
    strength = explain.effect(verdict.symptom, verdict.effect)
    facts["text"] = f"{facts['text']}; {strength} (last {length} s)"
    if verdict.lone_witness:
        facts["text"] = (
            f"only {verdict.component.removeprefix('host:')} sees it, and it takes "
            f"{state.options.observers} source hosts to blame {verdict.evidence['instead_of']}; "
            f"{strength} (last {length} s)"
        )
    facts["layers"] = explain.layers(state.layer == 1, lost, sent, crosses)
    facts["effect"] = round(verdict.effect, 6)
    facts["window_s"] = length
    facts["source_hosts"] = len(np.unique(state.src[verdict.bad]))
    facts["examples"] = explain.examples(verdict.bad, state.index.paths)
    verdict.evidence |= facts
