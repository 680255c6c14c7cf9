"""Who asks: a name, a role, and the tenants whose data the caller sees."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Final, Literal, NamedTuple

Role = Literal["viewer", "operator", "admin"]
#: From the least to the most: each may do what those before it may.
ROLES: Final[tuple[Role, ...]] = ("viewer", "operator", "admin")


class Caller(NamedTuple):
    """One request's sender.

    name     of the token; empty where there are no tokens
    tenants  whose data is seen; empty: all of them
    """

    name: str
    role: Role
    tenants: tuple[str, ...] = ()

    def may(self, role: Role) -> bool:
        """Whether the caller has that role or more."""
        return ROLES.index(self.role) >= ROLES.index(role)


#: The sender of the request that is being answered; set by ``api.access.guard``, read where a query
#: is run. None outside requests: metrics, streams.
CALLER: Final[ContextVar[Caller | None]] = ContextVar("caller", default=None)

#: Table -> its rows of some tenants; ``{names}`` is an array in SQL. Of every other table such a
#: caller sees nothing.
_OF_TENANTS: Final = {
    "incidents": "hasAny(tenants, {names})",
    # Notes name whatever their authors know: what others did on a shared incident is not seen.
    "incident_actions": "notEmpty(tenants) AND hasAll({names}, tenants)",
    "path_windows": "has({names}, src_tenant_id) AND has({names}, dst_tenant_id)",
    "path_half_minutes": "has({names}, src_tenant_id) AND has({names}, dst_tenant_id)",
    "pings": "has({names}, src_tenant_id) AND has({names}, dst_tenant_id)",
    "placement": "has({names}, tenant)",
    "jobs": "has({names}, tenant)",
}


def table_filters(caller: Caller, tables: list[str]) -> str:
    """ClickHouse's setting ``additional_table_filters`` for what the caller sees.

    tables  all of the database, so that one which is added later is closed until it is listed here
    """
    names = tenant_array(caller)
    filters = (
        f"{_quoted(table)}: {_quoted(_OF_TENANTS.get(table, '0').replace('{names}', names))}"
        for table in tables
    )
    return f"{{{', '.join(filters)}}}"


def tenant_array(caller: Caller) -> str:
    """The caller's tenants as an array in SQL."""
    return f"[{', '.join(_quoted(name) for name in caller.tenants)}]"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
