"""Where a component is, as the records name it: host, rnic, ToR, container. Pure."""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from schemas import identity
from schemas.component_ids import kind_of, link_ends

_COLUMNS: Final = {"host": "node_sn", "rnic": "real_ip", "tor": "asw", "container": "node_id"}
#: Component kind -> the kind of place whose name it has; switches above the ToRs have no endpoints.
_SAME: Final = {"vswitch": "host", "agent": "host", **{kind: kind for kind in _COLUMNS}}
_ORDER: Final = ("rnic", "container", "host", "tor")


def place(component: str, records: pa.RecordBatch | None) -> dict[str, list[str]]:
    """Kind of place -> its names, those in the id and those of endpoints there."""
    own: dict[str, str] = {}
    for end in link_ends(component) if kind_of(component) == "link" else (component,):
        kind, _, name = end.partition(":")
        if kind in _SAME:
            own[_SAME[kind]] = name.replace("%7C", "|").replace("%25", "%")
    found = {kind: {name} for kind, name in own.items()}
    by = next((kind for kind in _ORDER if kind in own), None)
    if by is not None and records is not None:
        for side in ("src", "dst"):
            there = pc.equal(identity.filled(records, f"{side}_{_COLUMNS[by]}"), own[by])
            rows = records.filter(there)
            for kind, column in _COLUMNS.items():
                if kind not in own:
                    names = identity.filled(rows, f"{side}_{column}").unique().to_pylist()
                    found.setdefault(kind, set()).update({*names} - {""})
    if "container" not in own:  # an endpoint of the underlay has its host's name for a container's
        found["container"] = found.get("container", set()) - found.get("host", set())
    return {kind: sorted(found[kind]) for kind in _COLUMNS if found.get(kind)}
