"""skh.maintenance: planned work on a component; verdicts on it are suppressed meanwhile.

Compacted by fabric, component and ``from``.

A second document for the same component and ``from`` replaces the first.
A file of them (``diagnose --maintenance``) is NDJSON or a JSON array.
"""

from __future__ import annotations

import msgspec

from schemas.component_ids import KINDS
from schemas.documents.decoding import decode
from schemas.documents.ping import DEFAULT_FABRIC
from schemas.documents.tasks.claims import Statement
from schemas.documents.times import seconds_of


class Plan(Statement, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The newest announcement of the work, and the end that it gave (RFC 3339)."""

    until: str


class Maintenance(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Work on a component and all its parts, from ``from`` until ``until`` (RFC 3339, event time).

    component  component id; ``host:h1`` includes the host's rnics, vswitch, containers and agent,
               ``tor:a1`` its links, ``pod:p1`` its hosts, ``fabric:f1`` all
    reason     shown with the suppressed verdicts
    planned, ended  who said so last; may be left out
    """

    component: str
    start: str = msgspec.field(name="from")
    until: str
    reason: str
    fabric: str = DEFAULT_FABRIC
    planned: Plan | None = None
    ended: Statement | None = None

    def __post_init__(self) -> None:
        kind, _, name = self.component.partition(":")
        if kind not in KINDS or not name:
            raise ValueError(
                f"maintenance: {self.component!r} is no component id; "
                f"write kind:name with a kind of {', '.join(KINDS)}"
            )
        if not self.fabric:
            raise ValueError(f"maintenance of {self.component}: fabric is empty; leave it out")
        if not self.reason.strip():
            raise ValueError(f"maintenance of {self.component}: reason is empty; say why")
        if not seconds_of(self.start) < seconds_of(self.until):
            raise ValueError(
                f"maintenance of {self.component}: from {self.start} is not before "
                f"until {self.until}"
            )

    @property
    def key(self) -> str:
        """Key of its message on the topic: a component may have the same name in two fabrics."""
        return f"{self.fabric} {self.component} {self.start}"


def parse(raw: bytes) -> Maintenance:
    """Decode one document; raises DocumentError (a ValueError) of one line."""
    return decode(raw, Maintenance)
