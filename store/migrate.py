"""store/migrations/NNNN_*.sql -> tables: numbered, forward-only, one statement a file.

The table ``schema_migrations`` records each applied file with its SHA-256, so a database whose
history differs from these files is detected before anything is changed. Two processes may migrate
at once: every statement is ``IF NOT EXISTS``, and the table may list a file twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, Protocol

from store import cluster as cluster_form
from store.migration_files import FOLDER, BadMigration, Migration, MigrationError, load

__all__ = [
    "FOLDER", "BadMigration", "Database", "EditedMigration", "Migration", "MigrationError",
    "OtherForm", "Status", "UnknownMigration", "load", "migrate", "plan", "script", "status",
]  # fmt: skip

_HISTORY: Final = """
CREATE TABLE IF NOT EXISTS schema_migrations
(
    number UInt32,
    name String,
    sha256 String,
    applied_at DateTime64(3, 'UTC') DEFAULT now64(3)
)
ENGINE = MergeTree
ORDER BY number
"""
_HISTORY_TABLE: Final = (
    "SELECT engine FROM system.tables"
    " WHERE database = currentDatabase() AND name = 'schema_migrations'"
)


class Database(Protocol):
    """What migrations need of a database; ``store.client.Store`` is one."""

    def execute(self, sql: str, parameters: Mapping[str, Any] | None = None) -> None: ...

    def rows(
        self, sql: str, parameters: Mapping[str, Any] | None = None
    ) -> list[dict[str, Any]]: ...


class EditedMigration(MigrationError):
    """A file was edited after it was applied: add a new one instead."""


class UnknownMigration(MigrationError):
    """The database is ahead of these files: use the release that migrated it, or a newer one."""


class OtherForm(MigrationError):
    """The database was migrated for one server, and now for a cluster, or the other way round."""


class Status(NamedTuple):
    """A migration and whether it was applied; ``applied_at`` is a UTC time or None."""

    migration: Migration
    state: Literal["applied", "pending"]
    applied_at: object


def status(database: Database, migrations: Sequence[Migration] | None = None) -> list[Status]:
    """Every migration with its state; raises MigrationError when the histories differ."""
    known = load() if migrations is None else list(migrations)
    applied = _applied(database)
    for migration in known:
        if (row := applied.get(migration.number)) and row["sha256"] != migration.sha256:
            raise EditedMigration(
                f"{migration.file} was applied as {row['sha256'][:12]} and is now "
                f"{migration.sha256[:12]}; put the file back and add "
                f"{len(known) + 1:04d}_*.sql with the change"
            )
    if ahead := [row for number, row in applied.items() if number > len(known)]:
        raise UnknownMigration(
            f"the database has {ahead[0]['number']:04d}_{ahead[0]['name']}, which this release "
            "does not know; use the release that applied it, or a newer one"
        )
    return [
        Status(each, "applied", applied[each.number]["applied_at"])
        if each.number in applied
        else Status(each, "pending", None)
        for each in known
    ]


def plan(database: Database, migrations: Sequence[Migration] | None = None) -> list[Migration]:
    """The migrations that ``migrate`` would apply, in order; changes nothing."""
    return [each.migration for each in status(database, migrations) if each.state == "pending"]


def migrate(
    database: Database, migrations: Sequence[Migration] | None = None, *, cluster: str | None = None
) -> list[Migration]:
    """Apply the pending migrations and return them; a second call applies none.

    cluster  of ClickHouse, whose servers all get the tables (``store.cluster``); None: one server
    """
    known = load() if migrations is None else list(migrations)
    pending = plan(database, known)
    _check_form(database, cluster)
    if not pending:
        return []
    database.execute(_history(cluster))
    for migration, statements in _forms(known, cluster):
        if migration not in pending:
            continue
        for statement in statements:
            database.execute(statement)
        database.execute(
            "INSERT INTO schema_migrations (number, name, sha256)"
            " SELECT {number:UInt32}, {name:String}, {sha256:String}",
            {"number": migration.number, "name": migration.name, "sha256": migration.sha256},
        )
    return pending


def script(cluster: str | None = None) -> str:
    """What ``migrate`` runs on an empty database, as text for people; without the history."""
    parts = [
        f"-- {migration.file}\n" + "".join(f"{each};\n" for each in statements)
        for migration, statements in _forms(load(), cluster)
    ]
    return "\n".join(parts)


def _forms(
    migrations: Sequence[Migration], cluster: str | None
) -> list[tuple[Migration, list[str]]]:
    if cluster is None:
        return [(each, [each.sql.strip().removesuffix(";")]) for each in migrations]
    return list(zip(migrations, cluster_form.statements(migrations, cluster), strict=True))


def _history(cluster: str | None) -> str:
    return _HISTORY if cluster is None else cluster_form.history(_HISTORY, cluster)


def _check_form(database: Database, cluster: str | None) -> None:
    for row in database.rows(_HISTORY_TABLE):
        if str(row["engine"]).startswith("Replicated") != (cluster is not None):
            raise OtherForm(
                "the database was migrated "
                + ("for one server" if cluster else "for a cluster")
                + f" (SKH_CLICKHOUSE_CLUSTER is {'set' if cluster else 'not set'}); tables do not "
                "change from one form to the other: use a new database, see docs/deploy.md"
            )


def _applied(database: Database) -> dict[int, dict[str, Any]]:
    if not database.rows(_HISTORY_TABLE):
        return {}
    rows = database.rows(
        "SELECT number, name, sha256, applied_at FROM schema_migrations"
        " ORDER BY number, applied_at LIMIT 1 BY number"
    )
    return {int(row["number"]): row for row in rows}
