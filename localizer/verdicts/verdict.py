"""A verdict: what a rule decided about one component in one second, with typed evidence.

Verdicts never change: rules build them, the incident tracker keeps or replaces them, and
``explanation.document`` renders their evidence for the incident document.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from schemas.component_ids import device, kind_of
from schemas.documents.incident import Direction, Layer, Symptom

I64 = npt.NDArray[np.int64]

Family = Literal["reachability", "latency", "drift", "agent"]
FAMILY: dict[Symptom, Family] = {
    "loss": "reachability",
    "unconnectivity": "reachability",
    "high_latency": "latency",
    "agent_down": "agent",
    "agent_starved": "agent",
    "host_down": "agent",
    "clock_skewed": "agent",
}


class Beside(NamedTuple):
    """Components of open incidents, seen from one that loses.

    apart  they lose as well
    idle   they lose nothing besides: what was taken for their loss is its
    """

    apart: frozenset[str] = frozenset()
    idle: frozenset[str] = frozenset()


NOTHING_BESIDE: Final = Beside()


class Contrast(NamedTuple):
    """Bad and good probed paths, and those among them that cross the component [count]."""

    bad_crossing: int
    bad: int
    good_crossing: int
    good: int


@dataclass(frozen=True, slots=True)
class Measured:
    """What the probes of an attributed verdict show.

    contrast      bad and good paths
    layers        probes through the component by layer: {"overlay": {"sent": ..., "lost": ...}}
    effect        loss [1] or added latency [us]
    window_s      seconds that were compared
    source_hosts  hosts that see it [count]
    examples      a few bad paths by name
    lof           median Local Outlier Factor of the bad paths; None where there is none
    """

    contrast: Contrast
    layers: dict[str, dict[str, int]]
    effect: float
    window_s: int
    source_hosts: int
    examples: list[str]
    lof: float | None = None


class Drifted(NamedTuple):
    """A round trip that has grown by so much [%] in so many hours."""

    percent: float
    hours: float


class Untraced(NamedTuple):
    """Paths whose routes are not traced, among those that speak for the component [count]."""

    paths: int
    of: int

    @property
    def warning(self) -> str:
        return (
            f"routes of {self.paths:,} of {self.of:,} paths are not traced; pass --topology or wait"
        )


@dataclass(frozen=True, slots=True)
class IssueTypes:
    """Which issue types of the catalogue a verdict may be.

    stated       the type that is clear enough to be reported alone; None: none is
    probability  type -> probability, likeliest first, to 3 digits; the likeliest four
    flapping     whether the trouble comes and goes; None where that cannot be said
    """

    stated: str | None = None
    probability: dict[str, float] = field(default_factory=dict)
    flapping: bool | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """One culprit, with the evidence.

    tie_set     component and all that probes cannot tell from it, likeliest first
    p_value     of the test that decided, corrected; 1 where a rule did, which is no test
    confidence  probability that the component is the culprit
    bad         (n,) rows of the bad paths that it explains, sorted
    total       paths that cross the component [count]
    first_s     first second with one of their losses
    earliest_s  second from which on the component may have been bad, by its other paths; None: not
                asked
    effect      loss [1] or added latency [us]; 0 for a verdict by rule
    text        the evidence in one sentence, for people
    direction   of a link: the one way that packets are hurt, or both
    covers      components whose own incidents this one explains
    contains    components all of whose paths cross this one; None: not asked
    rivals      members of the tie set that probes will tell from the component, but have not yet
    denied      rivals that the probes since the trouble began deny to be its only cause
    beside      what becomes of open incidents on other components
    others      members of other classes that may be the culprit, likeliest first, each with its
                probability: what an incident that opens now leaves open
    undecided   members of an incident's tie set that were among the others as it opened, and that
                its evidence has not ruled out since
    possible    components besides the tie set that untraced routes leave open
    instead_of  component that too few source hosts see at fault: the verdict is about the host
                that complains; None: enough do
    issue       issue types that it may be
    tie_set_probability  of each component that it may be; empty where that is only one
    alternatives         other classes, by their first member, and their probabilities
    five_tuples          share of the five-tuples through the component that are hurt [1]; None: all
    drifted              of a slow drift: how far
    untraced             routes that are not known; None: all that matter are
    hosts       of a scope outage: its hosts
    renewal_s   seconds in which its evidence renews itself: less often it cannot be seen again
    crowded     its window holds many culprits, and each has bad paths of its own
    measured    what probes show; None for a verdict by rule
    restored    evidence that a former process wrote, which is written again as it is
    """

    component: str
    tie_set: list[str]
    layer: Layer
    symptom: Symptom
    p_value: float
    confidence: float
    bad: I64
    total: int
    first_s: int
    effect: float = 0.0
    text: str = ""
    direction: Direction = "both"
    covers: frozenset[str] = frozenset()
    contains: frozenset[str] | None = None
    rivals: frozenset[str] = frozenset()
    denied: frozenset[str] = frozenset()
    beside: Beside = NOTHING_BESIDE
    others: Mapping[str, float] = field(default_factory=dict)
    undecided: frozenset[str] = frozenset()
    possible: list[str] = field(default_factory=list)
    instead_of: str | None = None
    issue: IssueTypes = IssueTypes()
    tie_set_probability: dict[str, float] = field(default_factory=dict)
    alternatives: dict[str, float] = field(default_factory=dict)
    five_tuples: float | None = None
    drifted: Drifted | None = None
    untraced: Untraced | None = None
    hosts: list[str] = field(default_factory=list)
    renewal_s: int = 1
    crowded: bool = False
    earliest_s: int | None = None
    measured: Measured | None = None
    restored: dict[str, object] | None = None

    @property
    def kind(self) -> str:
        """Kind of the component."""
        return kind_of(self.component)

    @property
    def family(self) -> Family:
        """Verdicts of one family on one component are one incident."""
        return "drift" if self.drifted is not None else FAMILY[self.symptom]

    @property
    def lone_witness(self) -> bool:
        """Too few hosts see it: the verdict is about the host that complains."""
        return self.instead_of is not None

    @property
    def names(self) -> set[str]:
        """The component, and the one that too few source hosts see at fault."""
        return {self.component, self.instead_of or self.component}

    @property
    def devices(self) -> set[str]:
        """``names``, the same whatever tier a switch is taken to be of."""
        return {device(name) for name in self.names}

    @property
    def tied(self) -> list[str]:
        """All that it may be: the tie set, and what untraced routes leave open."""
        return [*self.tie_set, *self.possible]

    @property
    def tied_devices(self) -> set[str]:
        """``tied``, the same whatever tier a switch is taken to be of."""
        return {device(name) for name in self.tied}

    def about(self, name: str) -> Verdict:
        """The verdict with another member of its tie set as the component."""
        return replace(self, component=name, confidence=self.confidence_in(name))

    def confidence_in(self, name: str) -> float:
        """Probability that a member of the tie set is the culprit."""
        if name == self.component:
            return self.confidence
        return self.tie_set_probability.get(name, self.confidence)
