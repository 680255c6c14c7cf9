"""Loss baselines: the healthy loss of a round trip, and the past losses of each class.

A link may lose one probe in a thousand for months and be healthy. So a gray loss shows in the rise
above the class's own past, not in the difference to other classes.
"""

from __future__ import annotations

from collections import deque
from copy import copy
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from schemas.parameters.parameter import parameter

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class LossBaselineParameters:
    """Prior and memory of the baseline.

    memory_s         time after which an observation counts for 1/e
    least_rate       the baseline is never taken to be cleaner: it guards the first minutes
    prior_probes     probes that the prior is worth
    least_expected   losses that must be expected of a component for its dispersion to count
    dispersion_step  weight of the newest pane in the dispersion
    most_dispersed   one pane counts for no more than this ratio
    probation_s      a pane is learnt so much later, and not if a verdict says meanwhile that
                     something lost packets then; the first ones of all are learnt at once
    """

    memory_s: float = parameter(
        600.0, unit="s", source="chosen: pytest tests/localizer/baselines (loss)"
    )
    least_rate: float = parameter(
        2e-4, unit="1", source="chosen: pytest tests/localizer/detectors (clean weather)"
    )
    prior_probes: float = parameter(
        1e4, unit="probes", source="chosen: pytest tests/localizer/baselines (loss)"
    )
    least_expected: float = parameter(
        0.05, unit="probes", source="chosen: pytest tests/localizer/baselines (loss)"
    )
    dispersion_step: float = parameter(
        0.01, unit="1", source="chosen: pytest tests/localizer/baselines (loss)"
    )
    most_dispersed: float = parameter(
        100.0, unit="1", source="chosen: pytest tests/localizer/baselines (one wild pane)"
    )
    probation_s: int = parameter(
        60, unit="s", source="chosen: most losses of 5 % in one direction are named by then"
    )


DEFAULT: Final = LossBaselineParameters()


@dataclass(frozen=True, slots=True)
class HealthyLoss:
    """Counts of a second without loss verdicts, for the loss baseline.

    sent, lost              of the fabric [count]
    class_sent, class_lost  (K,) pooled per observability class [count]
    """

    sent: float
    lost: float
    class_sent: F64
    class_lost: F64


class LossBaseline:
    """Healthy loss of a round trip and its over-dispersion.

    rate        mean loss probability [1], exponentially weighted
    dispersion  variance of pooled counts over the binomial's, >= 1: congestion is correlated
    """

    def __init__(self, parameters: LossBaselineParameters = DEFAULT) -> None:
        self._parameters = parameters
        self._decay = float(np.exp(-1.0 / parameters.memory_s))
        self._lost = parameters.least_rate * parameters.prior_probes
        self._sent = parameters.prior_probes
        self._ratio = 1.0

    @property
    def rate(self) -> float:
        return max(self._lost / self._sent, self._parameters.least_rate)

    @property
    def dispersion(self) -> float:
        return max(1.0, self._ratio)

    def copy(self) -> LossBaseline:
        """Another one that has learnt the same."""
        return copy(self)

    def learn(self, sent: float, lost: float, each_sent: F64, each_lost: F64) -> None:
        """Add one healthy pane.

        sent, lost            probes of the fabric
        each_sent, each_lost  (C,) pooled per component
        """
        self._lost = self._decay * self._lost + lost
        self._sent = self._decay * self._sent + sent
        expected = each_sent * self.rate
        if (heavy := expected > self._parameters.least_expected).any():
            square = (each_lost[heavy] - expected[heavy]) ** 2 / expected[heavy]
            newest = float(np.minimum(square, self._parameters.most_dispersed).mean())
            step = self._parameters.dispersion_step
            self._ratio = (1.0 - step) * self._ratio + step * newest


class _Waiting(NamedTuple):
    """A second that seems healthy.

    sent, lost, class_sent  as of ``HealthyLoss``
    losers, lost_each       (n,) the few classes that lost anything, and what each lost
    early                   among the first ones of all
    """

    second: int
    sent: float
    lost: float
    class_sent: F64
    losers: I64
    lost_each: F64
    early: bool

    @classmethod
    def of(cls, second: int, healthy: HealthyLoss, *, early: bool) -> _Waiting:
        losers = np.flatnonzero(healthy.class_lost)
        return cls(
            second, healthy.sent, healthy.lost, healthy.class_sent,
            losers, healthy.class_lost[losers], early,
        )  # fmt: skip

    def teach(self, baseline: LossBaseline) -> None:
        """Let a baseline learn the second."""
        class_lost = np.zeros(len(self.class_sent))
        class_lost[self.losers] = self.lost_each
        baseline.learn(self.sent, self.lost, self.class_sent, class_lost)


class LearntLoss:
    """The loss baseline, and the seconds that seem healthy until they are old enough to be learnt.

    A fault that is not named yet would raise the baseline so that it is never named. The first
    seconds of all are learnt at once, since a prior is all that is known else; what a verdict says
    of them later is taken back: a worker may start in the midst of a fault.

    baseline  what tests compare with now
    """

    def __init__(self, parameters: LossBaselineParameters = DEFAULT) -> None:
        self._probation_s = parameters.probation_s
        self._proven = LossBaseline(parameters)
        self._waiting: deque[_Waiting] = deque()
        self._first_s: int | None = None
        self.baseline = self._proven

    def add(self, second: int, healthy: HealthyLoss) -> None:
        """Add a second without loss verdicts; those that are old enough are learnt."""
        if self._first_s is None:
            self._first_s = second
        early = second - self._first_s < self._probation_s
        self._waiting.append(_Waiting.of(second, healthy, early=early))
        if early:
            if self.baseline is self._proven:
                self.baseline = self._proven.copy()
            self._waiting[-1].teach(self.baseline)
        while self._waiting[0].second < second - self._probation_s + 1:
            self._waiting.popleft().teach(self._proven)
        if not self._waiting[0].early:
            self.baseline = self._proven

    def drop_since(self, second: int) -> None:
        """Something has lost packets since then: these seconds were not healthy."""
        early = False
        while self._waiting and self._waiting[-1].second >= second:
            early |= self._waiting.pop().early
        if early:
            self.baseline = self._proven.copy()
            for each in self._waiting:
                each.teach(self.baseline)


@dataclass(frozen=True, slots=True)
class ClassLossParameters:
    """memory_s  time after which an observation counts for 1/e"""

    memory_s: float = parameter(
        14_400.0, unit="s", source="chosen: hours, so that a day's rhythm is followed"
    )


CLASS_DEFAULT: Final = ClassLossParameters()


class ClassLoss:
    """Probes sent and lost through each class in the past, and in the whole fabric.

    A class is known by its first member; classes that are grouped anew begin without a past.
    """

    def __init__(self, parameters: ClassLossParameters = CLASS_DEFAULT) -> None:
        self._parameters = parameters
        self._row: dict[str, int] = {}
        self._sent: F64 = np.zeros(0)
        self._lost: F64 = np.zeros(0)
        self.fabric_sent = self.fabric_lost = 0.0

    def learn(
        self, names: list[str], seconds: int, sent: F64, lost: F64, fabric: tuple[float, float]
    ) -> None:
        """Add what was sent and lost in so many seconds.

        names  (K,) first members; sent, lost (K,) pooled, 0 for classes that are not to learn
        fabric  sent and lost over all paths
        """
        self._align(names)
        decay = float(np.exp(-seconds / self._parameters.memory_s))
        self._sent = decay * self._sent + sent
        self._lost = decay * self._lost + lost
        self.fabric_sent = decay * self.fabric_sent + fabric[0]
        self.fabric_lost = decay * self.fabric_lost + fabric[1]

    def of(self, names: list[str]) -> tuple[F64, F64]:
        """(K,) probes sent and lost of each class, by its first member."""
        self._align(names)
        return self._sent, self._lost

    def _align(self, names: list[str]) -> None:
        if list(self._row) == names:
            return
        at = np.array([self._row.get(name, -1) for name in names], np.int64)
        for field in ("_sent", "_lost"):
            values = np.append(getattr(self, field), 0.0)
            setattr(self, field, values[at])
        self._row = {name: row for row, name in enumerate(names)}
