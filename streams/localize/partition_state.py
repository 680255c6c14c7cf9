"""One assigned partition of skh.windows: its fabrics, and which messages may be committed."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from streams.localize.fabric import Fabric
from streams.localize.retention import RETENTION, idle_limit_s


class PendingWindow(NamedTuple):
    """A message that is not acknowledged, because its fabric's history may need it again.

    fabric     empty when the message is of none; end_s: its event time [s]
    arrival_s  when it arrived [s since the epoch]
    event      acknowledges its batch, of which it is the last message; None: it is not
    """

    offset: int
    fabric: str
    end_s: int
    arrival_s: float
    event: Any


@dataclass(slots=True)
class PartitionState:
    """State of a partition from its assignment to its revocation.

    evicted    names of fabrics that were evicted, in order
    arrival_s  when its newest message arrived [s since the epoch]
    """

    fabrics: dict[str, Fabric] = field(default_factory=dict)
    evicted: dict[str, None] = field(default_factory=dict)
    pending: deque[PendingWindow] = field(default_factory=deque)
    arrival_s: float = 0.0

    def evict_idle(self) -> None:
        """Evict fabrics without measurements; the only fabric of a partition stays."""
        for fabric in list(self.fabrics.values()):
            if len(self.fabrics) > 1 and self._idle(fabric):
                fabric.cancel()
                del self.fabrics[fabric.name]
                self.evicted[fabric.name] = None
                if len(self.evicted) > RETENTION.evicted:
                    del self.evicted[next(iter(self.evicted))]

    def _idle(self, fabric: Fabric) -> bool:
        if fabric.rebuilding or fabric.localizer is None:
            return False
        idle_s = self.arrival_s - fabric.arrival_s
        return idle_s > idle_limit_s(fabric.localizer.open_incidents)

    def acknowledge(self) -> None:
        """Acknowledge messages that no fabric's history needs any more."""
        while self.pending:
            head = self.pending[0]
            fabric = self.fabrics.get(head.fabric)
            old = fabric is None or head.end_s < fabric.newest_s - RETENTION.lookback_s
            # A fabric that fell silent must not hold back the commit of the others for ever.
            since_s = self.arrival_s - 2 * RETENTION.lookback_s
            if not old and head.fabric and head.arrival_s > since_s:
                return
            self.pending.popleft()
            if head.event is not None:
                head.event.ack()

    def cancel(self) -> None:
        """Give up rebuilding localizers."""
        for fabric in self.fabrics.values():
            fabric.cancel()
