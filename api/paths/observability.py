"""Which components a fabric has by its topology document, and what judged probes cross of them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final, NamedTuple

from api.paths.documents import Observability
from api.queries.database import Store
from schemas.component_ids import component, kind_of, name_of

Key = tuple[str, str]  # fabric, component id

#: Kinds that coverage counts; hosts, agents and pods are judged by their rnics. A vSwitch is
#: counted where the document has a container on its host.
_COUNTED: Final = frozenset({"rnic", "tor", "agg", "spine", "link", "container", "vswitch"})
_COVERAGE: Final = (
    "SELECT fabric, toUnixTimestamp64Micro(at) / 1e6 AS at_s, uncovered, untraced,"
    " uncovered_names, untraced_names, toUnixTimestamp(ingested_at) AS stored_s"
    " FROM coverage FINAL ORDER BY fabric, at DESC LIMIT 1 BY fabric"
)
_KNOWN: Final = (
    "SELECT fabric, {id} AS id, toUnixTimestamp(max(t.ingested_at)) AS stored_s,"
    " max(t.kind = 'container') AS boxed FROM topology_components AS t FINAL WHERE {which}"
    " AND (fabric, valid_from) IN (SELECT fabric, max(valid_from) FROM topology_components"
    " WHERE valid_from <= now64(3) GROUP BY fabric) GROUP BY fabric, id"
)
#: Kinds without a row of their own -> the rows that show that there is one.
_BY_OTHERS: Final = {
    "vswitch": "(component = {host:String} OR (kind = 'container' AND host = {name:String}))",
    "agent": "component = {host:String}",
    "pod": "(pod != '' AND pod = {name:String})",
    "fabric": "fabric = {name:String}",
}


class Coverage(NamedTuple):
    """The newest coverage of a fabric.

    at_s      second up to which probes are judged, event time [s]
    stored_s  when it was stored [s]
    whole     all components that are not covered are named
    """

    at_s: float
    stored_s: int
    whole: bool


class Observed(NamedTuple):
    """What coverage says of all fabrics.

    unseen    components that no judged probe crosses, or perhaps none
    coverage  fabric -> its newest coverage
    """

    unseen: dict[Key, Observability]
    coverage: dict[str, Coverage]

    @classmethod
    def of(cls, store: Store) -> Observed:
        """By the newest coverage of each fabric."""
        unseen: dict[Key, Observability] = {}
        coverage = {}
        for row in store.rows(_COVERAGE):
            fabric, uncovered, untraced = (
                row["fabric"],
                row["uncovered_names"],
                row["untraced_names"],
            )
            unseen |= {(fabric, name): "untraced" for name in untraced}
            unseen |= {(fabric, name): "uncovered" for name in uncovered}
            whole = int(row["uncovered"]) <= len(uncovered) and int(row["untraced"]) <= len(
                untraced
            )
            coverage[fabric] = Coverage(float(row["at_s"]), int(row["stored_s"]), whole)
        return cls(unseen, coverage)

    def named(self, name: str) -> dict[Key, Observability]:
        """``unseen`` of one component."""
        return {key: how for key, how in self.unseen.items() if key[1] == name}


class Known(NamedTuple):
    """Components that the topology documents have.

    keys     all of them
    covered  of them, those that judged probes cross -> until when these were judged [s]
    """

    keys: set[Key]
    covered: dict[Key, float]


def known(store: Store, name: str, observed: Observed) -> Known:
    """One component, of each fabric that has it, also if it is known by others only: a host has a
    vSwitch and an agent."""
    kind, own = kind_of(name), name_of(name)
    values = {"id": name, "name": own, "host": component("host", own)}
    which = _BY_OTHERS.get(kind, "component = {id:String}")
    return _known(store, which, "{id:String}", values, observed)


def known_of(store: Store, names: Collection[str], observed: Observed) -> Known:
    """Those of ``names`` that have rows of their own."""
    if not names:
        return Known(set(), {})
    values = {"ids": sorted(names)}
    return _known(store, "component IN {ids:Array(String)}", "component", values, observed)


def _known(
    store: Store, which: str, name: str, values: dict[str, Any], observed: Observed
) -> Known:
    rows = store.rows(_KNOWN.replace("{which}", which).replace("{id}", name), values)
    covered = {}
    for row in rows:
        key = row["fabric"], row["id"]
        kind, coverage = kind_of(row["id"]), observed.coverage.get(row["fabric"])
        counted = kind in _COUNTED and (kind != "vswitch" or int(row["boxed"]))
        # A coverage that is older than the document does not count what is new in it.
        if (
            counted
            and coverage is not None
            and coverage.whole
            and coverage.stored_s >= int(row["stored_s"])
            and key not in observed.unseen
        ):
            covered[key] = coverage.at_s
    return Known({(row["fabric"], row["id"]) for row in rows}, covered)
