"""The role of people who read with clients of their own: SELECT only, bounded, with a quota.

Roles belong to the server, not to a database, so they are no migration: ``skeletonhunter migrate
reader`` makes them, as often as it is called. A server keeps them where its users have access
management; the embedded engine (chDB) keeps none, there ``/api/v1/sql`` bounds each statement.
"""

from __future__ import annotations

from typing import Final, Protocol

ROLE: Final = "skh_reader"


class RolesUnsupported(Exception):
    """This database keeps no roles for this user; the text says what to do."""


class Database(Protocol):
    """What is needed of a database; ``store.client.Store`` is one."""

    def execute(self, sql: str) -> None: ...


def statements(database: str, cluster: str | None = None) -> list[str]:
    """What makes the role for one database; each may be run again.

    database  a plain name, as ``store.client`` accepts it
    cluster   whose servers all get the role; None: one server
    """
    on = f" ON CLUSTER {cluster}" if cluster else ""
    return [
        f"CREATE SETTINGS PROFILE IF NOT EXISTS {ROLE}{on} SETTINGS readonly = 2 CONST,"
        " max_execution_time = 30 MIN 1 MAX 120, max_memory_usage = 4000000000 MAX 8000000000,"
        " max_rows_to_read = 20000000000 MAX 20000000000, max_result_rows = 1000000 MAX 10000000,"
        " max_threads = 4 MAX 8, allow_ddl = 0 CONST",
        f"CREATE ROLE IF NOT EXISTS {ROLE}{on} SETTINGS PROFILE '{ROLE}'",
        f"GRANT{on} SELECT ON {database}.* TO {ROLE}",
        f"CREATE QUOTA IF NOT EXISTS {ROLE}{on} FOR INTERVAL 1 minute MAX queries = 600,"
        f" execution_time = 240 TO {ROLE}",
    ]


def make(store: Database, database: str, cluster: str | None = None) -> list[str]:
    """Make the role; returns the statements that were run. Raises RolesUnsupported, StoreError."""
    from store.client import StoreRefused

    done = statements(database, cluster)
    for each in done:
        try:
            store.execute(each)
        except StoreRefused as why:
            if "Code: 497" not in str(why) and "ACCESS_STORAGE" not in str(why):
                raise
            raise RolesUnsupported(
                "this database keeps no roles for this user: the embedded engine has none, and a "
                "server needs a user with access_management = 1; nothing else depends on it"
            ) from why
    return done
