"""The record of what was asked of Slurm: a JSON line before each action, and one after. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

import msgspec

from controller.slurm_drain.plan import Action
from schemas.documents.times import milliseconds_of, rfc3339_of_ms

_HOUR_MS: Final = 3_600_000


class AuditError(ValueError):
    """A line cannot be read; one line: which, and what to do."""


class Line(msgspec.Struct, frozen=True):
    """What was done, or is about to be.

    at       RFC 3339
    outcome  begun, then done or failed; changed: somebody else had changed the node meanwhile
    detail   what scontrol said
    """

    at: str
    outcome: Literal["begun", "done", "failed", "changed"]
    node: str
    state: Literal["DRAIN", "RESUME", "FEATURES"]
    incident_id: str
    component: str
    reason: str = ""
    detail: str = ""
    features: tuple[str, ...] = ()


def line(
    action: Action,
    outcome: Literal["begun", "done", "failed", "changed"],
    now_ms: int,
    detail: str = "",
) -> bytes:
    """One line of an action, with its end."""
    written = Line(
        rfc3339_of_ms(now_ms), outcome, action.node, action.state, action.incident_id,
        action.component, action.reason, detail, action.features,
    )  # fmt: skip
    return msgspec.json.encode(written) + b"\n"


def drained_in_hour(lines: Iterable[bytes], now_ms: int) -> int:
    """Drains that were begun in the hour before, whatever became of them [count].

    A last line without an end is of a run that was cut off, and was followed by no action.
    Raises AuditError.
    """
    count = 0
    for number, raw in enumerate(lines, 1):
        if not raw.endswith(b"\n"):
            break
        try:
            known = msgspec.json.decode(raw, type=Line)
            at_ms = milliseconds_of(known.at)
        except ValueError as why:
            raise AuditError(f"line {number}: {why}; move the file away to begin anew") from why
        if (known.state, known.outcome) == ("DRAIN", "begun") and at_ms > now_ms - _HOUR_MS:
            count += 1
    return count
