"""Components that may be the cause although no traced route shows it. No I/O.

Without a topology document, what lies between two ToRs is known from traceroutes only. Until these
arrive, probes that are lost above a ToR look as if the ToR lost them. A component is listed beside
the one that a verdict names if all of the trouble may have crossed it, and if no traced path that
certainly crosses it contradicts that.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import special

from localizer.fabric.parameters import UNTRACED_LINKS
from localizer.fabric.switch_graph import SwitchGraph
from schemas.component_ids import TIER_KIND, UNSEEN, component, kind_of, link, link_ends

Bool = npt.NDArray[np.bool_]
F64 = npt.NDArray[np.float64]
I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]

#: A switch above the ToRs that no record and no route has named yet.
UNSEEN_SWITCH: Final = component("spine", UNSEEN)

SWITCHES: Final = frozenset(TIER_KIND.values())
_PARAMETERS: Final = UNTRACED_LINKS


class Traces(NamedTuple):
    """What is known of the routes of P paths.

    tors  (2, P) numbers of the access switches, -1 for none
    hops  (2, L, P) switches of request and reply, -1 behind their end; -1 throughout: not traced
    """

    tors: I32
    hops: I32

    @property
    def missing(self) -> Bool:
        """(2, P) traversals between two ToRs that no traceroute has shown."""
        leaves = (self.tors[0] != self.tors[1]) | (self.tors[0] < 0)
        unknown: Bool = leaves & (self.hops[:, 0] < 0)
        return unknown


@dataclass(frozen=True, slots=True)
class Trouble:
    """What the probes of a verdict's paths met.

    sent, hurt  (P,) probes, and bad ones among them
    bad         (P,) paths that are bad by the cause that the verdict names
    elsewhere   (P,) bad paths that do not cross the named component
    """

    sent: I64
    hurt: I64
    bad: Bool
    elsewhere: Bool

    def spread(self, unsure: Bool) -> bool:
        """Whether so much is wrong elsewhere, where routes are unknown, that one cause fits."""
        other = int((self.elsewhere & unsure).sum())
        return other >= max(_PARAMETERS.fewest, _PARAMETERS.elsewhere * int(self.bad.sum()))


def between_tors(component: str) -> bool:
    """Whether a component is a switch or a link between two: routes tell who crosses it."""
    if kind_of(component) == "link":
        return all(kind_of(end) in SWITCHES for end in link_ends(component))
    return kind_of(component) in SWITCHES


def missing(traces: Traces, crosses: Bool, overlay: Bool) -> tuple[int, int]:
    """How many of some paths are not traced, and how many need to be.

    crosses  (P,) the paths
    overlay  (P,) counted only if there are no others: overlay paths are never traced
    """
    leaves = crosses & ((traces.tors[0] != traces.tors[1]) | (traces.tors[0] < 0))
    if (leaves & ~overlay).any():
        leaves = leaves & ~overlay
    return int((leaves & traces.missing.any(axis=0)).sum()), int(leaves.sum())


def possible(
    graph: SwitchGraph, traces: Traces, trouble: Trouble, component: str, known: set[str]
) -> list[str]:
    """Ids of components that may be the cause as well as the named one.

    known  ids that are listed already
    """
    hurt = np.where(trouble.bad, trouble.hurt, 0)
    total, every = float(hurt.sum()), float(trouble.sent[trouble.bad].sum())
    unsure: Bool = np.asarray(traces.missing.any(axis=0))
    spread = trouble.spread(unsure)
    if not total or float(hurt[unsure].sum()) <= (1.0 - _PARAMETERS.covers) * total:
        return []  # traced paths decide
    if not between_tors(component) and not spread:
        return []  # a switch would have hit paths of other hosts too
    out = []
    for name, crosses, may in _candidates(graph, traces, unsure, hurt):
        if name in known or float(hurt[crosses | may].sum()) < _PARAMETERS.covers * total:
            continue
        if UNSEEN in name and not name.startswith("link:") and not spread:
            continue
        n, k = float(trouble.sent[crosses].sum()), float(trouble.hurt[crosses].sum())
        # P(K <= k) of a binomial; where nothing was sent, or all was bad, nothing clears it.
        p = special.betainc(n - k, k + 1.0, 1.0 - 0.5 * total / every) if k < n else 1.0
        if p < _PARAMETERS.cleared:
            continue
        out.append(name)
    return out[: _PARAMETERS.most]


def _candidates(
    graph: SwitchGraph, traces: Traces, unsure: Bool, hurt: I64
) -> Iterator[tuple[str, Bool, Bool]]:
    """Id, (P,) paths that certainly cross it, (P,) paths that may; likelier components first."""
    names = graph.switches
    most = _PARAMETERS.covers * hurt.sum()
    common = [
        tor for tor in np.unique(traces.tors[:, hurt > 0]).tolist()
        if tor >= 0 and hurt[(traces.tors == tor).any(axis=0)].sum() >= most
    ]  # fmt: skip
    far = [tor for tor in np.unique(traces.tors[:, hurt > 0]).tolist() if tor >= 0]
    upper = {n for tor in far for n in graph.near(tor) if kind_of(names[n]) != "tor"}
    upper |= {n for n, name in enumerate(names) if kind_of(name) == "spine" and not graph.near(n)}
    for tor in common:
        here = (traces.tors == tor).any(axis=0)
        yield names[tor], here, np.zeros(len(here), bool)
        for n in sorted(upper, key=lambda n: (n not in graph.near(tor), names[n])):
            yield link(names[tor], names[n]), _travels(traces.hops, tor, n), here & unsure
        yield link(UNSEEN, names[tor]), np.zeros(len(here), bool), here & unsure
    yield UNSEEN_SWITCH, np.zeros(traces.tors.shape[1], bool), unsure
    for n in sorted(upper, key=lambda n: names[n]):
        yield names[n], (traces.hops == n).any(axis=(0, 1)), unsure
        for other in graph.near(n):
            if kind_of(names[other]) != "tor":
                yield link(names[n], names[other]), _travels(traces.hops, n, other), unsure


def _travels(hops: I32, a: int, b: int) -> Bool:
    """(P,) paths whose traced routes cross the link between two switches, either way."""
    first, second = hops[:, :-1], hops[:, 1:]
    crossed = ((first == a) & (second == b)) | ((first == b) & (second == a))
    out: Bool = crossed.any(axis=(0, 1))
    return out
