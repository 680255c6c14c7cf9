"""What the demo has played, and what the worker has made of it so far."""

from __future__ import annotations

from dataclasses import dataclass, field

from schemas.documents.incident import Incident
from skeletonhunter.embedded.rounds import Rounds
from testbed.scoring.score import Score, score
from testbed.simulator.simulator import Simulation


@dataclass
class DemoState:
    """Progress of a demo, in event time since the start of the simulation.

    length_s    length of the scenario, in event time [s]
    duration_s  length of the demo, in wall time [s]
    now_s       played so far [s]; below 0 while jobs start and skeletons are found
    records     ping records played so far [count]
    judged_s    judged so far [s]
    waited_s    wall time that the demo waited for the worker [s]
    incidents   newest version of each incident, by id
    rounds      probes in a round of the ping lists
    """

    simulation: Simulation
    length_s: int
    duration_s: float
    now_s: float = 0.0
    records: int = 0
    judged_s: float = 0.0
    waited_s: float = 0.0
    incidents: dict[str, Incident] = field(default_factory=dict)
    rounds: Rounds = field(default_factory=lambda: Rounds(0))

    @property
    def speed(self) -> float:
        """Event seconds per second."""
        return self.length_s / self.duration_s

    @property
    def event_ms(self) -> int:
        """Present event time [ms since the epoch]: the clock of the demo's controller."""
        return self.simulation.start_ns // 1_000_000 + round(self.now_s * 1000)

    @property
    def lag_s(self) -> float:
        """Event seconds that are played and not yet judged."""
        return self.now_s - self.judged_s

    def score(self) -> Score:
        """Incidents against the faults so far."""
        return score(self.simulation.truths(int(self.now_s)), self.incidents.values())
