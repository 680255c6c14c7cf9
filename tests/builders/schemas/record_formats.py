"""Ping records and their bytes in each format of the wire."""

from __future__ import annotations

import csv as csv_module
import io
import json
from collections.abc import Callable
from typing import Any, Final

import pyarrow as pa

from schemas import topics
from schemas.documents import ping
from schemas.wire import codecs
from schemas.wire.decoded import Decoded

TIME_NS: Final = 1_733_989_200_251_122_334

#: The least that is a record.
BARE: Final[dict[str, Any]] = {
    "agent_type": "underlay",
    "dial": "success",
    "dst_ip": "10.0.0.2",
    "ping_time": TIME_NS,
    "src_ip": "10.0.0.1",
    "task_type": "UDP_PING",
}

#: A record as an agent on a host writes it.
FULL: Final[dict[str, Any]] = {
    **BARE,
    "src_idc": "f1", "src_node_id": "box-1", "src_node_sn": "host-1", "src_real_ip": "10.64.0.1",
    "dst_node_id": "box-2", "dst_node_sn": "host-2", "dst_real_ip": "10.64.0.2",
    "src_asw": "asw-1", "dst_asw": "asw-2", "src_port": 50_000, "dst_port": 4791, "dscp": 26,
    "latency": 16.25, "loss_rate": 0.25, "sent": 4, "lost": 1, "p50_us": 15.5, "timestamp": "hw",
    "src_zone_id": 'quoted "zone", with a comma', "dst_zone_id": "Zürich",
}  # fmt: skip


def table(rows: list[dict[str, Any]]) -> pa.RecordBatch:
    """A column for every name that any row has."""
    names = dict.fromkeys(name for row in rows for name in row)
    return pa.RecordBatch.from_arrays(
        [pa.array([row.get(name) for row in rows]) for name in names], list(names)
    )


def ndjson(*rows: dict[str, Any]) -> bytes:
    return b"\n".join(json.dumps(row).encode() for row in rows)


def csv(*rows: dict[str, Any]) -> bytes:
    """Header and lines; no value may need quotes."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    lines = [",".join(str(row.get(name, "")) for name in names) for row in rows]
    return "\n".join([",".join(names), *lines]).encode()


def arrow(*rows: dict[str, Any]) -> bytes:
    return codecs.encode_arrow(table(list(rows)))


def json_array(*rows: dict[str, Any]) -> bytes:
    return json.dumps(rows).encode()


def encode_csv(batch: pa.RecordBatch) -> bytes:
    """Decoded records as samples.csv has them: UTF-8 with a BOM and a header of the 45 columns."""
    extras = [column.name for column in ping.EXTRA_STATS]
    out = io.StringIO()
    writer = csv_module.DictWriter(out, ping.NAMES, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for row in batch.to_pylist():
        stats = {name: row[name] for name in extras if row.get(name) is not None}
        writer.writerow({**row, "extra_stats": json.dumps(stats) if stats else ""})
    return b"\xef\xbb\xbf" + out.getvalue().encode()


#: content-type -> how to write rows in it.
WRITERS: Final[dict[str, Callable[..., bytes]]] = {
    topics.ARROW: arrow,
    topics.NDJSON: ndjson,
    topics.JSON: json_array,
    topics.CSV: csv,
}


def read(kind: str, *rows: dict[str, Any]) -> Decoded:
    return codecs.decode(WRITERS[kind](*rows), kind)
