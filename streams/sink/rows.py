"""Messages of the sink's topics -> rows of its tables. Pure; BadMessage says what is invalid."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from schemas import identity
from schemas.documents.coverage import Coverage
from schemas.documents.incident import Anomaly, read_incident
from schemas.wire import window_chunks
from schemas.wire.batches import I64
from schemas.wire.ping_columns import concat
from schemas.wire.text_codes import text_codes

_TIME: Final = pa.timestamp("us", "UTC")
_SECONDS: Final = pa.timestamp("s", "UTC")
_NANOSECONDS: Final = pa.timestamp("ns", "UTC")
_MOST: Final = float(2**32 - 1)  # latency_ns saturates at 4.29 s
_ANOMALY_TIMES: Final = ("window_start", "window_end")
_INCIDENT_TIMES: Final = ("opened_at", "detected_at", "updated_at", "closed_at")

_TEXTS: Final = pa.list_(pa.string())
_INCIDENT: Final = pa.schema(
    [
        *((name, pa.string()) for name in ("incident_id", "state", "fabric", "component", "kind",
          "layer", "symptom", "issue_type", "direction", "severity", "parent", "strategy")),
        *((name, pa.uint32()) for name in ("version", "paths_bad", "paths_total")),
        *((name, pa.float64()) for name in ("confidence", "p_value")),
        *((name, _TIME) for name in _INCIDENT_TIMES),
        *((name, _TEXTS) for name in ("tie_set", "jobs", "tenants")),
        ("document", pa.binary()),
    ]
)  # fmt: skip
_ANOMALY: Final = pa.schema(
    [
        *((name, pa.string()) for name in ("fabric", "layer", "symptom", "src_node_sn",
          "src_real_ip", "src_ip", "dst_node_sn", "dst_real_ip", "dst_ip", "incident_id")),
        ("path_id", pa.uint64()),
        *((name, pa.uint16()) for name in ("src_port", "dst_port")),
        *((name, _TIME) for name in _ANOMALY_TIMES),
        *((name, pa.uint32()) for name in ("sent", "lost")),
        *((name, pa.float32()) for name in ("loss_rate", "latency_excess_us")),
    ]
)  # fmt: skip
DEAD_LETTER: Final = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("line", pa.int64()),
        ("column", pa.string()),
        ("reason", pa.string()),
        ("raw", pa.binary()),
        ("count", pa.uint64()),
    ]
)
_COVERAGE: Final = pa.schema(
    [
        ("fabric", pa.string()),
        ("at", _TIME),
        *((name, pa.uint32()) for name in ("paths", "components", "uncovered", "untraced")),
        *((name, _TEXTS) for name in ("uncovered_names", "untraced_names")),
    ]
)
_anomalies = msgspec.json.Decoder(Anomaly)
_coverages = msgspec.json.Decoder(Coverage)


class BadMessage(ValueError):
    """A message cannot be stored; the text says which field and why."""


class Place(NamedTuple):
    """Topic, partition and offset of a message."""

    topic: str
    partition: int
    offset: int


def anomaly(raw: bytes) -> pa.Table:
    """One row of ``anomalies``; raises BadMessage."""
    document = _decoded(_anomalies, raw, "anomaly")
    row = msgspec.structs.asdict(document)
    _parse_times(row, _ANOMALY_TIMES)
    try:
        row["path_id"] = int(document.path_id, 16)
    except ValueError:
        raise BadMessage(f"anomaly: path_id {document.path_id!r} is not 16 hex digits") from None
    return _one_row(row, _ANOMALY, "anomaly")


def incident(raw: bytes) -> pa.Table:
    """One row of ``incidents``; raises BadMessage."""
    try:
        row = msgspec.structs.asdict(read_incident(raw))
    except ValueError as why:
        reason = _one_line(why)
        prefix = "" if reason.startswith("incident") else "incident: "
        raise BadMessage(prefix + reason) from why
    _parse_times(row, _INCIDENT_TIMES)
    del row["evidence"]  # lives in the document
    return _one_row({**row, "document": raw}, _INCIDENT, "incident")


def coverage(raw: bytes) -> pa.Table:
    """One row of ``coverage``; raises BadMessage."""
    row = msgspec.structs.asdict(_decoded(_coverages, raw, "coverage"))
    _parse_times(row, ("at",))
    return _one_row(row, _COVERAGE, "coverage")


def _decoded(decoder: Any, raw: bytes, what: str) -> Any:
    try:
        return decoder.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as why:
        raise BadMessage(f"{what}: {_one_line(why)}") from why


def _parse_times(row: dict[str, Any], names: Sequence[str]) -> None:
    for name in names:
        if (text := row[name]) is None:
            continue
        try:
            time = datetime.fromisoformat(text)
        except ValueError:
            time = None
        if time is None or time.tzinfo is None or not 1970 <= time.year < 2262:
            raise BadMessage(f"{name}: {text!r} is not an RFC 3339 time with its zone")
        row[name] = time.astimezone(UTC)


def _one_row(row: dict[str, Any], schema: pa.Schema, what: str) -> pa.Table:
    for name, value in row.items():
        try:
            pa.scalar(value, schema.field(name).type)
        except (pa.ArrowException, OverflowError, ValueError, TypeError) as why:
            raise BadMessage(f"{what}: {name}: {_one_line(why)}") from why
    return pa.Table.from_pylist([row], schema)


def window(header: window_chunks.Header, raw: bytes, place: Place) -> pa.Table:
    """Rows of ``path_windows`` from one chunk; raises BadMessage."""
    if not 0 <= header.start_s < header.end_s < 2**32:
        raise BadMessage(f"skh.windows: [{header.start_s}, {header.end_s}) is no window")
    try:
        batch = window_chunks.decode("window", raw)
    except window_chunks.WindowsError as why:
        raise BadMessage(_one_line(why)) from why
    rows = batch.num_rows
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    for port in ("src_port", "dst_port"):
        columns[port] = _fitted(columns[port], pa.uint16(), port)
    columns["window_start"] = pa.repeat(pa.scalar(header.start_s, _SECONDS), rows)
    columns["window_end"] = pa.repeat(pa.scalar(header.end_s, _SECONDS), rows)
    columns["source_partition"] = pa.repeat(pa.scalar(place.partition, pa.uint16()), rows)
    columns["source_offset"] = pa.repeat(pa.scalar(place.offset, pa.uint64()), rows)
    return pa.table(columns)


def _fitted(values: pa.Array, target: pa.DataType, name: str) -> pa.Array:
    try:
        return values.cast(target)
    except pa.ArrowInvalid as why:
        raise BadMessage(f"{name}: {_one_line(why)}") from why


def pings(parts: Sequence[tuple[pa.RecordBatch, list[Place], I64]]) -> pa.Table:
    """Rows of ``pings`` from many messages, which ``codecs`` accepted.

    parts  batches, each with the places of its messages and (rows,) the message of each row

    Call it once for a whole insert: names are dictionary-encoded, as ClickHouse stores them, which
    makes the insert three times as fast.
    """
    batch = concat([batch for batch, _, _ in parts])
    columns: dict[str, pa.Array] = {"path_id": pa.array(identity.path_ids(batch))}
    for name, values in zip(batch.schema.names, batch.columns, strict=True):
        if name == "latency":
            columns["latency_ns"] = _nanoseconds(values)
        elif name in ("ping_time", "task_start_time"):
            columns[name] = values.cast(_NANOSECONDS)
        elif name in ("src_port", "dst_port"):
            columns[name] = values.cast(pa.uint16())
        elif pa.types.is_string(values.type) and name != "route":
            columns[name] = pa.DictionaryArray.from_arrays(*text_codes(values))
        else:
            columns[name] = values
    places = np.concatenate(
        [np.array([place[1:] for place in every], np.uint64)[of] for _, every, of in parts]
    )
    columns["source_partition"] = pa.array(places[:, 0].astype(np.uint16))
    columns["source_offset"] = pa.array(places[:, 1])
    return pa.table(columns)


def _nanoseconds(latency_us: pa.Array) -> pa.Array:
    rounded = pc.round(pc.multiply(latency_us, 1000.0))
    return pc.min_element_wise(rounded, _MOST, skip_nulls=False).cast(pa.uint32())


def _one_line(why: BaseException) -> str:
    return " ".join(str(why).split())[:300]
