"""Dictionaries of texts as ClickHouse reads them."""

from __future__ import annotations

import pyarrow as pa
import pytest

from store import migrate
from store.arrow_texts import without_nulls
from store.client import Store


def coded(*texts: str | None) -> pa.Array:
    return pa.array(texts, pa.string()).dictionary_encode()


@pytest.mark.parametrize(
    "chunks",
    [
        [coded("a", None, "b")],
        [coded("a", None), coded(None, "", "b"), coded("b")],
        [coded(None, None)],
        [coded("", None)],
        [coded("a", "b")],
        [],
    ],
)
def test_null_becomes_the_empty_text_and_nothing_else_changes(chunks: list[pa.Array]) -> None:
    kind = pa.dictionary(pa.int32(), pa.string())
    column = pa.chunked_array(chunks, kind)
    done = without_nulls(pa.table({"name": column, "number": pa.array([None] * len(column))}))
    assert done["name"].to_pylist() == [each or "" for each in column.to_pylist()]
    assert done["number"].null_count == len(column), "only texts"
    assert not done.schema.field("name").nullable
    assert done.schema.field("number").nullable
    dictionaries = {tuple(chunk.dictionary.to_pylist()) for chunk in done["name"].chunks}
    assert len(dictionaries) <= 1, "an Arrow file has one dictionary per column"
    assert all(len(set(names)) == len(names) for names in dictionaries)


def test_the_empty_text_is_the_default_of_every_column_of_repeated_texts(store: Store) -> None:
    migrate.migrate(store)
    rows = store.rows(
        "SELECT table, name FROM system.columns WHERE database = currentDatabase()"
        " AND startsWith(type, 'LowCardinality')"
        " AND (type != 'LowCardinality(String)' OR default_kind != '')"
        " AND table IN (SELECT name FROM system.tables WHERE engine LIKE '%MergeTree')"
    )
    assert rows == []


def test_rows_with_and_without_names_are_stored(store: Store) -> None:
    migrate.migrate(store)
    names = pa.chunked_array([coded("h1", None), coded(None, "h2")])
    times = pa.array([1_733_989_087_000_000_000 + each for each in range(4)], pa.timestamp("ns"))
    store.insert("pings", pa.table({"src_node_sn": names, "ping_time": times}))
    rows = store.rows("SELECT src_node_sn FROM pings ORDER BY ping_time")
    assert [row["src_node_sn"] for row in rows] == ["h1", "", "", "h2"]
