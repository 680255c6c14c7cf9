"""When to probe what: spread over the interval, with jitter, without drift."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from random import Random
from time import monotonic_ns
from typing import Final

from probers.net.five_tuple import FiveTuple
from probers.probing.loop import Loop

#: Turns are aligned to this grid, so that probes due at about the same time share a wake-up: at
#: 128 probes a second that halves the CPU time of an agent, and times are the kernel's anyway.
GRID_NS: Final = 50_000_000
JITTER: Final = 0.1  # of the interval


@dataclass(slots=True)
class _Turn:
    """A flow's next turn: ``due``, and ``base`` from which its turns are counted [monotonic ns]."""

    flow: FiveTuple
    base: int
    due: int


class Schedule:
    """Fires every flow once per interval.

    Flow i of n has the phase i/n (in random order); turn k of it is due at start + (phase + k) x
    interval + a random share of the jitter, so an error in one turn never moves the next. Turns
    missed because the process was stopped are skipped, not made up for. A flow that stays when
    the others are replaced keeps its turns, however often that happens.
    """

    def __init__(self, loop: Loop, fire: Callable[[FiveTuple], None], random: Random) -> None:
        self._loop, self._fire, self._random = loop, fire, random
        self._heap: list[tuple[int, int, _Turn]] = []
        self._order = count()
        self._interval = 0
        self._armed_at: int | None = None
        self._token = 0  # of the one timer that counts; those armed before it do nothing

    def __len__(self) -> int:
        return len(self._heap)

    def replace(
        self, flows: Sequence[FiveTuple], interval_s: float, first_within_s: float | None = None
    ) -> None:
        """Fire these from now on and no others; the first turns of new ones are spread over
        ``first_within_s`` (default: the interval). Another interval makes all of them new."""
        start, interval = monotonic_ns(), int(interval_s * 1e9)
        first = int((first_within_s if first_within_s is not None else interval_s) * 1e9)
        known = {turn.flow: turn for *_, turn in self._heap} if interval == self._interval else {}
        self._heap.clear()
        self._interval = interval
        fresh = []
        for flow in flows:
            if (turn := known.pop(flow, None)) is None:
                fresh.append(flow)
            else:
                self._push(_Turn(flow, turn.base, turn.due))
        for index, flow in enumerate(self._random.sample(fresh, len(fresh))):
            phase = index / len(fresh)
            base = start + int(phase * interval)
            self._push(_Turn(flow, base, start + int(phase * first)))
        self._arm()

    def _push(self, turn: _Turn) -> None:
        heapq.heappush(self._heap, (turn.due, next(self._order), turn))

    def _arm(self) -> None:
        if not self._heap:
            return
        at = _on_grid(self._heap[0][0])
        if self._armed_at is not None and self._armed_at <= at:
            return
        self._armed_at = at
        self._token += 1
        token = self._token
        self._loop.at(at, lambda: self._wake(token))

    def _wake(self, token: int) -> None:
        if token != self._token:
            return
        self._armed_at = None
        now = monotonic_ns()
        try:
            while self._heap and _on_grid(self._heap[0][0]) <= now:
                turn = heapq.heappop(self._heap)[2]
                passed = (monotonic_ns() - turn.base) // self._interval
                jitter = self._random.uniform(0, JITTER * self._interval)
                turn.due = turn.base + (passed + 1) * self._interval + int(jitter)
                self._push(turn)
                self._fire(turn.flow)
        finally:
            self._arm()


def _on_grid(due: int) -> int:
    return -(-due // GRID_NS) * GRID_NS
