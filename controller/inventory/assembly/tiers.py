"""The tier of each switch, from the graph. No I/O.

A switch with rnics is an access switch (asw). The others that matter lie on a shortest path between
two access switches: probes between hosts can cross them. Their tier follows from the distance to
the nearest access switch: in a fabric of two tiers those at distance 1 are dsw, in one of three
tiers they are psw and those at distance 2 are dsw. What lies on no such path (border leaves,
management switches) is no part of the fabric, unless its tier is given.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse import csgraph

TIERS: Final = ("asw", "psw", "dsw")
_FAR: Final = np.iinfo(np.int16).max // 2


class Inferred(NamedTuple):
    """Tier of each switch of the fabric, switches off it, and switches too far from hosts."""

    tiers: dict[str, str]
    off: list[str]
    far: dict[str, int]


def infer(
    switches: Collection[str],
    links: Iterable[tuple[str, str]],
    access: Collection[str],
    given: Mapping[str, str],
) -> Inferred:
    """Tiers of all switches.

    links   pairs of switches
    access  switches with rnics
    given   switch -> tier that is known; it counts instead of what the graph says
    """
    names = sorted(switches)
    number = {name: n for n, name in enumerate(names)}
    tors = np.array(sorted(number[name] for name in access), np.int64)
    if not len(tors):
        return Inferred(dict(given), [], {})
    ends = np.array([(number[a], number[b]) for a, b in links], np.int64).reshape(-1, 2)
    distance = _distances(len(names), ends, tors)
    crossed = _on_shortest_paths(distance, tors)
    nearest = distance.min(axis=0)
    upper = [n for n in np.flatnonzero(crossed).tolist() if nearest[n] > 0]
    highest = max((int(nearest[n]) for n in upper), default=0)
    tiers: dict[str, str] = {}
    far: dict[str, int] = {}
    off: list[str] = []
    for n, name in enumerate(names):
        if name in given:
            tiers[name] = given[name]
        elif nearest[n] == 0:
            tiers[name] = "asw"
        elif not crossed[n]:
            off.append(name)
        elif nearest[n] >= len(TIERS):
            far[name] = int(nearest[n])
        else:
            tiers[name] = "dsw" if nearest[n] == highest else "psw"
    return Inferred(tiers, off, far)


def _distances(
    count: int, ends: npt.NDArray[np.int64], tors: npt.NDArray[np.int64]
) -> npt.NDArray[np.int16]:
    """(T, S) links between each access switch and each switch; _FAR where there is no path."""
    ones = np.ones(len(ends), np.int8)
    graph = sparse.csr_array((ones, (ends[:, 0], ends[:, 1])), (count, count))
    found = csgraph.dijkstra(graph, directed=False, indices=tors, unweighted=True)
    return np.where(np.isfinite(found), found, _FAR).astype(np.int16)


def _on_shortest_paths(
    distance: npt.NDArray[np.int16], tors: npt.NDArray[np.int64]
) -> npt.NDArray[np.bool_]:
    """(S,) whether a switch lies on a shortest path between two access switches."""
    crossed = np.zeros(distance.shape[1], bool)
    for row, _ in enumerate(tors.tolist()):
        between = distance[row, tors]
        reached = between < _FAR
        sums = distance[row] + distance[reached]
        crossed |= (sums == between[reached, None]).any(axis=0)
    return crossed
