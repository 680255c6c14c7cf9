"""Retention: what has not been heard of for long is dropped. No I/O, no clock."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from localizer.options import Retention
from localizer.state.fabric_state import FabricState
from schemas.component_ids import component

I64 = npt.NDArray[np.int64]


class CleanUps:
    """The seconds after which a fabric is cleaned up."""

    def __init__(self, retention: Retention) -> None:
        self._retention = retention
        self._cleaned_s = self._judged = 0  # second of a clean-up; seconds judged since then

    def due(self, at: int) -> bool:
        """Whether one is due after this second has been judged; call it once for each.

        Where event time jumps, no second may be a multiple of the interval; paths that come back
        after a hole are given some seconds to do so.
        """
        every_s = self._retention.every_s
        self._cleaned_s, self._judged = self._cleaned_s or at, self._judged + 1
        late = at - self._cleaned_s > every_s and self._judged >= self._retention.least_judged
        if at % every_s == 0 or late:
            self._cleaned_s, self._judged = at, 0
            return True
        return False


def clean_up(state: FabricState, at: int) -> I64 | None:
    """Drop paths, hosts and documents that have not been heard of for long at a second.

    Returns the new row of each path (P,), -1 for those that are dropped; None: all stay.
    """
    unheard_s = state.options.retention.unheard_s
    keep, moved = state.history.last_seen >= at - unheard_s, None
    if not keep.all():
        state.retain(keep)
        moved = np.where(keep, np.cumsum(keep) - 1, -1)
    _drop_hosts(state, at - unheard_s)
    _compact(state, at)
    return moved


def _drop_hosts(state: FabricState, since_s: int) -> None:
    """Drop hosts without a path and without a sign of life since then.

    Hosts of a silent pod or fabric stay for a day: its outage ends when half of them are back.
    """
    keep = state.hosts.heard(since_s)
    keep[state.columns.hosts.ravel()] = True
    all_of_it = component("fabric", state.fabric) in state.silent_scopes
    missed = state.hosts.heard(since_s - state.options.retention.outage_s)
    for code in np.flatnonzero(~keep & missed).tolist():
        pod = state.pods.get(state.hosts.names[code])
        dead = pod is not None and component("pod", pod) in state.silent_scopes
        keep[code] = all_of_it or dead
    if not keep.all():
        state.columns.renumber_hosts(np.cumsum(keep) - 1)
        state.hosts.retain(keep)
        state.inventory.retain_hosts(state.hosts.names)
    if state.silent_scopes:  # a pod may have lost its hosts or changed its name
        scopes = {component("pod", pod) for pod in state.pods.values()}
        state.silent_scopes &= scopes | {component("fabric", state.fabric)}


def _compact(state: FabricState, second: int) -> None:
    """Drop texts, switches, jobs and whatever else no path needs any more."""
    state.incidence.drop_waiting_routes()
    boxes = state.index.tables["node_id"]
    state.placements.drop_old(second, boxes)
    state.maintenance.drop_ended(second)
    state.inventory.retain_containers(boxes, state.placements)
    if state.index.compact(always=state.incidence.wasteful):
        paths = state.index.paths
        state.incidence = state.incidence.rebuilt(paths)
        state.columns.recode(paths)
        state.forget_classes()
