"""Unreadable messages and corrupt bytes: at most one CodecError, never a crash or a bad record."""

from __future__ import annotations

import contextlib
from typing import Any

import pyarrow as pa
import pytest
from builders.schemas.record_formats import BARE, FULL, WRITERS, arrow, csv, ndjson, table
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas import topics
from schemas.documents import ping
from schemas.limits import LIMITS
from schemas.wire import codecs
from schemas.wire.decoded import CodecError, Decoded

HEADER = ",".join(BARE)
LINE = ",".join(map(str, BARE.values()))


def accepted_and_rejected(raw: bytes, kind: str) -> tuple[int, int]:
    """Good and bad rows; (-1, -1) when the message as a whole was refused."""
    try:
        decoded = codecs.decode(raw, kind)
    except CodecError:
        return -1, -1
    return decoded.batch.num_rows, len(decoded.rejects)


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


SMALL = arrow({**BARE, "sent": 1}, {**BARE, "dial": "timeout"})


def check_records(decoded: Decoded) -> None:
    """Check that every accepted row obeys the rules that readers rely on."""
    decoded.batch.validate(full=True)
    for row in decoded.batch.to_pylist():
        assert row["dial"] in ping.DIALS
        assert row["task_type"] in ping.TASK_TYPES
        assert row["agent_type"] in ping.LAYERS
        assert row["ping_time"] > 0


def decode_or_codec_error(raw: bytes, kind: str) -> None:
    with contextlib.suppress(CodecError):
        check_records(codecs.decode(raw, kind))


@pytest.mark.parametrize("flip", [0x01, 0x80, 0xFF])
def test_a_flipped_byte_in_an_arrow_message_is_at_most_an_error(flip: int) -> None:
    for at in range(len(SMALL)):
        raw = bytearray(SMALL)
        raw[at] ^= flip
        decode_or_codec_error(bytes(raw), topics.ARROW)


def test_a_truncated_arrow_message_is_at_most_an_error() -> None:
    for length in range(len(SMALL)):
        decode_or_codec_error(SMALL[:length], topics.ARROW)


@given(edits=st.lists(st.tuples(st.integers(0, len(SMALL) - 1), st.integers(0, 255)), max_size=12))
@settings(deadline=None, max_examples=200)
def test_several_wrong_bytes_in_an_arrow_message_are_at_most_an_error(
    edits: list[tuple[int, int]],
) -> None:
    raw = bytearray(SMALL)
    for at, value in edits:
        raw[at] = value
    decode_or_codec_error(bytes(raw), topics.ARROW)


@given(raw=st.binary(max_size=200), kind=st.sampled_from(list(WRITERS)))
@settings(deadline=None, max_examples=150)
def test_any_bytes_are_at_most_an_error(raw: bytes, kind: str) -> None:
    decode_or_codec_error(raw, kind)


odd = st.text(st.sampled_from(list('abc",\r \t\0\x0b\x0c\x85\u2028ü')), max_size=6)


@given(lines=st.lists(st.lists(odd, max_size=8).map(",".join), max_size=6))
@settings(deadline=None, max_examples=150)
def test_every_line_of_a_csv_message_is_a_record_or_a_reject(lines: list[str]) -> None:
    good = "underlay,success,b,1,a,UDP_PING"
    raw = "\n".join([HEADER, *lines, good])
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
