"""What the demo has played, and what the worker has made of it so far."""

from __future__ import annotations

from dataclasses import dataclass, field

from schemas.documents.incident import Incident
from skeletonhunter.embedded.pace import Pace
from skeletonhunter.embedded.rounds import Rounds
from testbed.scoring.score import Score, score
from testbed.simulator.simulator import Simulation


@dataclass
class DemoState:
    """Progress of a demo, in event time since the start of the simulation.

    pace        how fast event time runs
    now_s       played so far [s]; below 0 while jobs start and skeletons are found
    records     ping records played so far [count]
    judged_s    judged so far [s]
    played_s    wall time that playing has taken, with waiting [s]
    waited_s    wall time of it that the demo waited for the worker and the sink [s]
    incidents   newest version of each incident, by id
    rounds      probes in a round of the ping lists
    """

    simulation: Simulation
    pace: Pace
    now_s: float = 0.0
    records: int = 0
    judged_s: float = 0.0
    played_s: float = 0.0
    waited_s: float = 0.0
    incidents: dict[str, Incident] = field(default_factory=dict)
    rounds: Rounds = field(default_factory=lambda: Rounds(0))

    @property
    def length_s(self) -> int:
        """Length of the scenario, in event time [s]."""
        return self.pace.length_s

    @property
    def speed(self) -> float:
        """Event seconds per second at present."""
        return self.pace.speed(self.now_s)

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
