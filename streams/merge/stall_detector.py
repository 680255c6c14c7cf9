"""Which partitions are stuck: they have more to read and do not come, while others do. Pure.

A worker that gets little CPU, collects garbage or judges a hard second is late with everything,
and waiting costs nothing then. A partition is given up on when the others have read all that the
broker had of them when it came last, and go on bringing newer messages without it. So the time of
the wall alone gives up on nobody, nor does a backlog that is read one partition after another.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

#: Time that others spend bringing newer messages until a partition is stuck [s] ...
PATIENCE_S: Final = 5.0
#: ... of which one look at newer messages counts at most this. Time in which the worker did not get
#: to look is no partition's fault; and a burst of looks takes no time.
STEP_S: Final = 0.5

Key = tuple[str, int]  # topic, partition


class PartitionProgress(NamedTuple):
    """A partition of this worker.

    position  offset of the next message to come; end: one past the last that the broker has
    behind    more is to come, or the broker cannot say
    front_s   event time that it has come to [s]
    """

    position: int
    end: int
    behind: bool
    front_s: int


@dataclass(slots=True)
class _Wait:
    """For one partition since it came last: where the others ended then, and what they did."""

    position: int
    ends: dict[Key, int]
    counted_s: float
    spent_s: float = 0.0


@dataclass(slots=True)
class StallDetector:
    """Remembers who came when; ``stuck`` are left out until they come again."""

    stuck: set[Key] = field(default_factory=set)
    _waits: dict[Key, _Wait] = field(default_factory=dict)
    _positions: dict[Key, int] = field(default_factory=dict)

    def look(self, now_s: float, standings: Mapping[Key, PartitionProgress]) -> list[Key]:
        """Take note of where everybody is; returns those who have become stuck just now.

        now_s      any clock that does not run back [s]
        standings  all partitions of this worker
        """
        came = [
            key for key, at in standings.items()
            if at.position > self._positions.get(key, at.position)
        ]  # fmt: skip
        self._positions = {key: at.position for key, at in standings.items()}
        for gone in [key for key in self._waits if key not in standings]:
            self._come(gone)
        found = []
        for key, at in standings.items():
            wait = self._waits.get(key)
            if wait is None or wait.position != at.position or not at.behind:
                self._come(key)
                if at.behind:
                    ends = {other: each.end for other, each in standings.items()}
                    self._waits[key] = _Wait(at.position, ends, now_s)
                continue
            if not any(
                standings[other].position > wait.ends.setdefault(other, standings[other].end)
                for other in came
            ):
                continue
            wait.spent_s += min(now_s - wait.counted_s, STEP_S)
            wait.counted_s = now_s
            if wait.spent_s >= PATIENCE_S and key not in self.stuck:
                self.stuck.add(key)
                found.append(key)
        return found

    def _come(self, key: Key) -> None:
        self._waits.pop(key, None)
        self.stuck.discard(key)
