"""What a later verdict changes in the name and tie set of an incident. No I/O."""

from __future__ import annotations

from dataclasses import replace

from localizer.incidents.parameters import IncidentParameters
from localizer.verdicts.verdict import Verdict
from schemas.component_ids import device


def new_name(known: Verdict, new: Verdict, parameters: IncidentParameters) -> str | None:
    """What the component is called by now; None where it keeps its name.

    Its switches may have turned out to be of another tier, or routes learnt since then tell it from
    another member of its tie set, which is the culprit; or it is by far the less likely one of two
    rivals.
    """
    less_likely = new.confidence > parameters.far_likelier * new.confidence_in(known.component)
    if known.component in {*new.rivals, *new.undecided} and less_likely:
        return new.component
    if known.component in new.tied or device(new.component) not in known.tied_devices:
        return None
    names = (name for name in new.tied if device(name) == device(known.component))
    return next(names, new.component)


def no_wider(new: Verdict, known: Verdict) -> Verdict:
    """The new verdict; with the known tie set where its own says only less.

    Probes told the members apart for a while, those of the feedback loop say, and are gone: what
    they showed stays true.
    """
    if new.component not in known.tie_set or not narrower(known, new):
        return new
    return replace(
        new, tie_set=known.tie_set, tie_set_probability=known.tie_set_probability,
        confidence=known.confidence, undecided=known.undecided,
    )  # fmt: skip


def shared_as(new: Verdict, known: Verdict) -> Verdict:
    """The new verdict; of unreachability, with the known shares of the tie set, for its tail looks
    like loss, which other members are likelier to show."""
    tail = known.symptom == "unconnectivity" and new.symptom == "loss"
    before = sum(known.tie_set_probability.values())
    if not (tail and before and new.tie_set_probability.keys() == known.tie_set_probability.keys()):
        return new
    part = sum(new.tie_set_probability.values()) / before
    each = {name: p * part for name, p in known.tie_set_probability.items()}
    return replace(new, tie_set_probability=each, confidence=each[new.component])


def narrower(new: Verdict, known: Verdict) -> bool:
    """Whether a verdict leaves fewer members to choose from, and is no less sure of its component.

    Not of verdicts that untraced routes leave open: what they leave open is compared as routes
    become known (``better_traced``).
    """
    if new.untraced is not None or known.untraced is not None:
        return False
    sure = new.confidence >= known.confidence_in(new.component)
    return sure and {*new.tie_set} < {*known.tie_set}


def fits_better(known: Verdict, new: Verdict) -> str | None:
    """What fits best of the components that untraced routes leave open, where a lesser share of the
    paths that speak is untraced than when the incident was written; None: it keeps its name."""
    if known.untraced is None or new.untraced is None:
        return None
    left_open = known.component in new.possible and new.component in known.possible
    less = new.untraced.paths * known.untraced.of < known.untraced.paths * new.untraced.of
    return new.component if left_open and less else None


def better_traced(known: Verdict, new: Verdict) -> bool:
    """Whether routes learnt since then leave less open."""
    if known.untraced is None:
        return False
    return new.untraced is None or {*new.possible} < {*known.possible}
