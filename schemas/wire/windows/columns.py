"""Columns of the messages on skh.windows; ``window_chunks`` has their kinds."""

from __future__ import annotations

from typing import Final

import pyarrow as pa


def _is_number(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind))


#: Texts that identify a path and place it in the fabric, in the order of the wire.
PATH_STRINGS: Final = (
    "fabric", "layer", "task_type",
    "src_node_id", "src_ip", "src_real_ip", "src_node_sn", "src_asw", "src_dsw", "src_pod",
    "dst_node_id", "dst_ip", "dst_real_ip", "dst_node_sn", "dst_asw", "dst_dsw", "dst_pod",
    "src_tenant_id", "dst_tenant_id",
)  # fmt: skip
_NAME: Final = pa.dictionary(pa.int32(), pa.string())
PATH_FIELDS: Final = [
    pa.field("path_id", pa.uint64()),
    *(pa.field(name, _NAME) for name in PATH_STRINGS),
    pa.field("src_port", pa.int32()),
    pa.field("dst_port", pa.int32()),
]
#: records: ping records counted; sent, lost, refused: probes [count]. A refused probe was answered
#: by the peer's kernel: the network delivered it, so it is not lost. rtt_*: over answered probes.
COUNT_FIELDS: Final = [
    pa.field("records", pa.uint32()),
    pa.field("sent", pa.uint32()),
    pa.field("lost", pa.uint32()),
    pa.field("refused", pa.uint32()),
    pa.field("rtt_count", pa.uint32()),
    pa.field("rtt_mean_us", pa.float32()),
]
FEATURE_FIELDS: Final = [
    pa.field(f"rtt_{name}_us", pa.float32()) for name in ("p25", "p50", "p75", "min", "std", "max")
]
PANE: Final = pa.schema([*PATH_FIELDS, *COUNT_FIELDS])
WINDOW: Final = pa.schema([*PATH_FIELDS, *COUNT_FIELDS, *FEATURE_FIELDS])
ROUTES: Final = pa.schema(
    [
        pa.field("fabric", pa.string()),
        pa.field("layer", pa.string()),
        pa.field("src_ip", pa.string()),
        pa.field("dst_ip", pa.string()),
        pa.field("src_port", pa.int32()),
        pa.field("dst_port", pa.int32()),
        pa.field("hops", pa.list_(pa.string())),  # null for a silent hop
    ]
)
HEARTBEATS: Final = pa.schema(
    [
        pa.field("fabric", pa.string()),
        pa.field("node_sn", pa.string()),
        pa.field("time", pa.int64()),
        pa.field("alive", pa.bool_()),
        pa.field("cpu_steal", pa.float32()),
        pa.field("scheduling_delay_us", pa.float32()),
    ]
)
#: Columns that the first release did not write -> what they hold in its chunks.
DEFAULTS: Final[dict[str, str | float | None]] = {"dst_tenant_id": ""}
#: Columns of each kind of message that has rows.
SCHEMAS: Final = {"pane": PANE, "window": WINDOW, "routes": ROUTES, "heartbeats": HEARTBEATS}
#: Positions and names of the columns that hold texts.
TEXTS: Final = {
    kind: [(at, field.name) for at, field in enumerate(schema) if not _is_number(field.type)]
    for kind, schema in SCHEMAS.items()
}
#: Columns in which the localizer allows no null.
NOT_NULL: Final = frozenset({
    *(field.name for field in (*PATH_FIELDS, *COUNT_FIELDS[:-1])),
    "fabric", "node_sn", "time", "alive", "layer", "src_ip", "dst_ip", "hops",
})  # fmt: skip
