"""Records as messages: what the agent encodes is what everyone else decodes."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from probers.net.five_tuple import Value
from probers.publishing.encoding import encode
from schemas import topics
from schemas.documents.ping import COLUMNS, EXTRA_STATS

_VALUES: dict[str, st.SearchStrategy[Value]] = {
    "string": st.text(st.characters(blacklist_categories=["Cs"]), max_size=20),
    "float64": st.floats(0, 1e9),
    "int64": st.integers(0, 2**63 - 1),
    "int32": st.integers(0, 2**31 - 1),
}
_COLUMNS = [column for column in (*COLUMNS, *EXTRA_STATS) if column.name != "extra_stats"]
records = st.fixed_dictionaries(
    {"dial": st.just("success"), "ping_time": st.integers(1, 2**62)},
    optional={
        column.name: st.none() | _VALUES[column.type]
        for column in _COLUMNS
        if column.name not in ("dial", "ping_time")
    },
)


def full(record: dict[str, Value]) -> dict[str, Value]:
    return {name: value for name, value in record.items() if value is not None}


@given(st.lists(records, min_size=1, max_size=20))
def test_arrow_messages_read_back_in_full_with_the_schemas_types(
    rows: list[dict[str, Value]],
) -> None:
    table = pa.ipc.open_stream(encode.to_arrow(rows)).read_all()
    table.validate(full=True)
    assert [full(row) for row in table.to_pylist()] == [full(row) for row in rows]
    types = {column.name: pa.type_for_alias(column.type) for column in _COLUMNS}
    assert all(field.type == types[field.name] for field in table.schema)


def test_empty_columns_are_not_sent() -> None:
    raw = encode.to_arrow([{"dial": "timeout", "latency": None}] * 3)
    assert pa.ipc.open_stream(raw).read_all().column_names == ["dial"]


def test_columns_shared_with_other_records_are_those_of_each_record(helper: str) -> None:
    common: list[dict[str, Value]] = [{"src_ip": "10.0.0.1", "dscp": 26}, {"src_ip": "10.0.0.2"}]
    own: list[dict[str, Value]] = [{"dial": "timeout", "dscp": 0}, {"dial": "success"}]
    merged: list[dict[str, Value]] = [{"src_ip": "10.0.0.1", "dscp": 0, "dial": "timeout"},
              {"src_ip": "10.0.0.2", "dial": "success"}]  # fmt: skip
    for name in encode.ENCODINGS:
        made = encode.ENCODINGS[name][1]
        assert made(own, common) == made(merged), name
    rows = pa.ipc.open_stream(encode.to_arrow(own, common)).read_all().to_pylist()
    assert [full(row) for row in rows] == merged


@given(st.lists(records, min_size=1, max_size=5))
def test_ndjson_messages_hold_the_extra_statistics_as_json(rows: list[dict[str, Value]]) -> None:
    extra = {column.name for column in EXTRA_STATS}
    lines = [json.loads(line) for line in encode.to_ndjson(rows).splitlines()]
    for line, row in zip(lines, rows, strict=True):
        merged = {**line, **json.loads(line.pop("extra_stats", "{}"))}
        merged.pop("extra_stats", None)
        assert merged == full(row)
        assert not extra.intersection(line)


@pytest.mark.parametrize("name", sorted(encode.ENCODINGS))
def test_content_types_are_those_of_the_topic_table(name: str) -> None:
    assert encode.ENCODINGS[name][0] in (topics.ARROW, topics.NDJSON)
