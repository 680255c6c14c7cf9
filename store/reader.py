"""The roles of people who read with clients of their own: SELECT only, bounded, with a quota; of
all rows, or of one tenant's (row policies).

Roles belong to the server, not to a database, so they are no migration: ``skeletonhunter migrate
reader`` makes them, as often as it is called. A server keeps them where its users have access
management; the embedded engine (chDB) keeps none, there ``/api/v1/sql`` bounds each statement.
"""

from __future__ import annotations

import re
from typing import Final, Protocol

from store.shared_incidents import masked, own_ids, own_jobs

ROLE: Final = "skh_reader"
_TENANT: Final = re.compile(r"[\w.-]{1,100}", re.ASCII)


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


#: Table -> its rows of one tenant. Rows of incidents that hit others too name those, so such
#: incidents are in the tenant's own view ``incidents_of_TENANT`` only, which takes the names out.
OF_TENANT: Final = {
    "incidents": "tenants = [{tenant}]",
    "incident_actions": "tenants = [{tenant}]",
    "path_windows": "src_tenant_id = {tenant} AND dst_tenant_id = {tenant}",
    "path_half_minutes": "src_tenant_id = {tenant} AND dst_tenant_id = {tenant}",
    "pings": "src_tenant_id = {tenant} AND dst_tenant_id = {tenant}",
    "placement": "tenant = {tenant}",
    "jobs": "tenant = {tenant}",
}
#: Views that read those tables only, with the rights of who asks.
VIEWS_OF_TENANT: Final = (
    "incidents_latest", "incident_handling", "path_windows_latest", "path_minutes", "pings_unique",
)  # fmt: skip


def view_of(tenant: str) -> str:
    """Name of the view with all incidents that hit the tenant, in backticks."""
    return f"`incidents_of_{tenant}`"


def incidents_query(database: str, tenant: str) -> str:
    """The newest version of each incident that hits the tenant, others' names left out."""
    name = f"'{tenant}'"
    own = f"{database}.", f"tenant = {name}"
    rows = masked(
        f"{database}.incidents_latest", f"[{name}]", own_jobs(*own), own_ids(*own), is_view=True
    )
    return f"SELECT * EXCEPT (document) FROM {rows} WHERE notEmpty(tenants)"  # noqa: S608


def conditions(tenant: str) -> dict[str, str]:
    """Table -> condition on its rows, in SQL."""
    escaped = tenant.replace("\\", "\\\\").replace("'", "\\'")
    return {
        table: condition.replace("{tenant}", f"'{escaped}'")
        for table, condition in OF_TENANT.items()
    }


def tenant_statements(database: str, tenant: str) -> list[str]:
    """What makes the role ``skh_reader_TENANT``: no table without a row policy may be read. Each
    may be run again; raises ValueError for a name that no role can have."""
    if not _TENANT.fullmatch(tenant):
        raise ValueError(
            f"tenant {tenant!r} has a character that no role should have; letters, digits and ._- "
            "are possible"
        )
    role = f"`{ROLE}_{tenant}`"
    profile, _, _, quota = statements(database)
    return [
        profile,
        f"CREATE ROLE IF NOT EXISTS {role} SETTINGS PROFILE '{ROLE}'",
        *(f"CREATE ROW POLICY OR REPLACE {role} ON {database}.{table} FOR SELECT"
          f" USING {condition} AS RESTRICTIVE TO {role}"
          for table, condition in conditions(tenant).items()),
        *(f"CREATE ROW POLICY IF NOT EXISTS {ROLE}_all ON {database}.{table} FOR SELECT"
          " USING 1 AS PERMISSIVE TO ALL" for table in OF_TENANT),
        # It reads with the rights of who makes it: the tenant's own rights hide shared incidents.
        f"CREATE OR REPLACE VIEW {database}.{view_of(tenant)} DEFINER = CURRENT_USER"
        f" SQL SECURITY DEFINER AS {incidents_query(database, tenant)}",
        f"GRANT SELECT ON {database}.{view_of(tenant)} TO {role}",
        *(f"GRANT SELECT ON {database}.{name} TO {role}"
          for name in (*OF_TENANT, *VIEWS_OF_TENANT)),
        quota.replace(f"IF NOT EXISTS {ROLE} ", f"IF NOT EXISTS {role} ").replace(
            f"TO {ROLE}", f"TO {role}"
        ),
    ]  # fmt: skip


def make(store: Database, database: str, tenant: str = "", cluster: str | None = None) -> list[str]:
    """Make the role, or that of one tenant; returns the statements that were run. Raises
    RolesUnsupported, StoreError, ValueError."""
    from store.client import StoreRefused

    if tenant and cluster:
        raise ValueError(
            "row policies of a tenant are not tried on a cluster: unset SKH_CLICKHOUSE_CLUSTER, or "
            "leave out --tenant"
        )
    done = tenant_statements(database, tenant) if tenant else statements(database, cluster)
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
