"""store/migrations/NNNN_*.sql -> tables: numbered, forward-only, one statement a file.

The table ``schema_migrations`` records each applied file with its SHA-256, so a database whose
history differs from these files is detected before anything is changed. Two processes may migrate
at once: every statement is ``IF NOT EXISTS``, and the table may list a file twice.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, Protocol

FOLDER: Final = Path(__file__).parent / "migrations"

_FILE_NAME: Final = re.compile(r"(\d{4})_([a-z0-9_]+)\.sql")
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
#: Statements that rewrite or delete data, which takes long on a large installation.
_BLOCKING: Final = re.compile(
    r"\b(DROP|TRUNCATE|RENAME|EXCHANGE|DETACH|OPTIMIZE|REPLACE"
    r"|(?:MODIFY|ALTER|CLEAR|MATERIALIZE)\s+(?:COLUMN|INDEX|TTL|ORDER|PROJECTION)"
    r"|ALTER\s+TABLE\s+\S+\s+(?:DELETE|UPDATE))\b",
    re.IGNORECASE,
)
_TEXTS_AND_COMMENTS: Final = re.compile(r"'(?:[^'\\]|\\.|'')*'|--[^\n]*|/\*.*?\*/", re.DOTALL)


class Database(Protocol):
    """What migrations need of a database; ``store.client.Store`` is one."""

    def execute(self, sql: str, parameters: Mapping[str, Any] | None = None) -> None: ...

    def rows(
        self, sql: str, parameters: Mapping[str, Any] | None = None
    ) -> list[dict[str, Any]]: ...


class MigrationError(Exception):
    """The migrations and the database do not agree; nothing was changed."""


class BadMigration(MigrationError):
    """A file breaks a rule of this folder: correct it before it is applied anywhere."""


class EditedMigration(MigrationError):
    """A file was edited after it was applied: add a new one instead."""


class UnknownMigration(MigrationError):
    """The database is ahead of these files: use the release that migrated it, or a newer one."""


class Migration(NamedTuple):
    """One file: its number, its name without number and suffix, its SQL and its SHA-256."""

    number: int
    name: str
    sql: str
    sha256: str

    @property
    def file(self) -> str:
        return f"{self.number:04d}_{self.name}.sql"


class Status(NamedTuple):
    """A migration and whether it was applied; ``applied_at`` is a UTC time or None."""

    migration: Migration
    state: Literal["applied", "pending"]
    applied_at: object


def load(folder: Path = FOLDER) -> list[Migration]:
    """All migrations in order; raises BadMigration on a gap, a clash or a broken rule."""
    found: list[Migration] = []
    for path in sorted(folder.glob("*.sql")):
        match = _FILE_NAME.fullmatch(path.name)
        if match is None:
            raise BadMigration(f"{path.name}: a migration is called NNNN_words.sql")
        raw = path.read_bytes()
        sha256 = hashlib.sha256(raw).hexdigest()
        found.append(Migration(int(match[1]), match[2], raw.decode(), sha256))
        _check(found[-1])
    for expected, migration in enumerate(found, start=1):
        if migration.number != expected:
            what = "number is taken twice" if migration.number < expected else "a number is missing"
            raise BadMigration(f"{migration.file}: {what}; the next number is {expected:04d}")
    return found


def _check(migration: Migration) -> None:
    head = migration.sql[: migration.sql.find("\nCREATE")]
    if not migration.sql.startswith("--") or "Writer:" not in head or "Readers:" not in head:
        raise BadMigration(
            f"{migration.file}: open with a comment '-- Writer: ...  Readers: ...' that says who "
            "writes and who reads this"
        )
    bare = _TEXTS_AND_COMMENTS.sub(" ", migration.sql).strip()
    if ";" in bare.removesuffix(";"):
        raise BadMigration(f"{migration.file}: holds more than one statement; one a file")
    blocking = _BLOCKING.search(bare)
    if blocking and not re.match(r"-- blocking: \S", migration.sql):
        raise BadMigration(
            f"{migration.file}: {blocking[0]!r} rewrites or drops data; say why on line 1 with "
            "'-- blocking: why'"
        )


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


def migrate(database: Database, migrations: Sequence[Migration] | None = None) -> list[Migration]:
    """Apply the pending migrations and return them; a second call applies none."""
    pending = plan(database, migrations)
    if pending:
        database.execute(_HISTORY)
    for migration in pending:
        database.execute(migration.sql.strip().removesuffix(";"))
        database.execute(
            "INSERT INTO schema_migrations (number, name, sha256)"
            " SELECT {number:UInt32}, {name:String}, {sha256:String}",
            {"number": migration.number, "name": migration.name, "sha256": migration.sha256},
        )
    return pending


def _applied(database: Database) -> dict[int, dict[str, Any]]:
    if not database.rows(
        "SELECT 1 AS there FROM system.tables"
        " WHERE database = currentDatabase() AND name = 'schema_migrations'"
    ):
        return {}
    rows = database.rows(
        "SELECT number, name, sha256, applied_at FROM schema_migrations"
        " ORDER BY number, applied_at LIMIT 1 BY number"
    )
    return {int(row["number"]): row for row in rows}
