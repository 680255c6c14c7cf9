"""Components that may be to blame although no traced route shows it. No I/O.

Where no document describes the fabric, what lies between two ToRs is known from traceroutes only.
Until they have come, probes that are lost above a ToR look as if the ToR lost them. A component
belongs beside the one that is named if all of the trouble may have crossed it and no traced path
that crosses it for certain says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import special

from localizer.fabric.switch_graph import SwitchGraph
from schemas.component_ids import TIER_KIND, component, kind_of, link, link_ends

Bool = npt.NDArray[np.bool_]
F64 = npt.NDArray[np.float64]
I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]

#: Stands for a switch above the ToRs that no record and no route has named yet.
UNSEEN: Final = "?"
#: Share of the trouble that must have crossed a component if it is the cause of all of it.
COVERS: Final = 0.9
#: Trouble elsewhere on untraced paths, as a share of that of a verdict, and so many paths at least,
#: from which on both may come from one switch above the ToRs.
ELSEWHERE: Final = 0.25
FEWEST: Final = 3
#: Traced paths clear a component if so little trouble on them has a probability below this, were
#: the component half as bad as the bad paths are.
CLEARED: Final = 1e-3
MOST: Final = 16  # components that are listed beside the one that is named

SWITCHES: Final = frozenset(TIER_KIND.values())


class Traces(NamedTuple):
    """What is known of the routes of P paths.

    ends  (2, P) numbers of the access switches, -1 for none
    hops  (2, L, P) switches along request and reply, -1 behind their end; all -1: not traced
    """

    ends: I32
    hops: I32

    @property
    def missing(self) -> Bool:
        """(2, P) traversals between two ToRs that no traceroute has shown."""
        leaves = (self.ends[0] != self.ends[1]) | (self.ends[0] < 0)
        unknown: Bool = leaves & (self.hops[:, 0] < 0)
        return unknown


@dataclass(frozen=True, slots=True)
class Trouble:
    """What the paths of a verdict met.

    sent, hurt  (P,) probes, and bad ones among them
    bad         (P,) paths that are bad by this cause
    elsewhere   (P,) bad paths that do not cross the component that is named
    """

    sent: I64
    hurt: I64
    bad: Bool
    elsewhere: Bool

    def spread(self, unsure: Bool) -> bool:
        """Whether so much is wrong elsewhere, where routes are unknown, that one cause fits."""
        other = int((self.elsewhere & unsure).sum())
        return other >= max(FEWEST, ELSEWHERE * int(self.bad.sum()))


def between_tors(component: str) -> bool:
    """Whether it is a switch or a link between two, whose paths need routes to be told apart."""
    if kind_of(component) == "link":
        return all(kind_of(end) in SWITCHES for end in link_ends(component))
    return kind_of(component) in SWITCHES


def missing(traces: Traces, crosses: Bool, overlay: Bool) -> tuple[int, int]:
    """How many of some paths have no traced route, and of how many that need one.

    crosses  (P,) the paths; overlay (P,): not counted beside others, for nothing traces them
    """
    leaves = crosses & ((traces.ends[0] != traces.ends[1]) | (traces.ends[0] < 0))
    if (leaves & ~overlay).any():
        leaves = leaves & ~overlay
    return int((leaves & traces.missing.any(axis=0)).sum()), int(leaves.sum())


def possible(
    routes: SwitchGraph, traces: Traces, trouble: Trouble, component: str, known: set[str]
) -> list[str]:
    """Ids of components that may be the cause as well as the one that is named.

    known  ids that are listed already
    """
    hurt = np.where(trouble.bad, trouble.hurt, 0)
    total, every = float(hurt.sum()), float(trouble.sent[trouble.bad].sum())
    unsure: Bool = np.asarray(traces.missing.any(axis=0))
    spread = trouble.spread(unsure)
    if not total or float(hurt[unsure].sum()) <= (1.0 - COVERS) * total:
        return []  # traced paths tell it
    if not between_tors(component) and not spread:
        return []  # chance does not put the paths of one host, and no others, on one switch
    out = []
    for name, crosses, may in _candidates(routes, traces, unsure, hurt):
        if name in known or float(hurt[crosses | may].sum()) < COVERS * total:
            continue
        if UNSEEN in name and not name.startswith("link:") and not spread:
            continue
        n, k = float(trouble.sent[crosses].sum()), float(trouble.hurt[crosses].sum())
        # P(K <= k) of a binomial; with nothing sent, or all of it bad, nothing speaks against it.
        if k < n and special.betainc(n - k, k + 1.0, 1.0 - 0.5 * total / every) < CLEARED:
            continue
        out.append(name)
    return out[:MOST]


def _candidates(
    routes: SwitchGraph, traces: Traces, unsure: Bool, hurt: I64
) -> Iterator[tuple[str, Bool, Bool]]:
    """Id, (P,) paths that cross it for certain, (P,) paths that may: likelier ones first."""
    names = routes.switches
    common = [
        tor for tor in np.unique(traces.ends[:, hurt > 0]).tolist()
        if tor >= 0 and hurt[(traces.ends == tor).any(axis=0)].sum() >= COVERS * hurt.sum()
    ]  # fmt: skip
    far = [tor for tor in np.unique(traces.ends[:, hurt > 0]).tolist() if tor >= 0]
    upper = {n for tor in far for n in routes.near(tor) if kind_of(names[n]) != "tor"}
    upper |= {n for n, name in enumerate(names) if kind_of(name) == "spine" and not routes.near(n)}
    for tor in common:
        here = (traces.ends == tor).any(axis=0)
        yield names[tor], here, np.zeros(len(here), bool)
        for n in sorted(upper, key=lambda n: (n not in routes.near(tor), names[n])):
            yield link(names[tor], names[n]), _travels(traces.hops, tor, n), here & unsure
        yield link(UNSEEN, names[tor]), np.zeros(len(here), bool), here & unsure
    yield component("spine", UNSEEN), np.zeros(traces.ends.shape[1], bool), unsure
    for n in sorted(upper, key=lambda n: names[n]):
        yield names[n], (traces.hops == n).any(axis=(0, 1)), unsure
        for other in routes.near(n):
            if kind_of(names[other]) != "tor":
                yield link(names[n], names[other]), _travels(traces.hops, n, other), unsure


def _travels(hops: I32, a: int, b: int) -> Bool:
    """(P,) paths whose traced routes cross the link between two switches, either way."""
    first, second = hops[:, :-1], hops[:, 1:]
    crossed = ((first == a) & (second == b)) | ((first == b) & (second == a))
    out: Bool = crossed.any(axis=(0, 1))
    return out
