"""How fast the demo's event time runs: fast until the first fault is near, then evenly."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from testbed.faults.kinds import Fault

#: Event seconds per second at most; beyond, two cores no longer keep up.
FASTEST: Final = 12.0
#: Event seconds per second before the first fault. At ``FASTEST``, beside another demo on two
#: cores, the embedded broker dropped messages of ``skh.windows`` before the sink read them.
_LEAD_SPEED: Final = 8.0
#: Event time before the first fault from which the pace is even [s].
_BEFORE_FAULT_S: Final = 5


@dataclass(frozen=True)
class Pace:
    """Event time of a scenario against wall time; raises ValueError if that is too short.

    length_s    length of the scenario, in event time [s]
    duration_s  wall time that it takes [s]: at least ``length_s / FASTEST``
    lead_s     event time that is played faster, from the start of the scenario [s]
    """

    length_s: int
    duration_s: float
    lead_s: int = 0

    def __post_init__(self) -> None:
        if self.length_s > self.duration_s * FASTEST:
            raise ValueError(f"{self.length_s} s of event time need more than {self.duration_s} s")

    @classmethod
    def until(cls, faults: Iterable[Fault], length_s: int, duration_s: float) -> Pace:
        """Fast until shortly before the first of the faults; without faults evenly."""
        first_s = min((each.start_s for each in faults), default=0)
        return cls(length_s, duration_s, max(0, first_s - _BEFORE_FAULT_S))

    @property
    def _lead_speed(self) -> float:
        """Event seconds per second before the faults: no fewer than an even pace has."""
        return max(_LEAD_SPEED, self.length_s / self.duration_s)

    @property
    def after_s(self) -> float:
        """Event seconds per second from ``lead_s`` on."""
        return (self.length_s - self.lead_s) / (self.duration_s - self.lead_s / self._lead_speed)

    def speed(self, event_s: float) -> float:
        """Event seconds per second at this event time."""
        return self._lead_speed if event_s < self.lead_s else self.after_s

    def wall_s(self, event_s: float) -> float:
        """Time since the start of the scenario at which an event time is due [s]."""
        before_s = min(event_s, self.lead_s)
        return before_s / self._lead_speed + (event_s - before_s) / self.after_s
