"""Which components of a topology the judged probes cross, and which links only perhaps."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from localizer.fabric.incidence.incidence import Incidence
from schemas.component_ids import TIER_KIND, component, kind_of, link
from schemas.documents.coverage import Coverage
from schemas.documents.known_components import of_topology
from schemas.documents.times import rfc3339
from schemas.documents.topology import Topology
from schemas.parameters.parameter import parameter

#: Hosts, agents and pods are judged by their rnics.
_JUDGEABLE: Final = frozenset(
    {"rnic", "tor", "agg", "spine", "link", "vswitch", "container"}
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class CoverageParameters:
    """Which components count as covered, and how many of the others a document names.

    crossed  expected traversals from which on a component counts as crossed
    names    components of one sort in a document
    """

    crossed: float = parameter(
        0.5 - 1e-6, unit="traversals",
        source="chosen: half a traversal is one direction of one path",
    )  # fmt: skip
    names: int = parameter(1000, unit="components", source="chosen: bounds the message")


DEFAULT: Final = CoverageParameters()


class Covered(NamedTuple):
    """How the components of a topology are covered.

    components  all that probes can judge [count]
    uncovered   of them, crossed by no judged probe; sorted
    untraced    links between switches that only probes of unknown routes may cross; sorted. Where
                switches hash alike, such a link may carry no probe at all. Empty where no route is
                known: then that is true of all links.
    """

    components: int
    uncovered: list[str]
    untraced: list[str]


def covered(topology: Topology, crossed: Set[str], certain: Set[str]) -> Covered:
    """How probes cover a topology.

    crossed  component ids that judged probes cross, in expectation where routes are unknown
    certain  of them, those crossed on a known route
    """
    boxes = {box.node_sn for box in topology.containers}
    components = {
        each
        for each in of_topology(topology)
        if kind_of(each) in _JUDGEABLE
        and (kind_of(each) != "vswitch" or each.partition(":")[2] in boxes)
    }
    kinds = {each.id: TIER_KIND[each.tier] for each in topology.switches}
    links = {link(component(kinds[a], a), component(kinds[b], b)) for a, b in topology.links}
    untraced = (links & crossed) - certain if links & certain else set()
    return Covered(len(components), sorted(components - crossed), sorted(untraced))


def traversals(incidence: Incidence) -> dict[str, float]:
    """Component -> traversals by the paths that are remembered [paths], in expectation where a
    route is unknown; a component that a path crosses in one direction only counts half.
    """
    factored = incidence.factored()  # before the components: it adds what is missing
    expected = factored.pooled(np.ones(factored.shape[0]))
    return dict(zip(incidence.components, expected.tolist(), strict=True))


def crossed(incidence: Incidence) -> set[str]:
    """Components that the remembered paths cross, in expectation where a route is unknown; one
    direction of one path is enough.
    """
    return {name for name, times in traversals(incidence).items() if times >= DEFAULT.crossed}


def crossed_for_certain(incidence: Incidence) -> set[str]:
    """Components that a remembered path crosses on a route that is known, in any direction."""
    factored = incidence.factored()
    _, forward, reverse = factored.pooled_by_direction(np.ones(factored.shape[0]))
    certain = (forward + reverse) > 0
    return {name for name, known in zip(incidence.components, certain, strict=True) if known}


def coverage(
    fabric: str, judged_s: int, paths: int, topology: Topology, incidence: Incidence
) -> Coverage:
    """Document of what so many paths cross of the topology, when a second has been judged [s]."""
    found = covered(topology, crossed(incidence), crossed_for_certain(incidence))
    return Coverage(
        fabric=fabric, at=rfc3339((judged_s + 1) * 10**9), paths=paths,
        components=found.components, uncovered=len(found.uncovered),
        untraced=len(found.untraced), uncovered_names=found.uncovered[: DEFAULT.names],
        untraced_names=found.untraced[: DEFAULT.names],
    )  # fmt: skip
