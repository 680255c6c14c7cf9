"""Ping records for tests: one path a row, everything plain unless a test says otherwise."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from schemas import topics
from schemas.wire import codecs
from streams.kafka.messages import InMessage

START_S = 1_780_000_000


def ping(at_s: float = 0.0, src: str = "h1", dst: str = "h2", **other: Any) -> dict[str, Any]:
    """A record sent ``at_s`` seconds after START_S."""
    return {
        "agent_type": "underlay",
        "task_type": "UDP_PING",
        "dial": "success",
        "src_ip": f"10.0.0.{src[1:]}",
        "dst_ip": f"10.0.0.{dst[1:]}",
        "src_node_sn": src,
        "dst_node_sn": dst,
        "src_idc": "f1",
        "latency": 15.0,
        "ping_time": int((START_S + at_s) * 1e9),
        "src_port": 50_000,
        "dst_port": 4791,
        **other,
    }


def batch(rows: list[dict[str, Any]]) -> pa.RecordBatch:
    return codecs.conform(table(rows)).batch


def table(rows: list[dict[str, Any]]) -> pa.RecordBatch:
    """A column for every name that any row has."""
    names = dict.fromkeys(name for row in rows for name in row)
    columns = [pa.array([row.get(name) for row in rows]) for name in names]
    return pa.RecordBatch.from_arrays(columns, list(names))


def message(
    offset: int, rows: list[dict[str, Any]], *, arrival_s: float | None = None
) -> InMessage:
    """The rows as an agent would send them, arriving with the newest of them."""
    newest_s = max(row["ping_time"] for row in rows) / 1e9
    at_s = newest_s if arrival_s is None else START_S + arrival_s
    raw = codecs.encode_arrow(table(rows))
    return InMessage(offset, int(at_s * 1000), raw, content_type(topics.ARROW))


def content_type(name: str) -> dict[str, bytes]:
    return {topics.CONTENT_TYPE: name.encode()}
