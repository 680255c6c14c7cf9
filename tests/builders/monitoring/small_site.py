"""A fabric of two hosts in two pods, its agents, its containers, and a route that was traced."""

from __future__ import annotations

from typing import Any, Final

import msgspec
import pyarrow as pa

from schemas import identity
from schemas.documents.heartbeat import Heartbeat, RnicCounts
from schemas.documents.placement import Placement
from schemas.documents.tasks.skeleton import Position, Skeleton
from schemas.documents.topology import Container, Endpoint, Host, Rnic, Switch, Topology
from store.client import Store
from streams.sink import job_rows, site_rows

SITE: Final = Topology(
    fabric="f1",
    hosts=[Host("h1", [Rnic("10.0.0.1", 0, "t1")], "p1"),
           Host("h2", [Rnic("10.0.1.2", 0, "t2")], "p2")],
    switches=[Switch("t1", "asw", "p1", ["10.9.0.1"]), Switch("t2", "asw", "p2"),
              Switch("a1", "psw", "p1"), Switch("a2", "psw", "p2"), Switch("s1", "dsw")],
    links=[("t1", "a1"), ("t2", "a2"), ("a1", "s1"), ("a2", "s1")],
    containers=[Container("c1", "h1", "llm", "blue", [Endpoint("172.16.0.1", "10.0.0.1")])],
)  # fmt: skip
#: Two rnics, one behind the other in a pipeline.
SKELETON: Final = Skeleton(
    fabric="f1", job="llm", declined=None, start="2026-01-31T11:00:00Z",
    end="2026-01-31T11:04:00Z", period_s=20, dp=1, tp_pp=2, stages=2, unresolved=0,
    later_s=[0.0, 1.5], confidence=0.9, fidelity=0.95, targets=1.0,
    rnics=[Position(node_sn="h1", real_ip="10.0.0.1", cluster=0, stage=0),
           Position(node_sn="h2", real_ip="10.0.1.2", cluster=1, stage=1)],
    pairs=[("10.0.0.1", "10.0.1.2")],
)  # fmt: skip
ROUTE: Final = '["t1", "a1", "s1", "a2", "t2"]'


def put_topology(store: Store, topology: Topology = SITE, valid_s: int = 1_700_000_000) -> None:
    """Stores a topology document, as the sink would."""
    store.insert("topology_components", site_rows.topology(topology, 1000 * valid_s))


def beat(node_sn: str, time_s: float, **fields: Any) -> Heartbeat:
    """A heartbeat of an agent of f1 with one rnic."""
    return Heartbeat(**{
        "node_sn": node_sn, "time": int(1e9 * time_s), "fabric": "f1", "version": "1.2",
        "rnics": {"10.0.0.1": RnicCounts(100, 99)}, **fields,
    })  # fmt: skip


def put_heartbeats(store: Store, *beats: Heartbeat, behind_ms: int = 5) -> None:
    """Stores heartbeats, each of which arrived so long after it was written."""
    rows = [site_rows.heartbeat(each, each.time // 1_000_000 + behind_ms) for each in beats]
    store.insert("heartbeats", site_rows.heartbeats(rows))


def put_placement(store: Store, node_id: str, node_sn: str, **fields: Any) -> None:
    """Stores a placement of the job llm."""
    document = {
        "node_id": node_id, "node_sn": node_sn, "state": "ready", "fabric": "f1", "job": "llm",
        "tenant": "blue", "valid_from": "2026-01-31T11:00:00Z", **fields,
    }  # fmt: skip
    store.insert("placement", site_rows.placement(encoded(Placement(**document))))


def put_skeleton(store: Store, skeleton: Skeleton = SKELETON) -> None:
    """Stores what was inferred about a job."""
    store.insert("job_skeletons", job_rows.skeleton(encoded(skeleton)))


def encoded(document: Any) -> bytes:
    """A document as JSON."""
    return msgspec.json.encode(document)


def put_route(store: Store, window: dict[str, Any], time_s: int, route: str = ROUTE) -> None:
    """Stores a traceroute of the five-tuple of a window."""
    traced = {
        "src_idc": [window["fabric"]], "agent_type": [window["layer"]],
        "task_type": ["TRACEROUTE"],
        **{f"{side}_{name}": [window[f"{side}_{name}"]]
           for side in ("src", "dst") for name in ("node_id", "ip")},
    }  # fmt: skip
    ports = {
        f"{side}_port": pa.array([window[f"{side}_port"]], pa.int32()) for side in ("src", "dst")
    }
    path_id = identity.path_ids(pa.RecordBatch.from_pydict({**traced, **ports}))
    store.insert("pings", pa.table({
        **traced,
        **{name: column.cast(pa.uint16()) for name, column in ports.items()},
        "path_id": pa.array(path_id), "route": [route], "dial": ["success"],
        "ping_time": pa.array([time_s * 1_000_000_000], pa.timestamp("ns", "UTC")),
    }))  # fmt: skip
