"""What the paths of a verdict show of its issue type."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from localizer.detectors import flapping
from localizer.explanation.issue_types import IssueFeatures
from localizer.explanation.parameters import DEFAULT
from localizer.state.fabric_state import FabricState
from localizer.verdicts.verdict import Verdict
from schemas.component_ids import kind_of

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]

OWNS: Final = DEFAULT.owns


def features(
    state: FabricState, verdict: Verdict, share: F64, sent: I64, excess_us: F64 | None
) -> IssueFeatures:
    """The issue features of a verdict.

    share      (P,) of each path's traversals that cross the component; 0: does not count
    sent       (P,) probes of the window
    excess_us  (P,) latency above the path's own past; None where it is not known
    """
    counts = (share >= OWNS) & (sent > 0)
    layers = state.layer[verdict.bad] == 1
    underlay = counts & (state.layer == 0)
    overlay = bool(layers.all()) if layers.any() and underlay.any() else None
    late = verdict.symptom == "high_latency"
    return IssueFeatures(
        flapping=_by_turns(state, verdict, share, excess_us),
        some=verdict.five_tuples is not None and not overlay,
        overlay=overlay,
        slow=verdict.effect >= DEFAULT.slow_path_us if late else None,
        inside=None if excess_us is None else _inside(state, verdict, share, excess_us),
    )


def _inside(state: FabricState, verdict: Verdict, share: F64, excess_us: F64) -> bool | None:
    """Whether the rnics of a host are late to each other more than to others."""
    if kind_of(verdict.component) != "host":
        return None
    counts = share >= OWNS
    within = state.src == state.dst
    if not (counts & within).any() or not (counts & ~within).any():
        return None
    inner, outer = (float(np.median(excess_us[counts & side])) for side in (within, ~within))
    return hit_inside(inner, outer)


def hit_inside(inner_us: float, outer_us: float) -> bool:
    """Whether paths between rnics of one host are hit by themselves, not as all paths of the host.

    inner_us, outer_us  how late the paths inside the host are, and those that leave it [us]
    """
    return inner_us > DEFAULT.much_later * max(outer_us, 0.0)


def _by_turns(
    state: FabricState, verdict: Verdict, share: F64, excess_us: F64 | None
) -> bool | None:
    """Whether the trouble comes and goes; None where that cannot be said."""
    if verdict.symptom != "high_latency":
        return _lossy_by_turns(state, verdict, share)
    return None if excess_us is None else _late_by_turns(state, verdict)


def _lossy_by_turns(state: FabricState, verdict: Verdict, share: F64) -> bool | None:
    """Whether losses come and go, over all that the ring of panes holds.

    All paths that cross the component for certain count, for the five-tuples of the bad ones may
    be probed in its bad seconds only; but where it spares some five-tuples, the bad ones alone.
    """
    rows = np.zeros(len(share), bool)
    rows[verdict.bad] = True
    if verdict.five_tuples is None:
        rows |= share >= 1.0
    history, where = state.history, np.flatnonzero(rows)
    sent, lost = (
        history.by_second(name, state.newest_s, history.seconds, where) for name in ("sent", "lost")
    )
    return flapping.losses(sent, lost, state.options.detectors.flapping)


def _late_by_turns(state: FabricState, verdict: Verdict) -> bool | None:
    """Whether the bad paths are late, in time, and late again."""
    rtt = np.stack([state.history.rtt_us(second)[verdict.bad] for second in _ring(state)])
    heard = rtt > 0
    over = np.where(heard, rtt - state.latency.baseline.reference[verdict.bad], 0.0).sum(axis=1)
    count = heard.sum(axis=1)
    return flapping.lateness(over / np.maximum(count, 1), count, state.options.detectors.flapping)


def _ring(state: FabricState) -> range:
    return range(state.newest_s - state.history.seconds + 1, state.newest_s + 1)
