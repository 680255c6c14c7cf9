"""What a caller with a part of the tenants sees of an incident that also hits others.

A broken switch hits many tenants, and each has to see it. Its document and its rows name jobs,
hosts and addresses of all of them, so of such an incident only what is the caller's own, or the
network's, is left: in SQL by ``masked`` (``store.shared_incidents``), in documents by
``Sight.redacted``.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from schemas.component_ids import kind_of
from schemas.documents.incident import Incident, decode_incident, encode
from store import shared_incidents as in_sql
from store.shared_incidents import own_ids, own_jobs

_LEFT_OUT: Final = "Other tenants are hit too: what names them is left out of the evidence"

#: The caller's jobs, and component ids of where its containers run; run with the caller's filters.
OWN: Final = f"SELECT {own_jobs()} AS jobs, {own_ids()} AS ids"
_TABLE: Final = re.compile(r"\b(FROM|JOIN) (incidents_latest|incidents FINAL)(?![\w.])")


def masked(sql: str, names: str) -> str:
    """A statement of ours in which incidents have only what callers of some tenants may see; the
    column ``document`` excepted, which is for ``Sight.redacted``.

    names  an array in SQL
    """

    def table(found: re.Match[str]) -> str:
        verb, name = found.groups()
        is_view = name == "incidents_latest"
        return f"{verb} {in_sql.masked(name, names, own_jobs(), own_ids(), is_view=is_view)}"

    return _TABLE.sub(table, sql)


@dataclass(frozen=True, slots=True)
class Sight:
    """What is a caller's own.

    tenants  whose data it sees
    jobs     of theirs
    ids      components where their containers run
    """

    tenants: frozenset[str]
    jobs: frozenset[str]
    ids: frozenset[str]

    @classmethod
    def of(cls, tenants: Collection[str], own: Mapping[str, Any]) -> Sight:
        """own: the row of ``OWN``"""
        return cls(frozenset(tenants), frozenset(own["jobs"]), frozenset(own["ids"]))

    def redacted(self, document: str) -> str:
        """An incident's document as the caller sees it."""
        incident = decode_incident(document.encode())
        if self.tenants.issuperset(incident.tenants):
            return document
        return encode(self._of_others(incident)).decode()

    def _of_others(self, incident: Incident) -> Incident:
        shown = self._is_visible(incident.component)
        kept: dict[str, object] = {
            name: value for name, value in incident.evidence.items()
            if isinstance(value, bool | int | float)
        }  # fmt: skip
        if isinstance(types := incident.evidence.get("issue_types"), dict):
            kept["issue_types"] = types
        return msgspec.structs.replace(
            incident,
            component=incident.component if shown else f"{incident.kind}:?",
            tie_set=[each for each in incident.tie_set if self._is_visible(each)],
            jobs=[each for each in incident.jobs if each in self.jobs],
            tenants=[each for each in incident.tenants if each in self.tenants],
            evidence={"text": _LEFT_OUT, **kept},
        )

    def _is_visible(self, component: str) -> bool:
        # As in SQL, and without an error for a link of one end: anybody may have written it.
        parts = component.removeprefix("link:").split("|")
        return all(kind_of(part) in in_sql.NETWORK or part in self.ids for part in parts)
