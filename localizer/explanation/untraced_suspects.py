"""Which other components a verdict may mean while routes are not traced, and what is missing."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from localizer.fabric import untraced_links
from localizer.fabric.untraced_links import Trouble
from localizer.state.fabric_state import FabricState
from localizer.verdicts.verdict import I64, Untraced, Verdict

Bool = npt.NDArray[np.bool_]
F64 = npt.NDArray[np.float64]


class UntracedSuspects(NamedTuple):
    """Components that the culprit may be as well, and how many routes are missing."""

    possible: list[str]
    untraced: Untraced


def suspects(
    state: FabricState, verdict: Verdict, share: F64, sent: I64, hurt: I64, bad: Bool
) -> UntracedSuspects | None:
    """What untraced routes leave open about a verdict; None where nothing is.

    share  (P,) of each path's traversals that cross the component
    sent, hurt  (P,) probes, and lost ones among them; or paths that count, and late ones
    bad         (P,) all bad paths, by whatever cause
    Nothing is left open where a document gives the fabric, nor of a verdict about a host that
    complains alone, nor of one below the ToRs while all is well elsewhere.
    """
    if state.incidence.graph.given or verdict.lone_witness:
        return None
    traces, graph = state.incidence.traces(), state.incidence.graph
    mine = np.zeros(len(sent), bool)
    mine[verdict.bad] = True
    crosses = (sent > 0) & ((share > 0) | mine)
    without, of = untraced_links.missing(traces, crosses, state.layer == 1)
    if not without:
        return None
    trouble = Trouble(sent, hurt, mine, bad & ~crosses)
    names = untraced_links.possible(graph, traces, trouble, verdict.component, {*verdict.tie_set})
    if not names and not untraced_links.between_tors(verdict.component):
        return None
    return UntracedSuspects(names, Untraced(without, of))
