"""When the issue types of an incident change: to better known ones, never back. No I/O."""

from __future__ import annotations

from dataclasses import replace

from localizer.explanation.issue_types import NONE
from localizer.incidents.parameters import IncidentParameters
from localizer.verdicts.verdict import Verdict
from schemas.component_ids import device


def should_replace(
    known: Verdict, new: Verdict, effect: float, parameters: IncidentParameters, *, worse: bool
) -> bool:
    """Whether the issue types of a new verdict on the same trouble replace the known ones.

    effect  of the verdict that the known types are from
    worse   loss has become unreachability
    Whether the trouble comes and goes is worth most, and once seen it holds for good; else the more
    probable type holds, so that types do not take turns. The tail of a trouble is milder, and the
    tail of unreachability looks like loss: neither shows anything of the cause.
    """
    if device(new.component) not in known.tied_devices:
        return False
    before, now = known.issue.flapping, new.issue.flapping
    if before:
        return bool(now) and _certainty(new) > _certainty(known)
    if now:
        return before is None or new.effect >= parameters.far_weaker * effect
    if worse:
        return True
    silent = known.symptom == "unconnectivity" and new.symptom == "loss"
    if silent or new.effect < parameters.faded * effect:
        return False
    return (now is not None, _certainty(new)) > (before is not None, _certainty(known))


def differs(known: Verdict, new: Verdict) -> bool:
    """Whether the likeliest type is another one, clear enough to be stated or not."""
    return (_likeliest(known), known.issue.stated) != (_likeliest(new), new.issue.stated)


def with_known_type(verdict: Verdict, known: Verdict) -> Verdict:
    """The verdict with the issue types of the known one."""
    return replace(verdict, issue=known.issue)


def _likeliest(verdict: Verdict) -> str | None:
    types = verdict.issue.probability
    if not types:
        return verdict.issue.stated
    name = max(types, key=lambda each: types[each])
    return None if name == NONE else name


def _certainty(verdict: Verdict) -> float:
    """Probability of the likeliest issue type; 0 where there is none."""
    return max(verdict.issue.probability.values(), default=0.0)
