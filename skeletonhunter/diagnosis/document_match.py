"""Checks that documents given beside the records concern these records.

A topology, placement, maintenance window or heartbeat of another fabric has no effect, and the
result would look as if it had been used. So each such document is refused with BadInput.
"""

from __future__ import annotations

import json
from typing import Final, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from schemas import identity
from schemas.component_ids import component, link
from schemas.documents.heartbeat import Heartbeat
from schemas.documents.known_components import Known, of_host, of_topology
from schemas.documents.maintenance import Maintenance
from schemas.documents.ping import DEFAULT_FABRIC
from schemas.documents.placement import Placement
from schemas.documents.topology import Topology
from skeletonhunter.diagnosis.site_documents import Located
from skeletonhunter.errors import BadInput

_KINDS: Final = {"node_id": "container", "dsw": "spine", "pod": "pod"}
Document = TypeVar("Document", Placement, Maintenance)
_ENDS: Final = ("src", "dst")


def known_of(records: pa.RecordBatch, topology: Topology | None) -> Known:
    """Fabrics, components and hops that the records and the topology name.

    records  accepted by ``schemas.wire.codecs``
    """
    fabrics = set(_distinct(records, "fabric"))
    ids = {component("fabric", name) for name in fabrics if _can_be_named(name)}
    for end in _ENDS:
        for host in filter(_can_be_named, _distinct(records, f"{end}_node_sn")):
            ids |= of_host(host)
        for column, kind in _KINDS.items():
            named = filter(_can_be_named, _distinct(records, f"{end}_{column}"))
            ids |= {component(kind, name) for name in named}
        for rnic, asw in _pairs(records, f"{end}_real_ip", f"{end}_asw"):
            ids.add(component("rnic", rnic))
            if asw:
                ids.add(component("tor", asw))
                ids.add(link(component("rnic", rnic), component("tor", asw)))
    mine = topology is not None and topology.fabric in fabrics
    if topology is not None and mine:
        ids |= of_topology(topology)
    return Known(frozenset(fabrics), frozenset(ids), frozenset(_hops(records)), mine)


def check_topology(topology: Topology | None, where: object, known: Known) -> None:
    """Raises BadInput unless the topology's fabric is one of the records'.

    where  the file, for the message
    """
    if topology is not None and (why := known.foreign(topology.fabric)):
        raise BadInput(f"{where}: {why}; give the topology of the records' fabric")


def check_heartbeats(beats: list[Heartbeat], where: object, known: Known) -> None:
    """Raises BadInput unless at least one heartbeat is of a fabric of the records."""
    if beats and not any(beat.fabric in known.fabrics for beat in beats):
        raise BadInput(f"{where}: {known.foreign(beats[0].fabric)}; give heartbeats of that fabric")


def check_placements(
    placements: list[Located[Placement]], known: Known, *, hosts_known: bool
) -> list[str]:
    """Returns notes on documents of other fabrics, beside some of the records'.

    hosts_known  a topology lists all hosts; without one some must be in the records
    """
    mine, notes = _of_these_fabrics(placements, known)
    unknown = [(each, why) for each in mine if (why := known.unknown_host(each.document))]
    if unknown and (hosts_known or len(unknown) == len(mine)):
        each, why = unknown[0]
        raise BadInput(f"{each.where}: {why}")
    return notes


def check_maintenance(maintenance: list[Located[Maintenance]], known: Known) -> list[str]:
    """Returns notes on documents of other fabrics, beside some of the records'."""
    mine, notes = _of_these_fabrics(maintenance, known)
    for each in mine:
        if why := known.unknown_component(each.document):
            raise BadInput(f"{each.where}: {why}")
    return notes


def _of_these_fabrics(
    documents: list[Located[Document]], known: Known
) -> tuple[list[Located[Document]], list[str]]:
    """The documents of the records' fabrics, and a note on those of other fabrics.

    A file may cover a whole site, so documents of other fabrics are left out with a note. Raises
    BadInput when no document is of the records' fabrics, and for one of the default fabric when the
    records name other fabrics: there the field was forgotten.
    """
    mine = [each for each in documents if each.document.fabric in known.fabrics]
    other = [each for each in documents if each.document.fabric not in known.fabrics]
    for each in other:
        if not mine or each.document.fabric == DEFAULT_FABRIC:
            raise BadInput(f"{each.where}: {known.foreign(each.document.fabric)}")
    if not other:
        return mine, []
    names = ", ".join(sorted({each.document.fabric for each in other}))
    return mine, [
        f"{other[0].where}: {len(other)} of {len(documents)} documents are of other fabrics "
        f"({names}) and were left out"
    ]


def _can_be_named(name: str) -> bool:
    return bool(name) and "|" not in name


def _distinct(records: pa.RecordBatch, column: str) -> list[str]:
    values = pc.unique(identity.filled(records, column)).to_pylist()
    return [value for value in values if isinstance(value, str)]


def _pairs(records: pa.RecordBatch, first: str, second: str) -> set[tuple[str, str]]:
    columns = [identity.filled(records, name) for name in (first, second)]
    rows = pa.table(columns, names=["a", "b"]).group_by(["a", "b"]).aggregate([]).to_pylist()
    pairs = {(row["a"], row["b"]) for row in rows}
    return {(a, b) for a, b in pairs if _can_be_named(a) and "|" not in b}


def _hops(records: pa.RecordBatch) -> set[str]:
    """Names on traced routes; an invalid route becomes a dead letter when it is judged."""
    found: set[str] = set()
    if "route" not in records.schema.names:
        return found
    for text in pc.unique(records.column("route")).to_pylist():
        try:
            hops = json.loads(text) if text else []
        except (ValueError, RecursionError):
            continue
        found |= {hop for hop in hops if isinstance(hop, str)} if isinstance(hops, list) else set()
    return found
