"""Actions on incidents, as clients send and get them."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

import msgspec
from pydantic import BaseModel, ConfigDict, Field, model_validator

from api.queries.patterns import PRINTABLE

Kind = Literal["acknowledge", "assign", "note", "resolve", "reopen", "feedback"]
#: right: there was a fault, at the component that was named. wrong_component: it was elsewhere.
#: false_alarm: there was none.
Verdict = Literal["right", "wrong_component", "false_alarm"]
Status = Literal["new", "acknowledged", "resolved"]

_TEXT: Final = r"^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f]+$"
_Name = Annotated[str, Field(min_length=1, max_length=100, pattern=PRINTABLE)]
#: Kind -> the field that it needs, beside those that every action may have.
_NEEDS: Final[dict[str, str]] = {"assign": "assignee", "note": "text", "feedback": "verdict"}


class NewAction(BaseModel):
    """What someone does about an incident."""

    model_config = ConfigDict(extra="forbid")

    kind: Kind
    by: _Name | None = Field(
        None, description="Who acts; needed where the API has no tokens, else the token says it"
    )
    assignee: _Name | None = Field(None, description="Of kind assign: who takes care of it")
    verdict: Verdict | None = Field(
        None,
        description="Of kind feedback: right: a fault, at the component that was named;"
        " wrong_component: it was elsewhere; false_alarm: there was none",
    )
    text: Annotated[str, Field(min_length=1, max_length=4000, pattern=_TEXT)] | None = Field(
        None, description="A note; of any kind, needed of kind note"
    )

    @model_validator(mode="after")
    def _has_what_its_kind_needs(self) -> NewAction:
        for kind, name in _NEEDS.items():
            given = getattr(self, name) is not None
            if kind == self.kind and not given:
                raise ValueError(f"an action of kind {kind} needs {name}")
            if kind != self.kind and given and name != "text":
                raise ValueError(f"{name} is of kind {kind} only")
        return self


class Action(msgspec.Struct, frozen=True, kw_only=True):
    """What someone did about an incident.

    key      the same for repetitions of one request
    at       when it was stored, by the API's clock, UTC
    version  of the incident that was the last one then
    """

    incident_id: str
    key: str
    kind: Kind
    by: str
    assignee: str | None
    verdict: Verdict | None
    text: str | None
    version: int
    at: str


class Handling(msgspec.Struct, frozen=True, kw_only=True):
    """What people made of an incident; its ``state`` is the localizer's, and not changed by it.

    status    new: no one has acknowledged it, or it was reopened
    assignee  the last one
    verdict   of the last feedback
    """

    status: Status = "new"
    by: str | None = None
    at: str | None = None
    assignee: str | None = None
    verdict: Verdict | None = None


class ActionList(msgspec.Struct, frozen=True):
    """Actions on an incident, oldest first."""

    items: list[Action]


class Moment(msgspec.Struct, frozen=True, kw_only=True):
    """A version of an incident, or an action on it.

    at       when the version held, event time, or when the action was stored; UTC
    text     what happened, in a few words
    version  of the incident; of an action the last one then
    action   null for a version
    """

    at: str
    text: str
    version: int
    action: Action | None


class Timeline(msgspec.Struct, frozen=True):
    """Versions of an incident and actions on it, in the order of their times."""

    items: list[Moment]


class Precision(msgspec.Struct, frozen=True, kw_only=True):
    """Verdicts of people on incidents of a component kind and symptom.

    right, wrong_component, false_alarm  incidents by their last verdict [count]
    precision                            right ones of all of them [1]; null without any
    low, high                            its 95 % interval (Wilson) [1]
    """

    kind: str
    symptom: str
    right: int
    wrong_component: int
    false_alarm: int
    precision: float | None
    low: float
    high: float


class Feedback(msgspec.Struct, frozen=True, kw_only=True):
    """How often the verdicts were right in production, by those who looked after the incidents.

    total         over all kinds and symptoms, which its ``kind`` and ``symptom`` leave empty
    items         by kind and symptom, those with most verdicts first
    not_reviewed  resolved incidents of the same time without a verdict [count]
    """

    total: Precision
    items: list[Precision]
    not_reviewed: int


#: Kind of action -> the status that it sets.
SETS: Final[dict[str, Status]] = {
    "acknowledge": "acknowledged", "resolve": "resolved", "reopen": "new",
}  # fmt: skip


def handling_of(actions: list[Action]) -> Handling:
    """What actions on one incident come to, as the view incident_handling has it.

    actions  oldest first
    """
    last = {each.kind: each for each in actions}
    status = [each for each in actions if each.kind in SETS][-1:]
    assigned, judged = last.get("assign"), last.get("feedback")
    return Handling(
        status=SETS[status[0].kind] if status else "new",
        by=status[0].by if status else None,
        at=status[0].at if status else None,
        assignee=assigned.assignee if assigned else None,
        verdict=judged.verdict if judged else None,
    )


def named(handling: dict[str, Any]) -> Handling:
    """A row of the view incident_handling, where empty texts stand for none."""
    return msgspec.convert({name: value or None for name, value in handling.items()}, Handling)
