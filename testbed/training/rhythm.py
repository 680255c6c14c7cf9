"""When a job's traffic flows: cumulative curves of its kinds of traffic over time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]

#: Shares of a micro-batch: when its pulses begin and how long each lasts.
_FORWARD: Final = (0.30, 0.15)
_BACKWARD: Final = (0.80, 0.15)
_EXPERT: Final = (0.05, 0.60)


@dataclass(frozen=True, slots=True)
class Rhythm:
    """Iterations of a job.

    period_s        length of an iteration [s]
    jitter          standard deviation of an iteration's length, as a share of the period
    microbatches    per iteration, computed one after the other
    compute         share of the period in which micro-batches are computed
    reduce_s        length of the burst in which gradients are reduced [s]
    shift_s         each stage is so much later than the stage before [s]
    pause_every_s   training pauses for a checkpoint so often [s]; 0 = never
    pause_s         so long [s]
    """

    period_s: float = 30.0
    jitter: float = 0.01
    microbatches: int = 16
    compute: float = 0.7
    reduce_s: float = 3.0
    shift_s: float = 1.0
    pause_every_s: float = 0.0
    pause_s: float = 40.0


class Curve(NamedTuple):
    """Seconds of full rate up to each moment, piecewise linear; moments rise."""

    moment_s: F64
    passed_s: F64

    def until(self, time_s: F64) -> F64:
        """Seconds of full rate before each time; same shape."""
        out: F64 = np.interp(time_s, self.moment_s, self.passed_s)
        return out


class Curves(NamedTuple):
    """Curves of stage 0; a later stage has the same ones, later. ``pause``: storage is written."""

    forward: Curve
    backward: Curve
    expert: Curve
    reduce: Curve
    pause: Curve


def starts(rhythm: Rhythm, duration_s: float, rng: np.random.Generator) -> tuple[F64, F64]:
    """(I,) when iterations begin, from before second 0 to after the end; (P,) when pauses do."""
    begin = -(1 + rng.random()) * rhythm.period_s
    due = begin + rhythm.pause_every_s * (0.3 + 0.7 * rng.random())
    iterations, pauses = [], []
    while begin < duration_s + rhythm.period_s:
        iterations.append(begin)
        begin += rhythm.period_s * max(0.5, 1 + rhythm.jitter * rng.standard_normal())
        if rhythm.pause_every_s and begin > due:
            pauses.append(begin)
            begin += rhythm.pause_s
            due += rhythm.pause_every_s
    return np.array(iterations), np.array(pauses)


def curves(rhythm: Rhythm, begins: F64, pauses: F64, slower: float, slowest: float) -> Curves:
    """The curves of a replica that computes ``slower`` times as long as others.

    slowest  the slowest replica's factor: the collective waits for it
    """
    step = rhythm.period_s * rhythm.compute / rhythm.microbatches
    batch = np.arange(rhythm.microbatches) * step
    own = (begins[:, None] + slower * batch).ravel()
    reduced = begins + slowest * rhythm.period_s * rhythm.compute
    return Curves(
        forward=_pulses(own + slower * step * _FORWARD[0], step * _FORWARD[1]),
        backward=_pulses(own + slower * step * _BACKWARD[0], step * _BACKWARD[1]),
        expert=_pulses(own + slower * step * _EXPERT[0], step * _EXPERT[1]),
        reduce=_pulses(reduced, rhythm.reduce_s),
        pause=_pulses(pauses, 0.5 * rhythm.pause_s),
    )


def _pulses(begin: F64, length_s: float) -> Curve:
    """A curve of pulses that begin at rising times and last ``length_s``, at most to the next."""
    if not len(begin):
        return Curve(np.zeros(1), np.zeros(1))
    lasts = np.minimum(length_s, np.append(np.diff(begin), np.inf))
    passed = np.concatenate([[0.0], np.cumsum(lasts)])
    return Curve(
        np.stack([begin, begin + lasts], 1).ravel(), np.stack([passed[:-1], passed[1:]], 1).ravel()
    )
