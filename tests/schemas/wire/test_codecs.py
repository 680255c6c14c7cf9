"""Ping records in every format of the wire: decoded as they were encoded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from builders.schemas.record_formats import (
    BARE,
    FULL,
    TIME_NS,
    WRITERS,
    encode_csv,
    ndjson,
    read,
    table,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas import identity, topics
from schemas.documents import ping
from schemas.limits import LIMITS
from schemas.wire import codecs
from schemas.wire.decoded import CodecError
from schemas.wire.ping_columns import column, concat

DATA = Path(__file__).parents[2] / "data"
ENCODERS = {
    topics.ARROW: codecs.encode_arrow,
    topics.NDJSON: codecs.encode_ndjson,
    topics.CSV: encode_csv,
    topics.JSON: lambda batch: json.dumps(
        [{k: v for k, v in row.items() if v is not None} for row in batch.to_pylist()]
    ).encode(),
}
every_format = pytest.mark.parametrize("kind", list(WRITERS))


def present(batch: pa.RecordBatch) -> list[dict[str, Any]]:
    """Rows without what is null or empty: CSV has no other way to say null."""
    rows = batch.to_pylist()
    return [{k: v for k, v in sorted(row.items()) if v not in (None, "")} for row in rows]


# --- what is written is read ------------------------------------------------------------------

text = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=8)
records = st.fixed_dictionaries(
    {
        "agent_type": st.sampled_from(ping.LAYERS),
        "dial": st.just("success"),
        "task_type": st.sampled_from(ping.TASK_TYPES[:-1]),
        "src_ip": text.map(lambda t: "a" + t),
        "dst_ip": text.map(lambda t: "b" + t),
        "ping_time": st.integers(1, 2**63 - 1),
    },
    optional={
        "src_idc": text,
        "src_node_id": text,
        "dst_zone_id": text,
        "src_port": st.integers(0, 65_535),
        "dscp": st.integers(0, 63),
        "latency": st.floats(0, 1e6),
        "loss_rate": st.floats(0, 1),
        "sent": st.integers(100, 1000),
        "lost": st.integers(0, 100),
        "jitter_us": st.floats(0, 1e6),
        "timestamp": st.sampled_from(["hw", "kernel", "user"]),
        "route": st.sampled_from(['["asw-1",null,"asw-2"]', "[]"]),
    },
)


@given(rows=st.lists(records, min_size=1, max_size=4), kind=st.sampled_from(list(ENCODERS)))
@settings(deadline=None, max_examples=80)
def test_a_round_trip_through_any_format_gives_equal_columns_and_path_ids(
    rows: list[dict[str, Any]], kind: str
) -> None:
    batch = codecs.conform(table(rows)).batch
    assert batch.num_rows == len(rows)
    again = codecs.decode(ENCODERS[kind](batch), kind)
    assert again.rejects == []
    assert present(again.batch) == present(batch)
    assert identity.path_ids(again.batch).tolist() == identity.path_ids(batch).tolist()


@every_format
def test_a_full_record_is_equal_in_all_formats(kind: str) -> None:
    decoded = codecs.decode(ENCODERS[kind](codecs.conform(table([FULL])).batch), kind)
    assert present(decoded.batch) == [dict(sorted(FULL.items()))]


@every_format
def test_a_record_needs_only_the_required_columns(kind: str) -> None:
    decoded = read(kind, BARE)
    assert present(decoded.batch) == [BARE]
    assert set(BARE) == set(ping.REQUIRED)


def test_columns_have_the_types_of_the_record() -> None:
    typed = read(topics.NDJSON, FULL).batch.schema
    known = {c.name: c.type for c in (*ping.COLUMNS, *ping.EXTRA_STATS)}
    assert typed == pa.schema([(f.name, pa.type_for_alias(known[f.name])) for f in typed])


# --- the published sample ---------------------------------------------------------------------


def test_the_sample_starts_with_a_byte_order_mark_and_names_the_45_columns() -> None:
    header = (DATA / "samples.csv").read_bytes().split(b"\r\n")[0]
    assert header == b"\xef\xbb\xbf" + ",".join(ping.NAMES).encode()
    assert len(ping.NAMES) == 45


def test_the_sample_is_three_records() -> None:
    decoded = codecs.decode((DATA / "samples.csv").read_bytes(), topics.CSV)
    assert decoded.rejects == []
    assert decoded.batch.column("latency").to_pylist() == [17.204, 14.018, 12.655]


def test_a_broken_line_of_the_sample_is_rejected_with_line_and_column() -> None:
    decoded = codecs.decode((DATA / "samples-broken.csv").read_bytes(), topics.CSV)
    assert decoded.batch.num_rows == 2
    (reject,) = decoded.rejects
    assert (reject.row, reject.column) == (1, "latency")
    assert reject.reason == "latency: 'fast' is not a number"
    assert b",fast," in reject.raw


# --- what readers accept ---------------------------------------------------------------------


@every_format
def test_unknown_columns_are_ignored(kind: str) -> None:
    decoded = read(kind, {**BARE, "favourite_colour": "blue"})
    assert present(decoded.batch) == [BARE]


@every_format
def test_the_column_tenant_id_is_read_as_src_tenant_id(kind: str) -> None:
    decoded = read(kind, {**BARE, "tenant_id": "t-1"})
    assert decoded.batch.column("src_tenant_id").to_pylist() == ["t-1"]


def test_empty_text_in_a_number_column_is_null() -> None:
    row = {**BARE, "latency": "", "src_port": "", "loss_rate": " ", "sent": ""}
    for kind in (topics.CSV, topics.NDJSON):
        decoded = read(kind, row)
        assert decoded.rejects == []
        assert present(decoded.batch) == [BARE]


@pytest.mark.parametrize("dial", [dial for dial in ping.DIALS if dial != "success"])
def test_latency_without_success_becomes_null(dial: str) -> None:
    rows = [{**BARE, "latency": 5.0}, {**BARE, "dial": dial, "latency": 5.0}]
    decoded = read(topics.NDJSON, *rows)
    assert decoded.rejects == []
    assert decoded.batch.column("latency").to_pylist() == [5.0, None]


@pytest.mark.parametrize("kind", [topics.NDJSON, topics.CSV])
@pytest.mark.parametrize("latency", ["nan", "NaN", "NA", "null", "None", "-1", "-1.0", "inf"])
def test_a_probe_without_an_answer_is_lost_whatever_stands_for_its_latency(
    latency: str, kind: str
) -> None:
    failed = {**BARE, "dial": "Timeout", "latency": latency}
    decoded = read(kind, {**BARE, "latency": 5.0}, failed)
    assert decoded.rejects == []
    assert decoded.batch.column("latency").to_pylist() == [5.0, None]


def test_not_a_number_stands_for_no_latency_in_arrow_too() -> None:
    rows = [{**BARE, "latency": 5.0}, {**BARE, "dial": "timeout", "latency": float("nan")}]
    for dial in (pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())):
        batch = table(rows)
        at = batch.schema.get_field_index("dial")
        batch = batch.set_column(at, "dial", batch.column(at).cast(dial))
        decoded = codecs.conform(batch)
        assert decoded.rejects == []
        assert decoded.batch.column("latency").to_pylist() == [5.0, None]


def test_case_of_enumerated_values_is_ignored() -> None:
    row = {**BARE, "task_type": "RDMA_Ping", "dial": "Success", "agent_type": "Overlay"}
    (found,) = present(read(topics.NDJSON, row).batch)
    assert (found["task_type"], found["dial"], found["agent_type"]) == (
        "RDMA_PING", "success", "overlay",
    )  # fmt: skip


@pytest.mark.parametrize("stats", [{"sent": 8, "lost": 2}, '{"sent": 8, "lost": 2}'])
def test_extra_stats_become_columns_as_object_or_as_text(stats: object) -> None:
    (found,) = present(read(topics.NDJSON, {**BARE, "extra_stats": stats}).batch)
    assert (found["sent"], found["lost"]) == (8, 2)
    assert "extra_stats" not in found


def test_a_route_may_be_an_array_or_its_text() -> None:
    hops = ["asw-1", None, "asw-2"]
    rows = [{**BARE, "route": hops}, {**BARE, "route": json.dumps(hops)}]
    texts = read(topics.NDJSON, *rows).batch.column("route").to_pylist()
    assert [json.loads(text) for text in texts] == [hops, hops]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_a_time_column_of_any_unit_is_nanoseconds(unit: str) -> None:
    whole_s = TIME_NS // 10**9 * 10**9
    times = pa.array([whole_s], pa.int64()).cast(pa.timestamp("ns")).cast(pa.timestamp(unit))
    batch = table([BARE]).set_column(3, "ping_time", times)
    decoded = codecs.decode(codecs.encode_arrow(batch), topics.ARROW)
    assert decoded.batch.column("ping_time").to_pylist() == [whole_s]


def test_parameters_and_case_of_the_content_type_are_ignored() -> None:
    raw = WRITERS[topics.CSV](BARE)
    assert codecs.decode(raw, "Text/CSV; charset=utf-8").batch.num_rows == 1


def test_quoted_commas_and_quotes_are_one_field() -> None:
    raw = b"agent_type,dial,dst_ip,ping_time,src_ip,task_type,src_zone_id\n"
    raw += b'underlay,success,b,1,a,UDP_PING,"a ""quoted"", zone"\r\n'
    decoded = codecs.decode(raw, topics.CSV)
    assert decoded.batch.column("src_zone_id").to_pylist() == ['a "quoted", zone']


def test_blank_lines_are_ignored() -> None:
    raw = b"\n\n" + ndjson(BARE) + b"\n  \n" + ndjson(BARE) + b"\n"
    assert codecs.decode(raw, topics.NDJSON).batch.num_rows == 2
    raw = WRITERS[topics.CSV](BARE, BARE) + b"\n\n\r\n"
    assert codecs.decode(raw, topics.CSV).batch.num_rows == 2


@pytest.mark.parametrize(
    ("kind", "raw"),
    [
        (topics.NDJSON, b""),
        (topics.NDJSON, b"\n\n"),
        (topics.JSON, b"[]"),
        (topics.CSV, ",".join(ping.NAMES).encode()),
        (topics.CSV, b"\xef\xbb\xbf" + ",".join(ping.NAMES).encode() + b"\r\n"),
        (topics.ARROW, codecs.encode_arrow(table([BARE]).slice(0, 0))),
    ],
)
def test_a_message_without_rows_is_decoded_to_no_rows(kind: str, raw: bytes) -> None:
    decoded = codecs.decode(raw, kind)
    assert (decoded.batch.num_rows, decoded.rejects) == (0, [])
    assert set(ping.REQUIRED) <= {*decoded.batch.schema.names}


def test_batches_of_differing_columns_join_with_nulls() -> None:
    one = codecs.conform(table([BARE])).batch
    other = codecs.conform(table([{**BARE, "latency": 3.0}])).batch
    assert concat([one, other]).column("latency").to_pylist() == [None, 3.0]


def test_a_column_that_is_absent_or_null_reads_as_its_default() -> None:
    batch = codecs.conform(table([{**BARE, "src_port": 7}, BARE])).batch
    assert column(batch, "src_port", 0).to_pylist() == [7, 0]
    assert column(batch, "dst_port", 9).to_pylist() == [9, 9]


def test_a_message_at_the_limit_of_rows_is_read() -> None:
    raw = b"\n".join([ndjson(BARE)] * LIMITS.rows)
    assert len(raw) < LIMITS.message_bytes
    assert codecs.decode(raw, topics.NDJSON).batch.num_rows == LIMITS.rows
    with pytest.raises(CodecError, match="more than 65536 rows"):
        codecs.decode(raw + b"\n" + ndjson(BARE), topics.NDJSON)
