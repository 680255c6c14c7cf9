"""Detects stalled partitions: they have unread messages and do not advance, while others do.

No I/O. A worker that gets little CPU, collects garbage or judges a hard second is late with all of
its partitions, and waiting costs nothing then. A partition is stalled when the others have read
everything that the broker had of them when it last advanced, and then spend ``stall_s`` reading
newer messages without it. So neither elapsed time alone makes a partition stalled, nor a backlog
that is read one partition after another.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from streams.merge.event_time_merge import Partition
from streams.merge.parameters import MERGE, MergeParameters


class PartitionProgress(NamedTuple):
    """How far one partition of this worker is read.

    position      offset of the next message to come; end: one past the broker's last message
    has_more      messages are still to come, or the broker does not answer
    event_time_s  event time that the partition has reached [s]
    """

    position: int
    end: int
    has_more: bool
    event_time_s: int


@dataclass(slots=True)
class _Wait:
    """Of a partition since it last advanced: where the others ended then, and the time spent."""

    position: int
    ends: dict[Partition, int]
    counted_s: float
    spent_s: float = 0.0


@dataclass(slots=True)
class StallDetector:
    """``stalled`` holds the partitions that are stalled; one leaves it when it advances."""

    parameters: MergeParameters = MERGE
    stalled: set[Partition] = field(default_factory=set)
    _waits: dict[Partition, _Wait] = field(default_factory=dict)
    _positions: dict[Partition, int] = field(default_factory=dict)

    def update(
        self, now_s: float, progress: Mapping[Partition, PartitionProgress]
    ) -> list[Partition]:
        """Record the progress of all partitions; returns those that have become stalled.

        now_s     any clock that does not run back [s]
        progress  of all partitions of this worker
        """
        advanced = [
            key for key, each in progress.items()
            if each.position > self._positions.get(key, each.position)
        ]  # fmt: skip
        self._positions = {key: each.position for key, each in progress.items()}
        for revoked in [key for key in self._waits if key not in progress]:
            self._reset(revoked)
        found = []
        for key, each in progress.items():
            wait = self._waits.get(key)
            if wait is None or wait.position != each.position or not each.has_more:
                self._reset(key)
                if each.has_more:
                    ends = {other: its.end for other, its in progress.items()}
                    self._waits[key] = _Wait(each.position, ends, now_s)
                continue
            if not any(
                progress[other].position > wait.ends.setdefault(other, progress[other].end)
                for other in advanced
            ):
                continue
            wait.spent_s += min(now_s - wait.counted_s, self.parameters.step_s)
            wait.counted_s = now_s
            if wait.spent_s >= self.parameters.stall_s and key not in self.stalled:
                self.stalled.add(key)
                found.append(key)
        return found

    def _reset(self, key: Partition) -> None:
        self._waits.pop(key, None)
        self.stalled.discard(key)
