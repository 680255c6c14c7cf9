"""What a caller with a part of the tenants sees of an incident that also hits others.

A broken switch hits many tenants, and each has to see it. Its document and its rows name jobs,
hosts and addresses of all of them, so of such an incident only what is the caller's own, or the
network's, is left: in SQL by ``masked``, in documents by ``Sight.redacted``.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from schemas.component_ids import kind_of
from schemas.documents.incident import Incident, decode_incident, encode

#: Kinds of what belongs to the network, not to a tenant; ?: an end of a link that is not known.
_NETWORK: Final = frozenset({"tor", "agg", "spine", "pod", "fabric", "pipeline", "switch", "?"})
_LEFT_OUT: Final = "Other tenants are hit too: what names them is left out of the evidence"

_JOBS: Final = "SELECT job FROM placement UNION ALL SELECT job FROM jobs"
_IDS: Final = (
    "SELECT arrayJoin(arrayConcat([concat('container:', node_id), concat('host:', node_sn),"
    " concat('vswitch:', node_sn), concat('agent:', node_sn)],"
    " arrayMap(each -> concat('rnic:', each), rnics))) AS id FROM placement"
)
_OWN_JOBS: Final = f"(SELECT groupUniqArray(job) FROM ({_JOBS}))"  # noqa: S608  # fixed
_OWN_IDS: Final = f"(SELECT groupUniqArray(id) FROM ({_IDS}))"  # noqa: S608  # fixed
#: The caller's jobs, and component ids of where its containers run; run with the caller's filters.
OWN: Final = f"SELECT {_OWN_JOBS} AS jobs, {_OWN_IDS} AS ids"
_KINDS: Final = ", ".join(f"'{each}'" for each in sorted(_NETWORK))
_VISIBLE: Final = (
    f"arrayAll(part -> splitByChar(':', part)[1] IN ({_KINDS}) OR has({_OWN_IDS}, part),"
    " splitByChar('|', replaceRegexpOne(%s, '^link:', '')))"
)
_TABLE: Final = re.compile(r"\b(FROM|JOIN) (incidents_latest|incidents FINAL)(?![\w.])")
#: Its columns hide one another's names, so each refers to itself and to what the table has no
#: column for.
_MASKED: Final = (
    "{verb} (SELECT * REPLACE ("  # noqa: S608  # fixed
    "arrayIntersect(tenants, {names}) AS tenants,"
    f" if(of_others, arrayIntersect(jobs, {_OWN_JOBS}), jobs) AS jobs,"
    f" if(of_others AND NOT {_VISIBLE % 'component'}, concat(kind, ':?'), component) AS component,"
    f" if(of_others, arrayFilter(each -> {_VISIBLE % 'each'}, tie_set), tie_set) AS tie_set"
    "{more}) FROM (SELECT *, NOT hasAll({names}, tenants) AS of_others FROM {table}))"
)
#: Columns that the view has beside those of the table.
_OF_VIEW: Final = (
    ", if(of_others, '{}', evidence) AS evidence, if(of_others, '', explanation) AS explanation"
)


def masked(sql: str, names: str) -> str:
    """A statement of ours in which incidents have only what callers of some tenants may see; the
    column ``document`` excepted, which is for ``Sight.redacted``.

    names  an array in SQL
    """

    def table(found: re.Match[str]) -> str:
        verb, name = found.groups()
        text = _MASKED.replace("{more}", _OF_VIEW if name == "incidents_latest" else "")
        return text.replace("{verb}", verb).replace("{table}", name).replace("{names}", names)

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
        return all(kind_of(part) in _NETWORK or part in self.ids for part in parts)
