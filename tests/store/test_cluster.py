"""The form of migrations for clusters, on the embedded engine as a cluster of one shard."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from builders.store import clickhouse_cluster
from builders.store.clickhouse_cluster import NAME, without_ddl_queue, without_replicas

from store import cluster, migrate, reader
from store.client import Store, open_store

HEAD = "-- Writer: tests.  Readers: tests.\n"
DESCRIPTION = (
    "SELECT table, name, type, comment FROM system.columns"
    " WHERE database = currentDatabase() AND NOT endsWith(table, '_writer')"
)
START_S = 1_733_989_080


def statements() -> list[str]:
    return [each for some in cluster.statements(migrate.load(), NAME) for each in some]


def migration(sql: str, number: int = 1) -> migrate.Migration:
    return migrate.Migration(number, "a", HEAD + sql, "")


@pytest.fixture
def clustered(tmp_path: Path) -> Iterator[Store]:
    """Migrated as a cluster of one server, whose tables are not replicated."""
    with closing(clickhouse_cluster.open_cluster(tmp_path)) as opened:
        for each in statements():
            opened.execute(without_replicas(without_ddl_queue(each)))
        yield opened


def test_every_statement_is_clickhouses_and_for_all_servers(store: Store) -> None:
    for each in statements():
        (row,) = store.rows("SELECT formatQuerySingleLine({q:String}) AS text", {"q": each})
        assert row["text"].count(f" ON CLUSTER {NAME}") == 1, each


def test_every_table_is_replicated_behind_a_distributed_one() -> None:
    created = [each for each in statements() if each.startswith("CREATE TABLE")]
    engines = [re.findall(r"^ENGINE = (\w+)\(", each, re.MULTILINE) for each in created]
    assert engines[1::2] == [["Distributed"]] * (len(created) // 2)
    assert {name for (name,) in engines[::2]} == {
        "ReplicatedReplacingMergeTree", "ReplicatedAggregatingMergeTree",
    }  # fmt: skip
    for stored in created[::2]:
        assert "('/clickhouse/tables/{shard}/{database}/{table}', '{replica}'" in stored


def test_the_version_column_of_an_engine_is_kept() -> None:
    (windows,) = (each for each in statements() if "path_windows_local ON" in each[:60]
                  and each.startswith("CREATE TABLE"))  # fmt: skip
    assert "'{replica}', records)\n" in windows


def test_readers_see_what_they_see_of_one_server(tmp_path: Path, clustered: Store) -> None:
    there = {tuple(row.values()) for row in clustered.rows(DESCRIPTION)}
    engines = {
        row["name"]: row["engine"]
        for row in clustered.rows(
            "SELECT name, engine FROM system.tables WHERE database = currentDatabase()"
        )
    }
    clustered.close()
    with closing(open_store(f"chdb:{tmp_path / 'plain'}")) as plain:
        migrate.migrate(plain)
        expected = {tuple(row.values()) for row in plain.rows(DESCRIPTION)}
    expected = {each for each in expected if each[0] != "schema_migrations"}
    assert {each for each in there if not each[0].endswith("_local")} == expected
    for name in {each[0] for each in expected}:
        assert engines[name] in ("Distributed", "View"), name


def test_rows_that_replace_one_another_meet_on_one_shard(clustered: Store) -> None:
    for row in clustered.rows(
        "SELECT name, sorting_key FROM system.tables WHERE endsWith(name, '_local')"
    ):
        key = cluster.SHARDING.get(row["name"].removesuffix("_local"), "")
        columns = set(re.findall(r"\w+", key)) - {"cityHash64"}
        assert columns <= set(re.findall(r"\w+", row["sorting_key"])), row["name"]
    names = {row["name"] for row in clustered.rows("SELECT name FROM system.tables")}
    assert set(cluster.SHARDING) <= names, "no key is of a table that is not there"


def test_what_is_inserted_is_read_and_summed_up(clustered: Store) -> None:
    count = 8
    seconds = [START_S + 30 * (index % 2) for index in range(count)]
    table = {
        "window_start": pa.array(seconds, pa.timestamp("s", "UTC")),
        "window_end": pa.array([each + 30 for each in seconds], pa.timestamp("s", "UTC")),
        "path_id": pa.array([index // 2 for index in range(count)], pa.uint64()),
        "records": pa.array([30] * count, pa.uint32()), "sent": pa.array([30] * count, pa.uint32()),
        "lost": pa.array([3] * count, pa.uint32()),
        "src_asw": pa.array(["t1"] * count), "dst_asw": pa.array(["t2"] * count),
    }  # fmt: skip
    for _ in range(2):  # replayed
        clustered.insert("path_windows", pa.table(table))
    (stored,) = clustered.rows("SELECT count() AS n FROM path_windows_local FINAL")
    (windows,) = clustered.rows("SELECT count() AS n FROM path_windows_latest")
    (minutes,) = clustered.rows("SELECT count() AS n, sum(sent) AS sent FROM path_minutes")
    tors = [
        clustered.rows(f"SELECT sum(loss) AS loss FROM {view}")[0]["loss"]
        for view in ("tor_matrix", "tor_matrix_hours")
    ]
    assert (stored["n"], windows["n"]) == (count, count)
    assert minutes == {"n": count // 2, "sent": 30 * count}
    assert tors == pytest.approx([0.1, 0.1])


def test_every_view_can_be_asked(clustered: Store) -> None:
    views = clustered.rows(
        "SELECT name FROM system.tables"
        " WHERE database = currentDatabase() AND engine IN ('View', 'Distributed')"
    )
    for view in views:
        clustered.rows(f"SELECT * FROM {view['name']} LIMIT 1")


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("DROP TABLE a", "has no form for clusters"),
        ("CREATE TABLE IF NOT EXISTS a (x UInt8)\nENGINE = MergeTree\nORDER BY x",
         "no sharding key for a"),
        ("CREATE TABLE IF NOT EXISTS pings (x UInt8) ENGINE = Memory", "is missing"),
        ("CREATE MATERIALIZED VIEW IF NOT EXISTS w TO a AS\nSELECT * FROM b JOIN c USING (x)",
         "reads one table"),
        ("ALTER TABLE a ADD COLUMN y UInt8, ADD INDEX i y TYPE minmax", "either columns"),
        ("ALTER TABLE a DELETE WHERE x = 1", "either columns"),
    ],
)  # fmt: skip
def test_a_migration_without_a_form_for_clusters_is_an_error(sql: str, message: str) -> None:
    with pytest.raises(migrate.BadMigration, match=message):
        list(cluster.statements([migration(sql)], NAME))


@pytest.mark.parametrize(
    ("change", "altered"),
    [
        ("ADD COLUMN IF NOT EXISTS y UInt8 COMMENT 'ADD INDEX'", ["pings_local", "pings"]),
        ("MODIFY COMMENT 'what'", ["pings_local", "pings"]),
        ("ADD INDEX IF NOT EXISTS i x TYPE minmax", ["pings_local"]),
        ("MODIFY COLUMN x CODEC(ZSTD(1))", ["pings_local"]),
        ("MODIFY COLUMN x UInt16", ["pings_local", "pings"]),
    ],
)
def test_an_alter_changes_the_distributed_table_where_readers_see_it(
    change: str, altered: list[str]
) -> None:
    table = "CREATE TABLE IF NOT EXISTS pings (x UInt8)\nENGINE = MergeTree\nORDER BY x"
    both = [migration(table), migration(f"ALTER TABLE pings\n{change}", 2)]
    *_, done = cluster.statements(both, NAME)
    assert done == [f"ALTER TABLE {name} ON CLUSTER {NAME}\n{change}" for name in altered]


def test_a_new_query_of_a_materialized_view_reads_the_rows_of_its_shard() -> None:
    table = "CREATE TABLE IF NOT EXISTS {} (x UInt8)\nENGINE = MergeTree\nORDER BY x"
    query = "SELECT x FROM pings"
    many = [
        migration(table.format("pings")), migration(table.format("incidents"), 2),
        migration(f"CREATE MATERIALIZED VIEW IF NOT EXISTS w TO incidents AS\n{query}", 3),
        migration(f"ALTER TABLE w\nMODIFY QUERY {query}\nWHERE x > 1", 4),
    ]  # fmt: skip
    *_, made, changed = cluster.statements(many, NAME)
    assert made[0].endswith(f"ON CLUSTER {NAME} TO incidents_local AS\nSELECT x FROM pings_local")
    assert changed == [
        f"ALTER TABLE w ON CLUSTER {NAME}\nMODIFY QUERY SELECT x FROM pings_local\nWHERE x > 1"
    ]


class Server:
    """A server with or without a history, which remembers statements."""

    def __init__(self, engine: str | None) -> None:
        self.engine = engine
        self.ran: list[str] = []

    def execute(self, sql: str, parameters: Mapping[str, Any] | None = None) -> None:
        self.ran.append(sql)

    def rows(self, sql: str, parameters: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        return [{"engine": self.engine}] if self.engine and "system.tables" in sql else []


def test_migrate_runs_the_statements_of_a_cluster_in_order() -> None:
    server = Server(None)
    assert migrate.migrate(server, cluster=NAME) == migrate.load()
    history, *ran = server.ran
    assert history.startswith(f"CREATE TABLE IF NOT EXISTS schema_migrations ON CLUSTER {NAME}")
    assert "ENGINE = ReplicatedMergeTree('/clickhouse/tables/all/" in history
    assert [each for each in ran if not each.startswith("INSERT")] == statements()


@pytest.mark.parametrize(
    ("engine", "name", "message"),
    [
        ("MergeTree", NAME, "migrated for one server.*is set"),
        ("ReplicatedMergeTree", None, "migrated for a cluster.*is not set"),
    ],
)
def test_a_database_of_the_other_form_is_an_error_and_stays_as_it_is(
    engine: str, name: str | None, message: str
) -> None:
    server = Server(engine)
    with pytest.raises(migrate.OtherForm, match=message):
        migrate.migrate(server, cluster=name)
    assert server.ran == []


def test_the_role_of_readers_is_made_on_all_servers(store: Store) -> None:
    for each in reader.statements("skh", NAME):
        (row,) = store.rows("SELECT formatQuerySingleLine({q:String}) AS text", {"q": each})
        assert f"ON CLUSTER {NAME}" in row["text"]
