"""Whether a window holds enough evidence to name all of its culprits at once."""

from __future__ import annotations

import numpy as np

from localizer.state.fabric_state import FabricState
from localizer.verdicts.build import Alarm
from localizer.verdicts.rules.loss.extent import bad_for


def settled(
    state: FabricState, at: int, alarm: Alarm, culprits: int, *, ended: bool = False
) -> bool:
    """Whether so many culprits may be named.

    Of many, each must have enough bad paths and losses, and most paths have been probed since the
    losses began: else many links are guessed at from a part of a round. Of a few, the first round
    of all must be almost over. Once the input has ended nothing is left to wait for, and a few need
    what each of many does; of many, one look is too little then. A window of a minute always names
    what it finds.
    """
    parameters = state.options.verdicts.reachability
    if culprits <= 1 or alarm.window_s >= parameters.settled_s:
        return True
    few = culprits <= parameters.few_culprits
    if few and _known_before(state, at) >= parameters.known_before:
        return True
    if few != ended:
        return False
    bad, lost = np.flatnonzero(alarm.evidence.bad), int(alarm.lost.sum())
    if len(bad) < parameters.bad_paths_each * culprits or lost < parameters.losses_each * culprits:
        return False
    since_s = bad_for(state, at, alarm.window_s, bad)
    heard = state.history.total("sent", at, since_s, np.flatnonzero(alarm.sent)) > 0
    return bool(heard.mean() >= parameters.heard)


def _known_before(state: FabricState, at: int) -> float:
    """Share of the paths that were probed lately which are not new: where many are, a first round
    of probes is under way, and of many lossy links few have been met so far."""
    history, newest_s = state.history, state.options.verdicts.reachability.windows_s[0]
    lately = history.total("sent", at, history.seconds) > 0
    before = history.total("sent", at - newest_s, history.seconds - newest_s) > 0
    known = before | (state.cadence.interval_s > 0)  # the latter have been probed twice
    return float((lately & known).sum()) / max(float(lately.sum()), 1.0)
