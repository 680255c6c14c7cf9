"""What a verdict must add while routes are unknown: who else it may be, and what is missing."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from localizer.fabric import untraced_links
from localizer.fabric.untraced_links import Trouble
from localizer.state import FabricState
from localizer.verdicts.verdict import I64, Verdict

Bool = npt.NDArray[np.bool_]
F64 = npt.NDArray[np.float64]


def widen(
    state: FabricState, verdict: Verdict, share: F64, sent: I64, hurt: I64, bad: Bool
) -> None:
    """Add to a verdict what routes that are not traced leave open.

    share  (P,) of each path's traversals that cross the component
    sent, hurt  (P,) probes, and lost ones among them; or paths that speak, and late ones
    bad         (P,) all bad paths, by whatever cause
    Nothing is added where a document gives the fabric, nor to a verdict about a host that complains
    alone, nor to one below the ToRs while all is well elsewhere.
    """
    if state.incidence.routes.given or verdict.lone_witness:
        return
    traces, routes = state.incidence.traces(), state.incidence.routes
    mine = np.zeros(len(sent), bool)
    mine[verdict.bad] = True
    crosses = (sent > 0) & ((share > 0) | mine)
    without, of = untraced_links.missing(traces, crosses, state.layer == 1)
    if not without:
        return
    trouble = Trouble(sent, hurt, mine, bad & ~crosses)
    names = untraced_links.possible(routes, traces, trouble, verdict.component, {*verdict.tie_set})
    if not names and not untraced_links.between_tors(verdict.component):
        return
    verdict.may_be(names)
    warning = f"routes of {without:,} of {of:,} paths are not traced; pass --topology or wait"
    verdict.evidence["untraced"] = {"paths": without, "of": of}
    verdict.evidence["warning"] = warning
    verdict.evidence["text"] = f"{verdict.evidence['text']}; {warning}"
