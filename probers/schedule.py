"""When to probe what: spread over the interval, with jitter, without drift."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from time import monotonic_ns
from typing import Final

from probers.flow import FiveTuple
from probers.loop import Loop

#: Turns are aligned to this grid, so that probes due at about the same time share a wake-up: at
#: 128 probes a second that halves the CPU time of an agent, and times are the kernel's anyway.
GRID_NS: Final = 50_000_000
JITTER: Final = 0.1  # of the interval


class Schedule:
    """Fires every flow once per interval.

    Flow i of n has the phase i/n (in random order); turn k of it is due at start + (phase + k) x
    interval + a random share of the jitter, so an error in one turn never moves the next. Turns
    missed because the process was stopped are skipped, not made up for.
    """

    def __init__(self, loop: Loop, fire: Callable[[FiveTuple], None], random: Random) -> None:
        self._loop, self._fire, self._random = loop, fire, random
        self._generation = 0

    def replace(
        self, flows: Sequence[FiveTuple], interval_s: float, first_within_s: float | None = None
    ) -> None:
        """Fire these from now on and no others; their first turns are spread over
        ``first_within_s`` (default: the interval)."""
        self._generation += 1
        start, interval = monotonic_ns(), int(interval_s * 1e9)
        first = int((first_within_s if first_within_s is not None else interval_s) * 1e9)
        for index, flow in enumerate(self._random.sample(flows, len(flows))):
            phase = index / len(flows)
            base = start + int(phase * interval)
            self._arm(flow, self._generation, base, interval, start + int(phase * first))

    def _arm(self, flow: FiveTuple, generation: int, base: int, interval: int, due: int) -> None:
        def turn() -> None:
            if generation != self._generation:
                return
            self._fire(flow)
            next_turn = base + ((monotonic_ns() - base) // interval + 1) * interval
            jitter = self._random.uniform(0, JITTER * interval)
            self._arm(flow, generation, base, interval, next_turn + int(jitter))

        self._loop.at(-(-due // GRID_NS) * GRID_NS, turn)
