"""store/migrations/NNNN_*.sql -> migrations in order, each checked against the rules of the folder.

One statement a file, opened by a comment that says who writes and who reads.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Final, NamedTuple

FOLDER: Final = Path(__file__).parent / "migrations"

_FILE_NAME: Final = re.compile(r"(\d{4})_([a-z0-9_]+)\.sql")
#: Statements that rewrite or delete data, which takes long on a large installation.
_BLOCKING: Final = re.compile(
    r"\b(DROP|TRUNCATE|RENAME|EXCHANGE|DETACH|OPTIMIZE|REPLACE"
    r"|(?:MODIFY|ALTER|CLEAR|MATERIALIZE)\s+(?:COLUMN|INDEX|TTL|ORDER|PROJECTION)"
    r"|ALTER\s+TABLE\s+\S+\s+(?:DELETE|UPDATE))\b",
    re.IGNORECASE,
)
#: What is no statement in SQL: text literals and comments.
TEXTS_AND_COMMENTS: Final = re.compile(r"'(?:[^'\\]|\\.|'')*'|--[^\n]*|/\*.*?\*/", re.DOTALL)


class MigrationError(Exception):
    """The migrations and the database do not agree; nothing was changed."""


class BadMigration(MigrationError):
    """A file breaks a rule of this folder: correct it before it is applied anywhere."""


class Migration(NamedTuple):
    """One file: its number, its name without number and suffix, its SQL and its SHA-256."""

    number: int
    name: str
    sql: str
    sha256: str

    @property
    def file(self) -> str:
        return f"{self.number:04d}_{self.name}.sql"


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
    bare = TEXTS_AND_COMMENTS.sub(" ", migration.sql).strip()
    if ";" in bare.removesuffix(";"):
        raise BadMigration(f"{migration.file}: holds more than one statement; one a file")
    blocking = _BLOCKING.search(bare)
    if blocking and not re.match(r"-- blocking: \S", migration.sql):
        raise BadMigration(
            f"{migration.file}: {blocking[0]!r} rewrites or drops data; say why on line 1 with "
            "'-- blocking: why'"
        )
