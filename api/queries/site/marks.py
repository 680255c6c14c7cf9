"""Incidents -> the components of a drawing that they name."""

from __future__ import annotations

from typing import Final

from api.queries.database import Store
from api.queries.filters import LISTED
from api.queries.orders import ORDERS
from api.site_documents import Marked
from schemas.component_ids import component, kind_of
from schemas.documents.incident import Incident, decode_incident

_MOST: Final = 200
_ACTIVE: Final = (
    "SELECT document FROM incidents_latest WHERE fabric = {fabric:String}"  # noqa: S608  # fixed
    f" AND state != 'resolved' AND {LISTED} ORDER BY {ORDERS['urgent']} LIMIT {_MOST}"
)
#: The host of a container, as probes have it.
_HOSTS: Final = (
    "SELECT node_id, argMax(node_sn, valid_from) AS host FROM placement"
    " WHERE fabric = {fabric:String} AND node_id IN {names:Array(String)} GROUP BY node_id"
)


def active(store: Store, fabric: str, also: Incident | None) -> list[Marked]:
    """The active incidents of a fabric, the most urgent first, and one more."""
    rows = store.rows(_ACTIVE, {"fabric": fabric})
    found = {each.incident_id: each for each in (_decoded(row["document"]) for row in rows)}
    if also is not None and also.fabric == fabric:
        found = {also.incident_id: also, **found}
    ids = {one for each in found.values() for one in (each.component, *each.tie_set)}
    hosts = _hosts(store, fabric, sorted(ids))
    return [marked(each, hosts) for each in found.values()]


def one(store: Store, incident: Incident) -> Marked:
    """One incident."""
    hosts = _hosts(store, incident.fabric, [incident.component, *incident.tie_set])
    return marked(incident, hosts)


def _decoded(document: str) -> Incident:
    return decode_incident(document.encode())


def _hosts(store: Store, fabric: str, ids: list[str]) -> dict[str, str]:
    names = [each.partition(":")[2] for each in ids if kind_of(each) == "container"][:_MOST]
    if not names:
        return {}
    rows = store.rows(_HOSTS, {"fabric": fabric, "names": names})
    return {row["node_id"]: row["host"] for row in rows}


def marked(incident: Incident, hosts: dict[str, str]) -> Marked:
    """An incident with the components of a drawing that it names.

    hosts  container -> host, where known
    """
    own = _drawn(incident.component, hosts)
    ties = {_drawn(each, hosts) for each in incident.tie_set} - {own}
    return Marked(
        incident_id=incident.incident_id, component=incident.component, marks=[own],
        ties=sorted(ties), severity=incident.severity, state=incident.state,
        symptom=incident.symptom, opened_at=incident.opened_at,
        text=str(incident.evidence.get("text", "")),
    )  # fmt: skip


def _drawn(component_id: str, hosts: dict[str, str]) -> str:
    """Of what is in a host, the host."""
    kind, _, name = component_id.partition(":")
    if kind in ("vswitch", "agent"):
        return component("host", name)
    if kind == "container" and name in hosts:
        return component("host", hosts[name])
    return component_id
