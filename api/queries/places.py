"""Where a component is: hosts, rnics, ToRs, pods and containers, by the paths that were probed and
by the topology document; of what is above the ToRs, its switches."""

from __future__ import annotations

from typing import Final

from api.documents import Place
from api.queries.database import Store
from schemas.component_ids import TIER_KIND, kind_of, link_ends, name_of
from schemas.documents.incident import Incident
from schemas.documents.times import seconds_of

#: Columns of an endpoint (with src_ or dst_ before them) that hold each kind's names.
_COLUMNS: Final = {
    "host": "node_sn", "rnic": "real_ip", "tor": "asw", "pod": "pod", "container": "node_id",
}  # fmt: skip
#: Component kind -> the kind of place whose name it has; switches above the ToRs have no endpoints.
_SAME: Final = {"vswitch": "host", "agent": "host", **{kind: kind for kind in _COLUMNS}}
MOST_NAMES: Final = 50
_AROUND_S: Final = 600.0
#: The document that held when the incident began.
_DOCUMENT: Final = (
    "FROM topology_components FINAL WHERE fabric = {fabric:String} AND valid_from ="
    " (SELECT max(valid_from) FROM topology_components WHERE fabric = {fabric:String}"
    " AND valid_from <= fromUnixTimestamp64Milli({at:Int64}))"
)
#: Kind of place -> the column of an rnic's row that has its name.
_OF_RNIC: Final = {"host": "host", "rnic": "name", "tor": "tor", "pod": "pod"}


def place(store: Store, incident: Incident) -> Place:
    """Names at the component while the incident lasted; those in its id are always among them."""
    own = _own_names(incident.component)
    kind = next((each for each in ("rnic", "container", "host", "tor", "pod") if each in own), None)
    switches = _switches(incident.component)
    if kind is None:
        return Place(switches=switches, counts={"switch": len(switches)} if switches else {})
    at = seconds_of(incident.opened_at)
    found = _probed(store, incident.fabric, kind, own[kind], at)
    for each, names in _documented(store, incident.fabric, kind, own[kind], at).items():
        found[each] |= names
    found |= {each: {name} for each, name in own.items()}
    # An endpoint of the underlay is the host's own and has its name for a container's.
    if "container" not in own:
        found["container"] -= found["host"]
    named = {each: sorted(names - {""}) for each, names in found.items()} | {"switch": switches}
    return Place(
        hosts=named["host"][:MOST_NAMES], rnics=named["rnic"][:MOST_NAMES],
        tors=named["tor"][:MOST_NAMES], pods=named["pod"][:MOST_NAMES],
        containers=named["container"][:MOST_NAMES], switches=switches,
        counts={each: len(names) for each, names in named.items() if names},
    )  # fmt: skip


def _probed(store: Store, fabric: str, kind: str, name: str, at: float) -> dict[str, set[str]]:
    """Names by kind at the ends of paths that were probed around ``at``."""
    ends = " UNION DISTINCT ".join(
        "SELECT DISTINCT "  # noqa: S608  # fixed columns
        + ", ".join(f"{side}_{column} AS {each}" for each, column in _COLUMNS.items())
        + " FROM path_windows_latest WHERE fabric = {fabric:String}"
        " AND window_start >= fromUnixTimestamp64Milli({since:Int64})"
        " AND window_start < fromUnixTimestamp64Milli({until:Int64})"
        f" AND {side}_{_COLUMNS[kind]} = {{name:String}}"
        for side in ("src", "dst")
    )
    columns = ", ".join(f"groupUniqArray({each}) AS {each}s" for each in _COLUMNS)
    (row,) = store.rows(
        f"SELECT {columns} FROM ({ends})",  # noqa: S608  # as above
        {
            "fabric": fabric, "name": name,
            "since": int(1e3 * (at - _AROUND_S)), "until": int(1e3 * (at + _AROUND_S)),
        },
    )  # fmt: skip
    return {each: {*row[f"{each}s"]} for each in _COLUMNS}


def _documented(store: Store, fabric: str, kind: str, name: str, at: float) -> dict[str, set[str]]:
    """Names by kind as the topology document has them."""
    values = {"fabric": fabric, "name": name, "at": int(1e3 * at)}
    if kind == "container":
        rows = store.rows(
            f"SELECT host, rnics {_DOCUMENT} AND kind = 'container' AND name = {{name:String}}",
            values,
        )
        return {
            "host": {row["host"] for row in rows},
            "rnic": {each for row in rows for each in row["rnics"]},
        }
    columns = ", ".join(f"groupUniqArray({of}) AS {each}s" for each, of in _OF_RNIC.items())
    (row,) = store.rows(
        f"SELECT {columns} {_DOCUMENT} AND kind = 'rnic' AND {_OF_RNIC[kind]} = {{name:String}}",
        values,
    )
    return {each: {*row[f"{each}s"]} for each in _OF_RNIC}


def _switches(component: str) -> list[str]:
    """Names of the switches in an id."""
    ends = link_ends(component) if kind_of(component) == "link" else (component,)
    return sorted(name_of(end) for end in ends if kind_of(end) in TIER_KIND.values())


def _own_names(component: str) -> dict[str, str]:
    """Kind of place -> name, as the id of a component has them; of a link those of its ends."""
    ends = link_ends(component) if kind_of(component) == "link" else (component,)
    return {
        _SAME[kind]: name_of(end)
        for end, kind in ((end, kind_of(end)) for end in ends)
        if kind in _SAME
    }
