"""When each five-tuple is probed: spread over the interval, with jitter, without drift."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from random import Random
from time import monotonic_ns
from typing import Final

from probers.net.five_tuple import FiveTuple
from probers.process.loop import COARSE_NS, GRID_NS, Loop, on_grid

JITTER: Final = 0.1  # of the interval
_LONG_INTERVAL_NS: Final = 16 * COARSE_NS


@dataclass(slots=True)
class _Turn:
    """A flow's next turn. Turns are counted from ``base_ns`` [monotonic ns]."""

    flow: FiveTuple
    base_ns: int
    due_ns: int


class Schedule:
    """Calls ``fire`` for every flow once per interval.

    Flow i of n has the phase i/n (in random order); its turn k is due at start + (phase + k) x
    interval + a random part of the jitter, so a late turn does not move the next one. Turns missed
    while the process was stopped are skipped, not made up for. A flow that stays when the list is
    replaced keeps its turns, however often that happens.
    """

    def __init__(
        self,
        loop: Loop,
        fire: Callable[[FiveTuple], None],
        random: Random,
        now: Callable[[], int] = monotonic_ns,
    ) -> None:
        """``now``: the loop's clock [monotonic ns]."""
        self._loop, self._fire, self._random, self._now = loop, fire, random, now
        self._heap: list[tuple[int, int, _Turn]] = []
        self._order = count()
        self._interval_ns, self._grid_ns = 0, GRID_NS
        self._armed_ns: int | None = None
        self._timer = 0  # number of the one valid timer; those armed before it do nothing

    def __len__(self) -> int:
        return len(self._heap)

    def replace(
        self, flows: Sequence[FiveTuple], interval_s: float, first_within_s: float | None = None
    ) -> None:
        """Fire these flows and no others from now on.

        The first turns of new flows are spread over ``first_within_s`` (default: the interval).
        When the interval changes, all flows are new.
        """
        start_ns, interval_ns = self._now(), int(interval_s * 1e9)
        first_ns = int((first_within_s if first_within_s is not None else interval_s) * 1e9)
        same_interval = interval_ns == self._interval_ns
        known = {turn.flow: turn for *_, turn in self._heap} if same_interval else {}
        self._heap.clear()
        self._interval_ns = interval_ns
        self._grid_ns = COARSE_NS if interval_ns >= _LONG_INTERVAL_NS else GRID_NS
        fresh = []
        for flow in flows:
            if (turn := known.pop(flow, None)) is None:
                fresh.append(flow)
            else:
                self._push(_Turn(flow, turn.base_ns, turn.due_ns))
        for index, flow in enumerate(self._random.sample(fresh, len(fresh))):
            phase = index / len(fresh)
            base_ns = start_ns + int(phase * interval_ns)
            self._push(_Turn(flow, base_ns, start_ns + int(phase * first_ns)))
        self._arm()

    def _push(self, turn: _Turn) -> None:
        heapq.heappush(self._heap, (turn.due_ns, next(self._order), turn))

    def _arm(self) -> None:
        if not self._heap:
            return
        due_ns = on_grid(self._heap[0][0], self._grid_ns)
        if self._armed_ns is not None and self._armed_ns <= due_ns:
            return
        self._armed_ns = due_ns
        self._timer += 1
        timer = self._timer
        self._loop.call_at(due_ns, lambda: self._fire_due(timer))

    def _fire_due(self, timer: int) -> None:
        if timer != self._timer:
            return
        self._armed_ns = None
        now_ns, interval_ns = self._now(), self._interval_ns
        until_ns = now_ns - now_ns % self._grid_ns  # what is due by then is due on the grid now
        try:
            while self._heap and self._heap[0][0] <= until_ns:
                turn = self._heap[0][2]
                passed = (now_ns - turn.base_ns) // interval_ns
                jitter_ns = int(self._random.random() * JITTER * interval_ns)
                turn.due_ns = turn.base_ns + (passed + 1) * interval_ns + jitter_ns
                heapq.heapreplace(self._heap, (turn.due_ns, next(self._order), turn))
                self._fire(turn.flow)
        finally:
            self._arm()
