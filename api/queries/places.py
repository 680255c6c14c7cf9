"""Where a component is: hosts, rnics, ToRs, pods and containers, by the paths that were probed."""

from __future__ import annotations

from typing import Final

from api.documents import Place
from api.queries.database import Store
from schemas.component_ids import kind_of, link_ends
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


def place(store: Store, incident: Incident) -> Place:
    """Names at the component while the incident lasted; those in its id are always among them."""
    own = _own_names(incident.component)
    kind = next((each for each in ("rnic", "container", "host", "tor", "pod") if each in own), None)
    if kind is None:
        return Place()
    at = seconds_of(incident.opened_at)
    ends = " UNION DISTINCT ".join(
        "SELECT DISTINCT "  # noqa: S608  # fixed columns
        + ", ".join(f"{side}_{column} AS {name}" for name, column in _COLUMNS.items())
        + " FROM path_windows_latest WHERE fabric = {fabric:String}"
        " AND window_start >= fromUnixTimestamp64Milli({since:Int64})"
        " AND window_start < fromUnixTimestamp64Milli({until:Int64})"
        f" AND {side}_{_COLUMNS[kind]} = {{name:String}}"
        for side in ("src", "dst")
    )
    columns = ", ".join(f"arraySort(groupUniqArray({name})) AS {name}s" for name in _COLUMNS)
    (row,) = store.rows(
        f"SELECT {columns} FROM ({ends})",  # noqa: S608  # as above
        {
            "fabric": incident.fabric, "name": own[kind],
            "since": int(1e3 * (at - _AROUND_S)), "until": int(1e3 * (at + _AROUND_S)),
        },
    )  # fmt: skip
    found: dict[str, list[str]] = {}
    for each in _COLUMNS:
        names = {own[each]} if each in own else {*row[f"{each}s"]} - {""}
        found[each] = sorted(names)
    # An endpoint of the underlay is the host's own and has its name for a container's.
    if "container" not in own:
        found["container"] = sorted({*found["container"]} - {*found["host"]})
    return Place(
        **{f"{each}s": names[:MOST_NAMES] for each, names in found.items()},
        counts={each: len(names) for each, names in found.items() if names},
    )


def _own_names(component: str) -> dict[str, str]:
    """Kind of place -> name, as the id of a component has them; of a link those of its ends."""
    ends = link_ends(component) if kind_of(component) == "link" else (component,)
    return {
        _SAME[kind]: name_of(end)
        for end, kind in ((end, kind_of(end)) for end in ends)
        if kind in _SAME
    }


def name_of(component: str) -> str:
    """The name in an id, as records have it (see ``schemas.component_ids.escaped``)."""
    name = component.partition(":")[2]
    return "" if name == "%00" else name.replace("%7C", "|").replace("%25", "%")
