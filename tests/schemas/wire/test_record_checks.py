"""Bad input: a bad row is rejected, an unreadable message raises, each with its reason."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pyarrow as pa
import pytest
from builders.record_formats import BARE, FULL, WRITERS, arrow, csv, ndjson, read, table
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas import topics
from schemas.documents import ping
from schemas.limits import LIMITS
from schemas.wire import codecs
from schemas.wire.decoded import CodecError, Decoded

HEADER = ",".join(BARE)
LINE = ",".join(map(str, BARE.values()))
SENT = {**BARE, "sent": 4}
TRACED = {**BARE, "task_type": "TRACEROUTE"}


def accepted_and_rejected(raw: bytes, kind: str) -> tuple[int, int]:
    """Good and bad rows; (-1, -1) when the message as a whole was refused."""
    try:
        decoded = codecs.decode(raw, kind)
    except CodecError:
        return -1, -1
    return decoded.batch.num_rows, len(decoded.rejects)


# --- rows -------------------------------------------------------------------------------------

ROWS: list[tuple[dict[str, Any], str, str]] = [
    ({**BARE, "task_type": "PIGEON"}, "task_type", "'PIGEON' is unknown; known: RDMA_PING, TCP"),
    ({**BARE, "dial": "maybe"}, "dial", "'maybe' is unknown; known: success, timeout"),
    ({**BARE, "agent_type": "sidelay"}, "agent_type", "'sidelay' is unknown; known: overlay"),
    ({**BARE, "latency": "fast"}, "latency", "'fast' is not a number"),
    ({**BARE, "latency": "nan"}, "latency", "nan is not a round trip in us (0..1 h)"),
    ({**BARE, "latency": -1.0}, "latency", "-1.0 is not a round trip in us"),
    ({**BARE, "latency": "inf"}, "latency", "inf is not a round trip in us"),
    ({**BARE, "loss_rate": 7}, "loss_rate", "7.0 is not a share (0..1)"),
    ({**BARE, "loss_rate": -0.1}, "loss_rate", "-0.1 is not a share (0..1)"),
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


# --- messages ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "kind", "reason"),
    [
        (b"{}", "", "content-type '' is not known; send one of"),
        (b"{}", "application/x-unknown", "content-type 'application/x-unknown' is not known"),
        (arrow(BARE), "application/octet-stream", "is not known"),
        (ndjson(BARE), topics.ARROW, "corrupt Arrow stream"),
        (csv(BARE), topics.ARROW, "corrupt Arrow stream"),
        (b"", topics.ARROW, "corrupt Arrow stream"),
        (arrow(BARE)[:-9], topics.ARROW, "corrupt Arrow stream"),
        (b"", topics.JSON, "not a JSON array"),
        (b"[1,", topics.JSON, "not a JSON array"),
        (ndjson(BARE), topics.JSON, "not a JSON array"),
        (b"[\xff]", topics.JSON, "not a JSON array"),
        (b"", topics.CSV, "header lacks the columns agent_type, dial"),
        (LINE.encode(), topics.CSV, "header lacks the columns"),
        (arrow(BARE), topics.CSV, "header"),
        (b"\xff\xfe" + HEADER.encode(), topics.CSV, "header line is not UTF-8 text"),
        ((HEADER + ",dial\n" + LINE + ",success").encode(), topics.CSV, "names a column twice"),
        (HEADER.replace("dial,", "").encode(), topics.CSV, "header lacks the columns dial"),
        (arrow({"dial": "success"}), topics.ARROW, "required columns are missing: agent_type, dst"),
        (b" " * (LIMITS.message_bytes + 1), topics.NDJSON, "is over the limit of 16777216 B"),
        (b"{}\n" * 65_537, topics.NDJSON, "more than 65536 rows; split it"),
        (HEADER.encode() + b"\n,,,,," * 65_537, topics.CSV, "more than 65536 rows; split it"),
        (b"[" + b"1," * 65_536 + b"1]", topics.JSON, "more than 65536 rows; split it"),
        (
            codecs.encode_arrow(pa.RecordBatch.from_arrays([pa.nulls(65_537)], ["dial"])),
            topics.ARROW,
            "more than 65536 rows; split it",
        ),
    ],
)
def test_an_unreadable_message_raises_one_line_with_the_reason(
    raw: bytes, kind: str, reason: str
) -> None:
    with pytest.raises(CodecError) as caught:
        codecs.decode(raw, kind)
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


def test_rows_of_all_batches_in_a_stream_count_against_the_limit() -> None:
    sink = pa.BufferOutputStream()
    part = pa.RecordBatch.from_arrays([pa.nulls(30_000)], ["dial"])
    with pa.ipc.new_stream(sink, part.schema) as writer:
        for _ in range(3):
            writer.write_batch(part)
    with pytest.raises(CodecError, match="more than 65536 rows"):
        codecs.decode(sink.getvalue().to_pybytes(), topics.ARROW)


STRANGE = {
    "time beyond Python's years": pa.array([2**62], pa.timestamp("s")),
    "bytes that are no text": pa.array([b"\xff"]),
    "list of bytes": pa.array([[b"\xff"]]),
    "list of far times": pa.array([[2**62]], pa.list_(pa.timestamp("s"))),
    "map": pa.array([[("sent", 1)]], pa.map_(pa.string(), pa.int64())),
    "duration": pa.array([5], pa.duration("us")),
    "date": pa.array([2**31 - 1], pa.date32()),
    "dictionary": pa.array(["x"]).dictionary_encode(),
    "text view": pa.array(["x"], pa.string_view()),
    "run ends": pa.RunEndEncodedArray.from_arrays(pa.array([1], pa.int32()), pa.array(["x"])),
    "union": pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.array(["x"])]),
    "months": pa.array([pa.scalar((1, 2, 3), pa.month_day_nano_interval())]),
    "unsigned": pa.array([2**64 - 1], pa.uint64()),
    "empty struct": pa.array([{}]),
    "nothing": pa.nulls(1),
}


@pytest.mark.parametrize("strange", STRANGE)
@pytest.mark.parametrize(
    "name", ["src_ip", "latency", "ping_time", "src_port", "dial", "extra_stats", "unknown"]
)
def test_any_arrow_type_in_any_column_is_at_most_an_error(name: str, strange: str) -> None:
    row = table([{**FULL, "task_type": "PIGEON", "extra_stats": None, "unknown": None}])
    batch = row.set_column(row.schema.get_field_index(name), name, STRANGE[strange])
    assert accepted_and_rejected(codecs.encode_arrow(batch), topics.ARROW) in ((0, 1), (-1, -1))


# --- garbage ----------------------------------------------------------------------------------

SMALL = arrow({**BARE, "sent": 1}, {**BARE, "dial": "timeout"})


def whole(decoded: Decoded) -> None:
    """Every accepted row keeps the rules, so that whoever reads it need not check again."""
    decoded.batch.validate(full=True)
    for row in decoded.batch.to_pylist():
        assert row["dial"] in ping.DIALS
        assert row["task_type"] in ping.TASK_TYPES
        assert row["agent_type"] in ping.LAYERS
        assert row["ping_time"] > 0


def survives(raw: bytes, kind: str) -> None:
    with contextlib.suppress(CodecError):
        whole(codecs.decode(raw, kind))


@pytest.mark.parametrize("flip", [0x01, 0x80, 0xFF])
def test_a_flipped_byte_in_an_arrow_message_is_at_most_an_error(flip: int) -> None:
    for at in range(len(SMALL)):
        raw = bytearray(SMALL)
        raw[at] ^= flip
        survives(bytes(raw), topics.ARROW)


def test_a_truncated_arrow_message_is_at_most_an_error() -> None:
    for length in range(len(SMALL)):
        survives(SMALL[:length], topics.ARROW)


@given(edits=st.lists(st.tuples(st.integers(0, len(SMALL) - 1), st.integers(0, 255)), max_size=12))
@settings(deadline=None, max_examples=200)
def test_several_wrong_bytes_in_an_arrow_message_are_at_most_an_error(
    edits: list[tuple[int, int]],
) -> None:
    raw = bytearray(SMALL)
    for at, value in edits:
        raw[at] = value
    survives(bytes(raw), topics.ARROW)


@given(raw=st.binary(max_size=200), kind=st.sampled_from(list(WRITERS)))
@settings(deadline=None, max_examples=150)
def test_any_bytes_are_at_most_an_error(raw: bytes, kind: str) -> None:
    survives(raw, kind)


odd = st.text(st.sampled_from(list('abc",\r \t\0\x0b\x0c\x85\u2028ü')), max_size=6)


@given(lines=st.lists(st.lists(odd, max_size=8).map(",".join), max_size=6))
@settings(deadline=None, max_examples=150)
def test_every_line_of_a_csv_message_is_a_record_or_a_reject(lines: list[str]) -> None:
    good = f"underlay,success,{'b'},1,{'a'},UDP_PING"
    raw = "\n".join([HEADER.replace("ping_time,src_ip", "ping_time,src_ip"), *lines, good])
    filled = sum(bool(line.encode().strip()) for line in lines)
    accepted, rejected = accepted_and_rejected(raw.encode(), topics.CSV)
    assert accepted + rejected == filled + 1


json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner,
                                                                max_size=3),
    max_leaves=6,
)  # fmt: skip
names = st.sampled_from([*ping.NAMES, "sent", "lost", "timestamp", "tenant_id", "unknown"])


@given(rows=st.lists(st.dictionaries(names, json_values, max_size=6), max_size=5))
@settings(deadline=None, max_examples=150)
def test_every_json_object_is_a_record_or_a_reject(rows: list[dict[str, Any]]) -> None:
    mixed = [{**BARE, **row} for row in rows] + rows
    accepted, rejected = accepted_and_rejected(ndjson(*mixed), topics.NDJSON)
    assert accepted + rejected == len(mixed)
