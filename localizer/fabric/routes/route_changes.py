"""Which routes are in doubt because others have changed. No I/O.

A drained switch or a new ECMP hash moves many five-tuples at once, but traceroutes show that one by
one, a minute apart. Until a five-tuple is traced again, its probes would speak for a route that
they do not take any more. So routes are in doubt that cross what others are leaving.

Example: of five-tuples over spine s1 three are traced again, now over s2. The change is no younger
than the first of these traceroutes, so all routes over s1 that were traced before that are in
doubt; one that was traced later is not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from localizer.fabric.key_index import pair_key
from localizer.fabric.parameters import ROUTE_CHANGES, RouteChangeParameters

Bool = npt.NDArray[np.bool_]
I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]
U64 = npt.NDArray[np.uint64]


#: Key of the fabric itself: what moves at all has left it.
EVERYTHING: Final = np.uint64(2**64 - 1)


@dataclass(slots=True)
class _Leaving:
    """What traceroutes show of one switch or link since ``since_s``, when a route first left it.

    left, stayed  five-tuples traced since then that crossed it before [count]
    newest_s      of the last traceroute that left it
    reported      it is left, and that has been returned
    """

    since_s: int
    newest_s: int
    left: int = 0
    stayed: int = 0
    reported: bool = False


class RouteChanges:
    """Switches and links that five-tuples are leaving.

    Keys are numbers: a switch the pair of itself, a link that of its switches; and the fabric.
    """

    def __init__(self, parameters: RouteChangeParameters = ROUTE_CHANGES) -> None:
        self._parameters = parameters
        self._leaving: dict[int, _Leaving] = {}

    def observe(self, second: int, before: I32, after: I32, traced_s: I64) -> dict[int, int]:
        """Learn routes of five-tuples that were traced before; returns what turns out to be left,
        once, and since when [s]: key -> second.

        before, after  (L, n) routes, -1 behind their end; traced_s (n,) when the former was traced
        """
        calm_s = self._parameters.calm_s
        moved = (before != after).any(axis=0)
        if not (self._leaving or moved.any()):
            return {}
        old, new = crossed(before), crossed(after[:, moved])
        gone = ~(old[:, None, moved] == new[None]).any(axis=1) & (old[:, moved] > 0)
        gone[0] = old[0, moved] > 0
        keys, at, count = np.unique(old[:, moved][gone], return_inverse=True, return_counts=True)
        traced = np.zeros(len(keys), np.int64)
        np.maximum.at(traced, at, np.broadcast_to(traced_s[moved], gone.shape)[gone])
        for key, newest, left in zip(keys.tolist(), traced.tolist(), count.tolist(), strict=True):
            known = self._leaving.get(key)
            if known is None or second - known.newest_s > calm_s or newest >= known.since_s:
                known = self._leaving[key] = _Leaving(second, second)
            known.left, known.newest_s = known.left + left, second
        known_keys = np.array([*self._leaving], np.uint64)
        stays = np.isin(old, known_keys)
        stays[:, moved] &= ~gone
        for key, stayed in zip(*np.unique(old[stays], return_counts=True), strict=True):
            self._leaving[int(key)].stayed += int(stayed)
        return {key: self._leaving[key].since_s for key in keys.tolist() if self._newly_left(key)}

    def _newly_left(self, key: int) -> bool:
        known, parameters = self._leaving[key], self._parameters
        share = known.left / (known.left + known.stayed)
        least = parameters.share_moved if key == int(EVERYTHING) else parameters.share_left
        if known.reported or known.left < parameters.least_left or share < least:
            return False
        known.reported = True
        return True

    def drop_old(self, second: int) -> None:
        """Drop what nothing has left for a while."""
        calm_s = self._parameters.calm_s
        self._leaving = {
            key: each for key, each in self._leaving.items() if second - each.newest_s <= calm_s
        }


def crossed(routes: I32) -> U64:
    """(2 L, n) keys of the fabric, the switches between the ToRs, and all links of some routes
    (L, n); 0 for none."""
    inner = routes.copy()
    last = np.maximum((routes >= 0).sum(axis=0) - 1, 0)
    inner[0], inner[last, np.arange(routes.shape[1])] = -1, -1  # no five-tuple leaves its ToR
    known = np.where(routes[:1] >= 0, EVERYTHING, np.uint64(0))
    low, high = np.sort(np.stack([routes[:-1], routes[1:]]), axis=0)
    links = np.where(low >= 0, pair_key(low, high) + np.uint64(1), np.uint64(0))
    switches = np.where(inner >= 0, pair_key(inner, inner) + np.uint64(1), np.uint64(0))
    return np.concatenate([known, switches, links])
