"""An embedded store to measure, the statements that fill it, and what a stored row takes."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from store import migrate
from store.client import Store, open_store

_STATEMENTS: Final = Path(__file__).with_name("statements")


@contextmanager
def empty_store() -> Iterator[Store]:
    """Of this release, in a folder of its own that goes with it."""
    with (
        tempfile.TemporaryDirectory(prefix="skh-bench-") as folder,
        closing(open_store(f"chdb:{Path(folder) / 'store'}")) as opened,
    ):
        migrate.migrate(opened)
        yield opened


def statement(name: str) -> str:
    """SQL of a file."""
    return (_STATEMENTS / f"{name}.sql").read_text()


def row_bytes(store: Store, table: str) -> float:
    """Of a row of a table, on disk [B]."""
    (row,) = store.rows(
        "SELECT sum(bytes_on_disk) / sum(rows) AS size FROM system.parts"
        " WHERE active AND table = {table:String}", {"table": table},
    )  # fmt: skip
    return float(row["size"])
