"""What an incident leaves open: other classes that its first evidence does not rule out. No I/O.

Two sightings may be a second apart, and where few paths speak, or routes are unknown, the wrong
one of two links may then be likelier. To wait would leave a fabric of busy agents unwatched. So an
incident opens on the likelier one, and its tie set holds the other one until a verdict rules it
out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from localizer.verdicts.verdict import Verdict


def opening(verdict: Verdict) -> Verdict:
    """A verdict that opens an incident, with all that its evidence leaves open."""
    return _joined(verdict, verdict.others)


def going_on(verdict: Verdict, known: Verdict) -> Verdict:
    """A later verdict on an incident, with what both it and the incident leave open."""
    if not known.undecided:
        return verdict
    held = {*known.tie_set}
    return _joined(verdict, {name: p for name, p in verdict.others.items() if name in held})


def _joined(verdict: Verdict, others: Mapping[str, float]) -> Verdict:
    """The verdict with members of other classes in its tie set. Its own probability is a share of
    all classes, so theirs are what it lacks; what untraced routes leave open says more."""
    if not others or verdict.untraced is not None:
        return verdict
    own = verdict.tie_set_probability or {verdict.component: round(verdict.confidence, 4)}
    return replace(
        verdict, tie_set=[*verdict.tie_set, *others], tie_set_probability={**own, **others},
        undecided=frozenset(others),
    )  # fmt: skip
