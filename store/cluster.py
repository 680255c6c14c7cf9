"""Migrations of one server -> statements for a cluster of shards and replicas. Pure.

A table ``t`` becomes ``t_local``, replicated within its shard, and ``t``, Distributed over the
shards: readers, writers and views keep the name ``t``. Materialized views fill local tables from
local tables, so a shard adds up its own rows. Every server needs the macros ``{shard}`` and
``{replica}``, and the cluster among its ``remote_servers``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from store.migration_files import TEXTS_AND_COMMENTS, BadMigration, Migration

#: Where the rows of a table go. Rows that replace one another must meet on one shard, so each
#: expression uses columns of the sorting key only. Tables that materialized views fill have none.
SHARDING: Final = {
    "pings": "path_id",
    "path_windows": "path_id",
    "anomalies": "path_id",
    "incidents": "cityHash64(incident_id)",
    "incident_actions": "cityHash64(incident_id)",
    "dead_letters": "cityHash64(topic, partition, offset)",
    "coverage": "cityHash64(fabric)",
    "topology_components": "cityHash64(fabric)",
    "placement": "cityHash64(fabric, node_id)",
    "heartbeats": "cityHash64(fabric, node_sn)",
    "jobs": "cityHash64(job)",
    "job_skeletons": "cityHash64(fabric, job)",
    "throughput": "cityHash64(fabric, real_ip)",
    "port_counters": "cityHash64(fabric, node_sn)",
}
#: Replicas of one shard share a path in Keeper; all servers of a cluster share the history.
_SHARD: Final = "'/clickhouse/tables/{shard}/{database}/{table}', '{replica}'"
HISTORY: Final = "'/clickhouse/tables/all/{database}/{table}', '{shard}-{replica}'"

_TABLE: Final = re.compile(r"CREATE TABLE IF NOT EXISTS (\w+)")
_WRITER: Final = re.compile(r"CREATE MATERIALIZED VIEW IF NOT EXISTS (\w+) TO (\w+)")
_VIEW: Final = re.compile(r"CREATE (?:OR REPLACE VIEW|VIEW IF NOT EXISTS) (\w+)")
_QUERY: Final = re.compile(r"ALTER TABLE (\w+)\s+MODIFY QUERY\b")
_ALTER: Final = re.compile(r"ALTER TABLE (\w+)")
_ENGINE: Final = re.compile(r"^ENGINE = (\w*MergeTree)(?:\(([^()]*)\))?$", re.MULTILINE)
_COMMENT: Final = re.compile(r"^COMMENT '(?:[^'\\]|\\.|'')*'\s*\Z", re.MULTILINE)
_FROM: Final = re.compile(r"\b(FROM|JOIN)\s+(\w+)")
#: What an ALTER changes: only how rows are stored, or also what readers see.
_STORAGE: Final = re.compile(
    r"\b(?:ADD|DROP|MATERIALIZE|CLEAR) (?:INDEX|PROJECTION)\b|\bMODIFY (?:TTL|SETTING)\b"
    r"|\bMODIFY COLUMN (?:IF EXISTS )?\w+ CODEC\b"
)
_COLUMNS: Final = re.compile(
    r"\b(?:ADD|DROP|RENAME|COMMENT) COLUMN\b|\bMODIFY COMMENT\b"
    r"|\bMODIFY COLUMN (?:IF EXISTS )?\w+ (?!CODEC\b)"
)


def local(table: str) -> str:
    """Name of the replicated table behind a Distributed one."""
    return f"{table}_local"


def statements(migrations: Iterable[Migration], cluster: str) -> Iterator[list[str]]:
    """The statements of each migration, all from the first one on; raises BadMigration.

    cluster  a plain name (letters, digits, _) of remote_servers
    """
    migrations = list(migrations)
    filled = {match[2] for each in migrations if (match := _WRITER.search(each.sql))}
    tables: set[str] = set()
    for each in migrations:
        sql = _without_heading(each.sql)
        if match := _TABLE.match(sql):
            tables.add(match[1])
            yield _table(each, sql, match[1], cluster, filled)
        elif match := _WRITER.match(sql):
            yield [_writer(each, sql, match, cluster, tables)]
        elif match := _VIEW.match(sql):
            yield [_on_cluster(sql, match[0], cluster)]
        elif match := _QUERY.match(sql):
            changed = _on_cluster(sql, f"ALTER TABLE {match[1]}", cluster)
            yield [_of_local(changed, _source(each, sql, tables))]
        elif match := _ALTER.match(sql):
            yield _alter(each, sql, match, cluster, match[1] in tables)
        else:
            raise BadMigration(
                f"{each.file}: {sql.splitlines()[0]!r} has no form for clusters; see "
                "store/cluster.py"
            )


def history(sql: str, cluster: str) -> str:
    """The table of applied migrations, the same rows on every server of the cluster."""
    table = _on_cluster(sql.strip(), "CREATE TABLE IF NOT EXISTS schema_migrations", cluster)
    return table.replace("ENGINE = MergeTree", f"ENGINE = ReplicatedMergeTree({HISTORY})")


def _without_heading(sql: str) -> str:
    lines = sql.strip().removesuffix(";").splitlines()
    while lines and lines[0].startswith("--"):
        lines.pop(0)
    return "\n".join(lines).strip()


def _on_cluster(sql: str, opening: str, cluster: str, instead: str = "") -> str:
    return sql.replace(opening, f"{instead or opening} ON CLUSTER {cluster}", 1)


def _table(migration: Migration, sql: str, name: str, cluster: str, filled: set[str]) -> list[str]:
    engine = _ENGINE.search(sql)
    if engine is None:
        raise BadMigration(f"{migration.file}: a line 'ENGINE = ...MergeTree' is missing")
    if name not in filled and name not in SHARDING:
        raise BadMigration(f"{migration.file}: store/cluster.py has no sharding key for {name}")
    arguments = ", ".join(filter(None, (_SHARD, engine[2])))
    replicated = sql.replace(engine[0], f"ENGINE = Replicated{engine[1]}({arguments})", 1)
    opening = f"CREATE TABLE IF NOT EXISTS {name}"
    comment = _COMMENT.search(sql)
    where = ", ".join(
        (cluster, "currentDatabase()", local(name), *([] if name in filled else [SHARDING[name]]))
    )
    distributed = [
        f"{opening} ON CLUSTER {cluster} AS {local(name)}", f"ENGINE = Distributed({where})",
        *([comment[0].strip()] if comment else []),
    ]  # fmt: skip
    return [
        _on_cluster(replicated, opening, cluster, f"CREATE TABLE IF NOT EXISTS {local(name)}"),
        "\n".join(distributed),
    ]


def _writer(
    migration: Migration, sql: str, match: re.Match[str], cluster: str, tables: set[str]
) -> str:
    target = match[2]
    source = _source(migration, sql, tables, target)
    opening = match[0].removesuffix(f" TO {target}") + f" ON CLUSTER {cluster} TO {local(target)}"
    return _of_local(sql.replace(match[0], opening, 1), source)


def _source(migration: Migration, sql: str, tables: set[str], *targets: str) -> str:
    """The table that a materialized view reads."""
    sources = _FROM.findall(TEXTS_AND_COMMENTS.sub("''", sql))
    if len(sources) != 1 or {*targets, sources[0][1]} - tables:
        raise BadMigration(
            f"{migration.file}: a materialized view reads one table and fills one; a shard has no "
            "rows of others to join"
        )
    return str(sources[0][1])


def _of_local(sql: str, source: str) -> str:
    return re.sub(rf"\bFROM\s+{source}\b", f"FROM {local(source)}", sql, count=1)


def _alter(
    migration: Migration, sql: str, match: re.Match[str], cluster: str, is_table: bool
) -> list[str]:
    bare = " ".join(TEXTS_AND_COMMENTS.sub("''", sql).split())
    storage, columns = _STORAGE.search(bare), _COLUMNS.search(bare)
    if bool(storage) == bool(columns):
        raise BadMigration(
            f"{migration.file}: an ALTER changes either columns and comments, or how rows are "
            "stored, which a Distributed table does not do; see store/cluster.py"
        )
    opening = match[0]
    seen = [_on_cluster(sql, opening, cluster)]
    if not is_table:
        return seen
    stored = [_on_cluster(sql, opening, cluster, f"ALTER TABLE {local(match[1])}")]
    return stored if storage else stored + seen
