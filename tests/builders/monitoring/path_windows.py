"""Rows of the table path_windows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import pyarrow as pa

_TYPES: Final = {
    "window_start": pa.timestamp("s", "UTC"), "window_end": pa.timestamp("s", "UTC"),
    "path_id": pa.uint64(), "records": pa.uint32(), "sent": pa.uint32(), "lost": pa.uint32(),
    "refused": pa.uint32(), "rtt_count": pa.uint32(), "rtt_p50_us": pa.float32(),
    "rtt_mean_us": pa.float32(), "rtt_min_us": pa.float32(), "rtt_max_us": pa.float32(),
    "src_port": pa.uint16(), "dst_port": pa.uint16(),
}  # fmt: skip


def table(rows: Iterable[dict[str, Any]]) -> pa.Table:
    """Rows with the types of the columns that they have."""
    out = pa.Table.from_pylist(list(rows))
    for at, name in enumerate(out.column_names):
        if name in _TYPES:
            out = out.set_column(at, name, out.column(name).cast(_TYPES[name]))
    return out


def window(start_s: int, path_id: int, **columns: Any) -> dict[str, Any]:
    """A window of 30 s from h1 (rnic 10.0.0.1, ToR t1, pod p1) to h2 (10.0.1.2, t2, p2), with 30
    probes, none of them lost, and a median of 10 us."""
    return {
        "window_start": start_s, "window_end": start_s + 30, "path_id": path_id, "fabric": "f1",
        "layer": "underlay", "task_type": "UDP_PING", "src_node_sn": "h1", "dst_node_sn": "h2",
        "src_asw": "t1", "dst_asw": "t2", "src_pod": "p1", "dst_pod": "p2",
        "src_real_ip": "10.0.0.1", "dst_real_ip": "10.0.1.2", "src_node_id": "c1",
        "dst_node_id": "c2", "records": 30, "sent": 30, "lost": 0, "rtt_count": 30,
        "rtt_p50_us": 10.0,
    } | columns  # fmt: skip
