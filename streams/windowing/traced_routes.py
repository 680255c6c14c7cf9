"""Holds traceroutes until the pane of their second closes, so that replays publish the same."""

from __future__ import annotations

from collections import defaultdict

from streams.windowing.records import Route
from streams.windowing.windower import SECOND


class OpenRoutes:
    """Routes by second; records = judged + late + duplicate + held."""

    def __init__(self) -> None:
        self.records = self.judged = self.late = self.duplicate = 0
        self._open: defaultdict[int, dict[tuple[int, int], Route]] = defaultdict(dict)
        self._next_s = 0

    def add(self, route: Route) -> None:
        """Hold a route until its second closes; a copy of a held route is a duplicate."""
        self.records += 1
        second = route.time_ns // SECOND
        key = (route.path_id, route.time_ns)
        if second < self._next_s:
            self.late += 1
        elif key in self._open[second]:
            self.duplicate += 1
        else:
            self._open[second][key] = route

    def close(self, until_s: int, limit_s: int) -> list[tuple[int, list[Route]]]:
        """Routes of the seconds before ``until_s``; those at or after ``limit_s`` are dropped."""
        closed = []
        for second in sorted(self._open):
            held = self._open[second]
            if second < until_s:
                self.judged += len(held)
                closed.append((second, [held[key] for key in sorted(held)]))
            elif second > limit_s:  # a clock far ahead must not hold back the commit
                self.late += len(held)
            else:
                continue
            del self._open[second]
        self._next_s = max(self._next_s, until_s)
        return closed

    def needed_offset(self, otherwise: int) -> int:
        """Lowest offset of a held route; ``otherwise`` when none is held."""
        return min((r.offset for held in self._open.values() for r in held.values()),
                   default=otherwise)  # fmt: skip

    def held(self) -> int:
        """Routes of seconds that have not closed [count]."""
        return sum(len(held) for held in self._open.values())
