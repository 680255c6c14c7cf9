"""Topology, placement and heartbeats -> rows. Pure; BadMessage as in ``streams.sink.rows``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec
import pyarrow as pa

from schemas.component_ids import TIER_KIND, component, link
from schemas.documents import placement as placements
from schemas.documents.heartbeat import Heartbeat
from schemas.documents.placement import Placement
from schemas.documents.times import milliseconds_of
from schemas.documents.topology import Topology, parse
from schemas.limits import LIMITS
from streams.sink.rows import BadMessage

_MILLISECONDS: Final = pa.timestamp("ms", "UTC")
_SECONDS: Final = pa.timestamp("s", "UTC")
_TEXTS: Final = pa.list_(pa.string())
_LAST_S: Final = 2**32  # of a DateTime
_MOST_RAIL: Final = 2**16 - 1
_MOST: Final = 2**64 - 1

_COMPONENT: Final = pa.schema(
    [
        *((name, pa.string()) for name in ("fabric", "component", "kind", "name", "pod", "host",
          "tor", "job", "tenant")),
        ("valid_from", _MILLISECONDS),
        ("rail", pa.uint16()),
        *((name, _TEXTS) for name in ("ends", "addresses", "rnics")),
    ]
)  # fmt: skip
_PLACEMENT: Final = pa.schema(
    [
        *((name, pa.string()) for name in ("fabric", "node_id", "node_sn", "state", "job",
          "tenant")),
        ("valid_from", _MILLISECONDS),
        *((name, _TEXTS) for name in ("ips", "rnics")),
    ]
)  # fmt: skip
_HEARTBEAT: Final = pa.schema(
    [
        *((name, pa.string()) for name in ("fabric", "node_sn", "scope", "version")),
        *((name, _SECONDS) for name in ("minute", "started")),
        ("last", _MILLISECONDS),
        *((name, pa.float32()) for name in ("cpu_steal", "scheduling_delay_us")),
        ("behind_ms", pa.int64()),
        ("rnics", pa.uint16()),
        *((name, pa.uint64()) for name in ("sent", "answered")),
    ]
)


def topology_message(raw: bytes, time_ms: int) -> pa.Table:
    """Rows of ``topology_components`` from a message that arrived at ``time_ms``; raises
    BadMessage."""
    if len(raw) > LIMITS.topology_bytes:
        raise BadMessage(f"topology of {len(raw)} B; it may have {LIMITS.topology_bytes} B")
    try:
        document = parse(raw)
        return topology(document, topology_valid_ms(document, time_ms))
    except ValueError as why:
        raise BadMessage(str(why)) from why


def topology(document: Topology, valid_ms: int) -> pa.Table:
    """Rows of ``topology_components``; they hold from ``valid_ms`` on [ms since the epoch]."""
    shared = {"fabric": document.fabric, "valid_from": valid_ms}
    return pa.Table.from_pylist([shared | each for each in _components(document)], _COMPONENT)


def topology_valid_ms(document: Topology, otherwise_ms: int) -> int:
    """From when on a topology holds [ms since the epoch], if it does not say it: the second
    argument; raises BadMessage."""
    valid_ms = milliseconds_of(document.valid_from) if document.valid_from else otherwise_ms
    if not 0 <= valid_ms < 1000 * _LAST_S:
        raise BadMessage(f"topology: valid_from {document.valid_from!r} is not of our age")
    return valid_ms


def _components(document: Topology) -> Iterator[dict[str, Any]]:
    kinds = {switch.id: TIER_KIND[switch.tier] for switch in document.switches}
    for switch in document.switches:
        named = _named(kinds[switch.id], switch.id)
        yield {**named, "pod": switch.pod, "addresses": switch.addresses}
    for a, b in document.links:
        yield _link(component(kinds[a], a), component(kinds[b], b))
    for host in document.hosts:
        yield {**_named("host", host.node_sn), "pod": host.pod}
        for rnic in host.rnics:
            named = _named("rnic", rnic.real_ip)
            yield {
                **named, "pod": host.pod, "host": host.node_sn,
                "rail": min(max(rnic.rail, 0), _MOST_RAIL), "tor": next(iter(rnic.tors), ""),
            }  # fmt: skip
            for asw in rnic.tors:
                yield _link(named["component"], component("tor", asw))
    for box in document.containers:
        yield {
            **_named("container", box.node_id), "host": box.node_sn, "job": box.job,
            "tenant": box.tenant, "rnics": [each.real_ip for each in box.endpoints],
        }  # fmt: skip


def _named(kind: str, name: str) -> dict[str, str]:
    return {"component": component(kind, name), "kind": kind, "name": name}


def _link(a: str, b: str) -> dict[str, Any]:
    return {"component": link(a, b), "kind": "link", "name": "", "ends": sorted((a, b))}


def placement(raw: bytes) -> pa.Table:
    """One row of ``placement``; raises BadMessage."""
    if len(raw) > LIMITS.document_bytes:
        raise BadMessage(f"placement of {len(raw)} B; it may have {LIMITS.document_bytes} B")
    try:
        document = placements.parse(raw)
    except ValueError as why:
        raise BadMessage(f"placement: {why}") from why
    return placements_of([document])


def placements_of(documents: Iterable[Placement]) -> pa.Table:
    """Rows of ``placement``; raises BadMessage."""
    rows = []
    for document in documents:
        valid_ms = milliseconds_of(document.valid_from)
        if not 0 <= valid_ms < 1000 * _LAST_S:
            raise BadMessage(f"placement: valid_from {document.valid_from!r} is not of our age")
        rows.append(msgspec.structs.asdict(document) | {
            "valid_from": valid_ms,
            "ips": [each.ip for each in document.endpoints],
            "rnics": [each.real_ip for each in document.endpoints],
        })  # fmt: skip
    return pa.Table.from_pylist(rows, _PLACEMENT)


def heartbeat(beat: Heartbeat, time_ms: int) -> dict[str, Any]:
    """A row for ``heartbeats`` of one that arrived at ``time_ms`` (0: unknown); raises
    BadMessage."""
    last_ms, started_s = beat.time // 1_000_000, beat.started // 1_000_000_000
    if last_ms // 1000 >= _LAST_S:
        raise BadMessage(f"heartbeat of {beat.node_sn[:100]}: time {beat.time} is after 2106")
    counts = beat.rnics.values()
    return {
        "fabric": beat.fabric, "node_sn": beat.node_sn, "scope": beat.scope,
        "version": beat.version, "minute": last_ms // 60_000 * 60,
        "started": started_s if 0 < started_s < _LAST_S else 0, "last": last_ms,
        "cpu_steal": beat.cpu_steal, "scheduling_delay_us": beat.scheduling_delay_us,
        "behind_ms": time_ms - last_ms if time_ms > 0 else 0, "rnics": len(beat.rnics),
        "sent": _counted(each.sent for each in counts),
        "answered": _counted(each.answered for each in counts),
    }  # fmt: skip


def _counted(values: Iterator[int]) -> int:
    return min(max(sum(values), 0), _MOST)


def heartbeats(rows: Sequence[dict[str, Any]]) -> pa.Table:
    """Rows of ``heartbeats``."""
    return pa.Table.from_pylist(list(rows), _HEARTBEAT)
