"""Versions of an incident and actions on it, merged by time."""

from __future__ import annotations

from api.actions.documents import Action, Moment, Timeline
from schemas.documents.incident import Incident
from schemas.documents.times import seconds_of

_DONE = {
    "acknowledge": "acknowledged", "note": "noted", "resolve": "marked as resolved",
    "reopen": "reopened",
}  # fmt: skip


def timeline(versions: list[Incident], actions: list[Action]) -> Timeline:
    """The moments in order; at the same time a version comes before an action on it.

    versions, actions  each oldest first
    """
    moments = [
        Moment(at=each.updated_at, text=_change(before, each), version=each.version, action=None)
        for before, each in zip([None, *versions], versions, strict=False)
    ]
    moments += [
        Moment(at=each.at, text=_said(each), version=each.version, action=each) for each in actions
    ]
    moments.sort(key=lambda moment: (seconds_of(moment.at), moment.action is not None))
    return Timeline(moments)


def _change(before: Incident | None, now: Incident) -> str:
    if before is None:
        return f"{now.state}: {now.symptom.replace('_', ' ')} of {now.component}, {now.severity}"
    changes = [
        f"{name.replace('_', ' ')} {getattr(now, name)}"
        for name in ("component", "symptom", "severity", "issue_type")
        if getattr(before, name) != getattr(now, name)
    ]
    if before.state != now.state:
        changes.insert(0, now.state)
    return ", ".join(changes) or "confirmed"


def _said(action: Action) -> str:
    if action.kind == "assign":
        return f"assigned to {action.assignee} by {action.by}"
    if action.kind == "feedback":
        return f"judged as {str(action.verdict).replace('_', ' ')} by {action.by}"
    return f"{_DONE[action.kind]} by {action.by}"
