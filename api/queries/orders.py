"""Orders of the list of incidents, and cursors: the place after an incident in such an order.

A cursor holds the values by which its incident is sorted. Incidents that are added do not move what
follows it, as they would move an offset.
"""

from __future__ import annotations

import base64
import binascii
from typing import Any, Final, Literal, NamedTuple

import msgspec

from api.queries.times import LAST
from schemas.documents.incident import Incident
from schemas.documents.times import seconds_of

Order = Literal["newest", "oldest", "updated", "urgent"]


class BadCursor(ValueError):
    """A cursor that no answer to this question had."""


class _Key(NamedTuple):
    """What is sorted by.

    field    of an incident
    sql      its expression
    given    the same of a parameter ``{name}`` with the field's text
    falling  whether from the largest on
    """

    field: str
    sql: str
    given: str = "{name:String}"
    falling: bool = False


def _time(field: str, *, falling: bool) -> _Key:
    return _Key(field, field, "parseDateTime64BestEffort({name:String}, 6, 'UTC')", falling)


_ID: Final = _Key("incident_id", "incident_id")
_NEWEST: Final = _time("opened_at", falling=True)
_KEYS: Final[dict[Order, tuple[_Key, ...]]] = {
    "newest": (_NEWEST, _ID),
    "oldest": (_time("opened_at", falling=False), _ID),
    "updated": (_time("updated_at", falling=True), _ID),
    "urgent": (
        _Key("state", "(state = 'resolved')", "({name:String} = 'resolved')"),
        _Key("severity", "severity"), _NEWEST, _ID,
    ),
}  # fmt: skip
#: Order -> what stands after ORDER BY.
ORDERS: Final[dict[Order, str]] = {
    order: ", ".join(f"{key.sql}{' DESC' if key.falling else ''}" for key in keys)
    for order, keys in _KEYS.items()
}


def cursor(order: Order, last: Incident) -> str:
    """The place after an incident, as opaque text of a URL."""
    values = [str(getattr(last, key.field)) for key in _KEYS[order]]
    return base64.urlsafe_b64encode(msgspec.json.encode([order, *values])).decode().rstrip("=")


def after(order: Order, text: str) -> tuple[str, dict[str, Any]]:
    """Condition on incidents after a cursor, and its parameters; raises BadCursor."""
    try:
        padded = text + "=" * (-len(text) % 4)
        found = msgspec.json.decode(base64.urlsafe_b64decode(padded), type=list[str])
    except (binascii.Error, ValueError, msgspec.MsgspecError):
        raise BadCursor("this is no cursor of an answer") from None
    keys = _KEYS[order]
    if len(found) != 1 + len(keys) or found[0] != order:
        raise BadCursor(f"this is no cursor of an answer in the order {order}")
    values, ways, equal = {}, [], ""
    for number, (key, value) in enumerate(zip(keys, found[1:], strict=True)):
        name = f"after{number}"
        values[name] = _checked(key, value)
        given = key.given.replace("{name:", f"{{{name}:")
        ways.append(f"({equal}{key.sql} {'<' if key.falling else '>'} {given})")
        equal += f"{key.sql} = {given} AND "
    return f"({' OR '.join(ways)})", values


def _checked(key: _Key, value: str) -> str:
    """The text, if it is one that the database takes; raises BadCursor."""
    try:
        fits = not key.field.endswith("_at") or 0 <= seconds_of(value) < LAST.timestamp()
    except (ValueError, OverflowError):
        fits = False
    if not fits or "\x00" in value:
        raise BadCursor(f"this is no cursor of an answer: {key.field}")
    return value
