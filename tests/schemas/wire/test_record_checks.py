"""Rules of a record: a bad row is rejected with its column and reason, the others are accepted."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from builders.schemas.record_formats import BARE, WRITERS, ndjson, read, table

from schemas import topics
from schemas.documents import ping
from schemas.wire import codecs

HEADER = ",".join(BARE)
LINE = ",".join(map(str, BARE.values()))
SENT = {**BARE, "sent": 4}
TRACED = {**BARE, "task_type": "TRACEROUTE"}


ROWS: list[tuple[dict[str, Any], str, str]] = [
    ({**BARE, "task_type": "PIGEON"}, "task_type", "'PIGEON' is unknown; known: RDMA_PING, TCP"),
    ({**BARE, "dial": "maybe"}, "dial", "'maybe' is unknown; known: success, timeout"),
    ({**BARE, "agent_type": "sidelay"}, "agent_type", "'sidelay' is unknown; known: overlay"),
    ({**BARE, "latency": "fast"}, "latency", "'fast' is not a number"),
    ({**BARE, "latency": "nan"}, "latency", "nan is not a round trip in us (0..1 h)"),
    ({**BARE, "latency": -1.0}, "latency", "-1.0 is not a round trip in us"),
    ({**BARE, "latency": "inf"}, "latency", "inf is not a round trip in us"),
    ({**BARE, "loss_rate": 7}, "loss_rate", "7.0 is not a share (0..1); divide percent by 100"),
    ({**BARE, "loss_rate": -0.1}, "loss_rate", "-0.1 is not a share (0..1); divide percent by 100"),
    ({**SENT, "lost": 5}, "lost", "5 is more than was sent"),
    ({**SENT, "lost": -1}, "lost", "-1 is not a count of probes"),
    ({**BARE, "sent": 10**7}, "sent", "10000000 is not a count of probes"),
    ({**BARE, "src_port": 70_000}, "src_port", "70000 is not a port (0..65535)"),
    ({**BARE, "dst_port": -1}, "dst_port", "-1 is not a port"),
    ({**BARE, "src_port": "http"}, "src_port", "'http' is not a whole number (int32)"),
    ({**BARE, "dscp": 64}, "dscp", "64 is not a DSCP (0..63)"),
    ({**BARE, "ping_time": -5}, "ping_time", "-5 is not ns since the epoch"),
    ({**BARE, "ping_time": 0}, "ping_time", "0 is not ns since the epoch"),
    ({**BARE, "ping_time": "noon"}, "ping_time", "'noon' is not a whole number (int64)"),
    ({**BARE, "ping_time": 10**40}, "ping_time", f"'{10**40}' is not a whole number (int64)"),
    ({**BARE, "src_ip": ""}, "src_ip", "is required and missing"),
    ({**BARE, "dial": ""}, "dial", "is required and missing"),
    ({**BARE, "ping_time": ""}, "ping_time", "is required and missing"),
    ({**TRACED, "route": '{"hop": 1}'}, "route", "not a JSON array of hop names: Expected"),
    ({**TRACED, "route": "[1"}, "route", "not a JSON array of hop names: Expected `str"),
    ({**BARE, "src_node_sn": "h" * 4097}, "src_node_sn", "longer than 4096 B"),
    ({**BARE, "src_ip": "h" * 300_000}, "src_ip", "longer than 4096 B"),
    ({**BARE, "route": "h" * 65_537}, "route", "longer than 65536 B"),
    ({**BARE, "extra_stats": "{sent"}, "extra_stats", "not a JSON object: "),
    ({**BARE, "extra_stats": "5"}, "extra_stats", "not a JSON object: Expected `object`"),
]


@pytest.mark.parametrize(("row", "column", "reason"), ROWS)
@pytest.mark.parametrize("kind", [topics.NDJSON, topics.CSV])
def test_a_bad_row_is_rejected_with_its_column_and_reason(
    row: dict[str, Any], column: str, reason: str, kind: str
) -> None:
    decoded = read(kind, BARE, row, BARE)
    assert decoded.batch.num_rows == 2
    (reject,) = decoded.rejects
    assert (reject.row, reject.column) == (1, column)
    assert reject.reason.startswith(f"{column}: {reason}")
    assert reject.raw == WRITERS[kind](BARE, row, BARE).split(b"\n")[1 + (kind == topics.CSV)]


@pytest.mark.parametrize(
    ("row", "column"), [(row, column) for row, column, _ in ROWS if row.get(column) not in ("",)]
)
def test_a_bad_row_in_arrow_is_rejected_with_its_column(row: dict[str, Any], column: str) -> None:
    name, value = column, row[column]
    good = table([{**BARE, "sent": None, "lost": None}] * 3)
    texts = pa.array([None if name not in BARE else str(BARE[name])] * 3).to_pylist()
    texts[1] = str(value)
    values = pa.array(texts)
    index = good.schema.get_field_index(name)
    batch = good.set_column(index, name, values) if index >= 0 else good.append_column(name, values)
    if "sent" in row and name != "sent":
        batch = batch.set_column(batch.schema.get_field_index("sent"), "sent", pa.array([4] * 3))
    if row["task_type"] == "TRACEROUTE":
        kinds = pa.array(["UDP_PING", row["task_type"], "UDP_PING"])
        batch = batch.set_column(batch.schema.get_field_index("task_type"), "task_type", kinds)
    decoded = codecs.decode(codecs.encode_arrow(batch), topics.ARROW)
    assert [(r.row, r.column) for r in decoded.rejects] == [(1, column)]
    assert decoded.batch.num_rows == 2
    assert name in json.loads(decoded.rejects[0].raw), "the raw bytes show the bad value"


@pytest.mark.parametrize(
    ("hops", "reason"),
    [
        ([None] * 256, "route: 256 hops; a route has 255 at the most"),
        (["h" * 4097], "route: a hop's name is longer than 4096 B"),
    ],
)
def test_a_route_over_a_limit_rejects_its_row(hops: list[str | None], reason: str) -> None:
    decoded = read(topics.NDJSON, BARE, {**TRACED, "route": hops}, {**TRACED, "route": hops[:0]})
    assert [reject.reason for reject in decoded.rejects] == [reason]
    assert decoded.batch.num_rows == 2


def test_the_route_of_a_record_that_is_no_traceroute_is_not_read() -> None:
    assert read(topics.NDJSON, {**BARE, "route": "by train"}).rejects == []


@pytest.mark.parametrize("missing", ping.REQUIRED)
def test_a_row_without_a_required_value_is_rejected_with_the_column(missing: str) -> None:
    row = {k: v for k, v in BARE.items() if k != missing}
    decoded = read(topics.NDJSON, row, BARE)
    assert [(r.row, r.column) for r in decoded.rejects] == [(0, missing)]
    assert decoded.batch.num_rows == 1


@pytest.mark.parametrize("line", [b"{", b"[1]", b"5", b'"x"', b"null", b'{"dial":"\xff"}', b"\0"])
def test_a_line_that_is_no_json_object_is_rejected(line: bytes) -> None:
    decoded = codecs.decode(ndjson(BARE) + b"\n" + line + b"\n" + ndjson(BARE), topics.NDJSON)
    (reject,) = decoded.rejects
    assert (reject.row, reject.column, reject.raw) == (1, None, line)
    assert reject.reason.startswith("not a JSON object: ")
    assert decoded.batch.num_rows == 2


def test_an_array_item_that_is_no_object_is_rejected() -> None:
    raw = b"[" + ndjson(BARE) + b",7," + ndjson(BARE) + b"]"
    decoded = codecs.decode(raw, topics.JSON)
    assert [(r.row, r.raw) for r in decoded.rejects] == [(1, b"7")]
    assert decoded.batch.num_rows == 2


@pytest.mark.parametrize(
    ("line", "column", "reason"),
    [
        (LINE + ",too,many", "task_type", "8 fields where the header has 6"),
        ("underlay,success", "dial", "2 fields where the header has 6"),
        (LINE.replace("10.0.0.2", "10.0\r.0.2"), None, "a carriage return within the line"),
        (LINE.replace("10.0.0.2", '"10.0.0.2'), None, "quotes do not close"),
        (LINE.replace("10.0.0.2", '"10.0.0.2"x'), None, "quotes do not close"),
        (LINE.replace("10.0.0.2", "10.0.\udcff.2"), None, "line is not UTF-8 text"),
    ],
)
def test_a_malformed_csv_line_is_rejected(line: str, column: str | None, reason: str) -> None:
    raw = "\n".join([HEADER, LINE, line, LINE]).encode(errors="surrogateescape")
    decoded = codecs.decode(raw, topics.CSV)
    (reject,) = decoded.rejects
    assert (reject.row, reject.column) == (1, column)
    assert reason in reject.reason
    assert decoded.batch.num_rows == 2


def test_a_row_keeps_its_first_reason() -> None:
    decoded = read(topics.NDJSON, {**BARE, "loss_rate": 7, "task_type": "PIGEON", "dscp": 99})
    assert len(decoded.rejects) == 1


def test_rejects_come_in_the_order_of_the_message() -> None:
    rows = [ndjson({**BARE, "dscp": 99}), b"{", ndjson({**BARE, "loss_rate": 7}), b"["]
    decoded = codecs.decode(b"\n".join(rows), topics.NDJSON)
    assert [reject.row for reject in decoded.rejects] == [0, 1, 2, 3]


def test_a_reason_quotes_at_most_60_characters_of_a_value() -> None:
    decoded = read(topics.NDJSON, {**BARE, "latency": "x" * 2**20})
    (reject,) = decoded.rejects
    assert len(reject.reason) < 200
    assert len(reject.raw) > 2**20


@pytest.mark.parametrize("depth", [300, 990, 995, 1000, 5000])
@pytest.mark.parametrize("name", ["route", "latency", "src_ip", "extra_stats"])
def test_deeply_nested_brackets_reject_their_row(name: str, depth: int) -> None:
    nested = "[" * depth + "]" * depth
    line = ndjson({**BARE, name: 0}).replace(b": 0", f": {nested}".encode())
    decoded = codecs.decode(ndjson(BARE) + b"\n" + line, topics.NDJSON)
    assert [reject.row for reject in decoded.rejects] == [1]
    assert "brackets" in decoded.rejects[0].reason


def test_deeply_nested_brackets_in_extra_stats_reject_their_row() -> None:
    nested = '{"sent":' + "[" * 992 + "]" * 992 + "}"
    decoded = read(topics.ARROW, {**BARE, "extra_stats": nested}, BARE)
    assert [(r.row, r.column) for r in decoded.rejects] == [(0, "extra_stats")]
