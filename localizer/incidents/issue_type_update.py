"""When what is said of an incident's issue type changes: to what is surer, never back. Pure."""

from __future__ import annotations

from localizer.explanation.issue_types import NONE
from localizer.verdicts.verdict import Verdict
from schemas.component_ids import device

#: Share of the effect it had below which a trouble is passing; what comes and goes is weaker on
#: average, but if it was steady so far and is far weaker now, another trouble hit some paths.
FADED, FAR_WEAKER = 0.5, 0.25
_EVIDENCE = ("issue_types", "flapping")  # that goes with the issue type


def should_replace(known: Verdict, new: Verdict, effect: float, *, worse: bool) -> bool:
    """Whether a new verdict on the same trouble tells its issue type better than the known one.

    effect  of the verdict that told the known type
    worse   what was loss is unreachability by now
    Whether it comes and goes is worth most, and what was seen to does so for good; else the surer
    one is right, so that types do not take turns. The tail of a trouble is milder, and the tail of
    a silence looks like loss: that tells nothing about the cause.
    """
    if device(new.component) not in known.tied_devices:
        return False
    before, now = (verdict.evidence.get("flapping") for verdict in (known, new))
    if before:
        return bool(now) and _surety(new) > _surety(known)
    if now:
        return before is None or new.effect >= FAR_WEAKER * effect
    if worse:
        return True
    silent = known.symptom == "unconnectivity" and new.symptom == "loss"
    if silent or new.effect < FADED * effect:
        return False
    return (now is not None, _surety(new)) > (before is not None, _surety(known))


def retyped(known: Verdict, new: Verdict) -> bool:
    """Whether the likeliest type is another one, clear enough to be said or not."""
    return (_likeliest(known), known.issue_type) != (_likeliest(new), new.issue_type)


def keep_type(verdict: Verdict, known: Verdict) -> None:
    """Say of the verdict's issue type what the known one said."""
    verdict.issue_type = known.issue_type
    rest = {key: told for key, told in verdict.evidence.items() if key not in _EVIDENCE}
    told = {key: known.evidence[key] for key in _EVIDENCE if key in known.evidence}
    verdict.evidence = rest | told


def _likeliest(verdict: Verdict) -> str | None:
    types = verdict.evidence.get("issue_types")
    if not isinstance(types, dict) or not types:
        return verdict.issue_type
    name = max(types, key=lambda each: types[each])
    return None if name == NONE else str(name)


def _surety(verdict: Verdict) -> float:
    """Probability of the likeliest issue type, 0 where none was said."""
    types = verdict.evidence.get("issue_types")
    return max(types.values(), default=0.0) if isinstance(types, dict) else 0.0
