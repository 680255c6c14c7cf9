"""What readers with a part of the tenants see, in SQL, of an incident that also hits others. Pure.

A broken switch hits many tenants, and each has to see it. A row of it names jobs, hosts and
addresses of all of them, so of such an incident only what is the reader's own, or the network's,
is left. The API asks so (``api.access.shared_incidents``), and so do views of tenants
(``store.reader``).
"""

from __future__ import annotations

from typing import Final

#: Kinds of what belongs to the network, not to a tenant; ?: an end of a link that is not known.
NETWORK: Final = frozenset({"tor", "agg", "spine", "pod", "fabric", "pipeline", "switch", "?"})

_KINDS: Final = ", ".join(f"'{each}'" for each in sorted(NETWORK))
#: Columns hide one another's names, so each refers to itself and to what the table has no column
#: for.
_MASKED: Final = (
    "(SELECT * REPLACE ("
    "arrayIntersect(tenants, {names}) AS tenants,"
    " if(of_others, arrayIntersect(jobs, {jobs}), jobs) AS jobs,"
    " if(of_others AND NOT {component}, concat(kind, ':?'), component) AS component,"
    " if(of_others, arrayFilter(each -> {each}, tie_set), tie_set) AS tie_set"
    "{more}) FROM (SELECT *, NOT hasAll({names}, tenants) AS of_others FROM {table}))"
)
_VISIBLE: Final = (
    "arrayAll(part -> splitByChar(':', part)[1] IN ({kinds}) OR has({ids}, part),"
    " splitByChar('|', replaceRegexpOne({name}, '^link:', '')))"
)
#: Columns that the view incidents_latest has beside those of the table.
_OF_VIEW: Final = (
    ", if(of_others, '{}', evidence) AS evidence, if(of_others, '', explanation) AS explanation"
)


def own_jobs(database: str = "", condition: str = "") -> str:
    """The readers' jobs, as an array in SQL.

    database   and a dot, before the names of tables; empty: the current one
    condition  on the rows of placement and jobs that are the readers'; empty: all that they see
    """
    where = f" WHERE {condition}" if condition else ""
    rows = " UNION ALL ".join(
        f"SELECT job FROM {database}{table}{where}"  # noqa: S608
        for table in ("placement", "jobs")
    )
    return f"(SELECT groupUniqArray(job) FROM ({rows}))"  # noqa: S608


def own_ids(database: str = "", condition: str = "") -> str:
    """Component ids of where the readers' containers run, as an array in SQL; arguments as of
    ``own_jobs``."""
    where = f" WHERE {condition}" if condition else ""
    rows = (
        "SELECT arrayJoin(arrayConcat([concat('container:', node_id), concat('host:', node_sn),"  # noqa: S608
        " concat('vswitch:', node_sn), concat('agent:', node_sn)],"
        f" arrayMap(each -> concat('rnic:', each), rnics))) AS id FROM {database}placement{where}"
    )
    return f"(SELECT groupUniqArray(id) FROM ({rows}))"  # noqa: S608


def masked(table: str, names: str, jobs: str, ids: str, *, is_view: bool) -> str:
    """A subquery with the table's rows, in which incidents that hit others have only what the
    readers may see; the column ``document`` is left as it is. Of incidents that do not hit the
    readers ``tenants`` becomes empty.

    table    ``incidents``, or the view ``incidents_latest`` (is_view)
    names    the readers' tenants, jobs, ids: arrays in SQL
    """
    text = _MASKED.replace("{more}", _OF_VIEW if is_view else "")
    for name in ("component", "each"):
        visible = _VISIBLE.replace("{kinds}", _KINDS).replace("{ids}", ids).replace("{name}", name)
        text = text.replace(f"{{{name}}}", visible)
    return text.replace("{names}", names).replace("{jobs}", jobs).replace("{table}", table)
