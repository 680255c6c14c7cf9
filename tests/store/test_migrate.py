"""Migrations: each runs on the embedded engine, and edits of applied files are detected."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from schemas.documents import ping
from schemas.wire import window_chunks
from store import migrate
from store.client import Store, StoreRefused

HEAD = "-- Writer: tests.  Readers: tests.\n"
FIRST = HEAD + "CREATE TABLE IF NOT EXISTS a (x UInt8) ENGINE = MergeTree ORDER BY x\n"
SECOND = HEAD + "CREATE TABLE IF NOT EXISTS b (x UInt8) ENGINE = MergeTree ORDER BY x;\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "migrations"
    path.mkdir()
    (path / "0001_a.sql").write_text(FIRST)
    (path / "0002_b.sql").write_text(SECOND)
    return path


def columns(store: Store, table: str) -> dict[str, str]:
    return {row["name"]: row["type"] for row in store.rows(f"DESCRIBE TABLE {table}")}


def test_every_migration_runs_and_a_second_run_applies_nothing(store: Store) -> None:
    planned = migrate.plan(store)
    assert [each.number for each in planned] == list(range(1, len(planned) + 1))
    assert migrate.migrate(store) == planned
    assert migrate.migrate(store) == []
    assert {each.state for each in migrate.status(store)} == {"applied"}


def test_plan_and_status_change_nothing(store: Store) -> None:
    migrate.plan(store)
    assert {each.state for each in migrate.status(store)} == {"pending"}
    assert store.rows("SELECT name FROM system.tables WHERE database = currentDatabase()") == []


def test_pings_has_all_45_columns_and_the_typed_extras(store: Store) -> None:
    migrate.migrate(store)
    there = columns(store, "pings_unique")
    assert set(ping.NAMES) <= there.keys()
    assert {column.name for column in ping.EXTRA_STATS} <= there.keys()


def test_path_windows_has_every_column_of_a_window(store: Store) -> None:
    migrate.migrate(store)
    assert set(window_chunks.WINDOW.names) <= columns(store, "path_windows_latest").keys()


def test_retention_counts_from_ingest_and_not_from_event_time(
    store: Store,
) -> None:
    migrate.migrate(store)
    time = pa.array([1_733_989_087_162_141_801], pa.timestamp("ns", "UTC"))
    store.insert("pings", pa.table({"path_id": pa.array([7], pa.uint64()), "ping_time": time}))
    store.execute("OPTIMIZE TABLE pings FINAL")
    assert store.rows("SELECT path_id FROM pings") == [{"path_id": 7}]


def test_the_alias_latency_is_in_microseconds_and_extra_stats_is_json(store: Store) -> None:
    migrate.migrate(store)
    store.insert(
        "pings", pa.table({"latency_ns": pa.array([16183], pa.uint32()), "sent": pa.array([8])})
    )
    row = store.rows("SELECT latency, JSONExtractInt(extra_stats, 'sent') AS sent FROM pings")
    assert row == [{"latency": 16.183, "sent": 8}]


def test_the_version_of_a_window_with_most_records_is_the_latest(store: Store) -> None:
    migrate.migrate(store)
    for records in (30, 12):
        start = pa.array([1_733_989_080], pa.timestamp("s", "UTC"))
        table = {"window_start": start, "records": pa.array([records], pa.uint32())}
        store.insert("path_windows", pa.table(table))
    assert store.rows("SELECT records FROM path_windows_latest") == [{"records": 30}]


def test_an_edited_file_is_an_error_that_says_to_add_a_new_one(store: Store, folder: Path) -> None:
    migrate.migrate(store, migrate.load(folder))
    (folder / "0001_a.sql").write_text(FIRST.replace("UInt8", "UInt16"))
    with pytest.raises(migrate.EditedMigration, match=r"0001_a\.sql.*put the file back and add"):
        migrate.status(store, migrate.load(folder))


def test_a_database_ahead_of_the_files_is_an_error(store: Store, folder: Path) -> None:
    migrate.migrate(store, migrate.load(folder))
    (folder / "0002_b.sql").unlink()
    with pytest.raises(migrate.UnknownMigration, match="0002_b"):
        migrate.plan(store, migrate.load(folder))


def test_a_migration_that_failed_is_resumed_at_the_failed_file(store: Store, folder: Path) -> None:
    (folder / "0003_c.sql").write_text(HEAD + "CREATE TABLE IF NOT EXISTS c (x Nonsense)")
    with pytest.raises(StoreRefused):
        migrate.migrate(store, migrate.load(folder))
    (folder / "0003_c.sql").write_text(SECOND.replace(" b ", " c "))
    applied = migrate.migrate(store, migrate.load(folder))
    assert [each.file for each in applied] == ["0003_c.sql"]


@pytest.mark.parametrize(
    ("name", "sql", "message"),
    [
        ("0004_gap.sql", SECOND, "a number is missing"),
        ("0002_again.sql", SECOND, "taken twice"),
        ("three.sql", SECOND, "NNNN_words"),
        ("0003_mute.sql", "CREATE TABLE IF NOT EXISTS c (x UInt8)", "who writes and who reads"),
        ("0003_two.sql", SECOND + SECOND, "more than one statement"),
        ("0003_drop.sql", HEAD + "DROP TABLE a", "blocking: why"),
        ("0003_delete.sql", HEAD + "ALTER TABLE a DELETE WHERE x = 1", "blocking: why"),
    ],
)
def test_an_invalid_migration_file_is_reported_by_name(
    folder: Path, name: str, sql: str, message: str
) -> None:
    (folder / name).write_text(sql)
    with pytest.raises(migrate.BadMigration, match=message):
        migrate.load(folder)


def test_a_drop_with_a_reason_is_accepted(folder: Path) -> None:
    (folder / "0003_drop.sql").write_text("-- blocking: a was a mistake\n" + HEAD + "DROP TABLE a")
    assert len(migrate.load(folder)) == 3


def test_every_table_view_and_column_says_what_it_is(store: Store) -> None:
    migrate.migrate(store)
    own = "database = currentDatabase() AND comment = '' AND "
    assert (
        store.rows(f"SELECT name FROM system.tables WHERE {own} name != 'schema_migrations'") == []
    )
    columns = "SELECT table, name FROM system.columns WHERE"
    # A view that only fills a table repeats its columns, and is not read.
    assert (
        store.rows(
            f"{columns} {own} table != 'schema_migrations' AND NOT endsWith(table, '_writer')"
        )
        == []
    )


def test_a_view_says_of_a_column_what_its_table_says(store: Store) -> None:
    migrate.migrate(store)
    rows = store.rows(
        "SELECT table, name, comment FROM system.columns WHERE database = currentDatabase()"
    )
    said = {(row["table"], row["name"]): row["comment"] for row in rows}
    for table, view in (("incidents", "incidents_latest"), ("pings", "pings_unique"),
                        ("anomalies", "anomalies_unique"),
                        ("path_windows", "path_windows_latest"),
                        ("path_windows_latest", "job_path_windows"),
                        ("path_minutes", "job_path_minutes"), ("pings_unique", "job_pings"),
                        ("throughput_minutes", "job_throughput_minutes")):  # fmt: skip
        own = {"job", "rail", "src_rail", "dst_rail"} if view.startswith("job_") else set()
        of = {each: {name for where, name in said if where == each} for each in (table, view)}
        assert of[view] - own == of[table], view
        for (where, name), comment in said.items():
            if where == view and name not in own:
                assert comment == said[table, name], f"{view}.{name}"
