"""Cases drawn by a seed: jobs on hosts, what impairs the measurement, and the truth."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from testbed.training.positions import I64, Positions, Shape, positions
from testbed.training.quiet import QUIET, quiet
from testbed.training.rhythm import Rhythm
from testbed.training.traffic import F32, Disturbance, Rates, traffic

#: What may impair a case; each is drawn by itself, ``all`` is everything at once.
IMPAIRMENTS: Final = (
    "none", "missing", "noise", "straggler", "clocks", "two-jobs", "pauses", "all",
)  # fmt: skip
RAILS: Final = 8
#: Shifts below it are not told from clocks 200 ms apart; all shifts fill at most this share of what
#: computing leaves of an iteration.
_LEAST_SHIFT_S: Final = 0.5
_SHIFTED: Final = 0.75


class LabelledTraffic(NamedTuple):
    """N rnics over T seconds.

    tx, rx    (N, T) bytes in each second, NaN where a sample is missing
    host      (N,) number of the rnic's host; rail (N,) its rank in the host
    job       (N,) number of its job, -1 for none
    position  (N,) its true cluster, different ones for different jobs; -1 without collectives
    pairs     (K, 2) true pairs, a < b
    """

    tx: F32
    rx: F32
    host: I64
    rail: I64
    job: I64
    position: I64
    pairs: I64


@dataclass(frozen=True, slots=True)
class JobPlan:
    """A job of a case: its layout and rhythm."""

    shape: Shape
    rhythm: Rhythm
    rates: Rates


def plan(rnics: int, moe: bool, rng: np.random.Generator, rails: int = RAILS) -> JobPlan:
    """A layout of so many rnics, drawn at random among those that divide evenly."""
    hosts = rnics // rails
    wanted = [pp for pp in (1, 2, 4, 8, 16) if hosts % pp == 0 and hosts // pp >= 2]
    pp = int(rng.choice(wanted))
    inside = [q for q in (1, 1, 1, 2) if pp % q == 0 and rails % q == 0]
    per_host = int(rng.choice(inside))
    dp = hosts * per_host // pp
    groups = [g for g in (2, 4, 8) if dp % g == 0]
    shape = Shape(
        hosts, rails, pp, per_host, int(rng.choice(groups)) if moe and groups else 1,
        "tree" if rng.random() < 0.3 else "ring", bool(rng.random() < 0.3),
    )  # fmt: skip
    compute = float(rng.uniform(0.55, 0.75))
    period = float(rng.uniform(max(10, pp * _LEAST_SHIFT_S / (1 - compute) / _SHIFTED), 60))
    room = period * (1 - compute)
    reduce = float(np.clip(rng.uniform(0.1, 0.3) * room, 0.7, 4.0))
    shift = min(2.0, _SHIFTED * room / pp)
    return JobPlan(
        shape,
        Rhythm(period, float(rng.uniform(0.002, 0.03)), int(rng.choice([4, 8, 16, 32])), compute,
               reduce, float(rng.uniform(_LEAST_SHIFT_S, shift))),
        Rates(float(rng.uniform(0.3, 0.9)), float(rng.uniform(0.1, 0.5)),
              float(rng.uniform(0.1, 0.4)), skew=float(rng.choice([0.0, 0.05]))),
    )  # fmt: skip


def training(
    rnics: int, *, moe: bool, impairment: str, seed: int, duration_s: int = 900
) -> LabelledTraffic:
    """One or two training jobs on ``rnics`` rnics, under an impairment of ``IMPAIRMENTS``."""
    rng = np.random.default_rng([seed, rnics, moe, IMPAIRMENTS.index(impairment)])

    def has(name: str) -> bool:
        return impairment in (name, "all")

    plans = (
        [plan(rnics // 2, moe, rng, RAILS // 2) for _ in range(2)]
        if has("two-jobs")
        else [plan(rnics, moe, rng)]
    )
    jobs = []
    for index, each in enumerate(plans):
        shape, rhythm, rates = each.shape, each.rhythm, each.rates
        if has("pauses"):
            rhythm = replace(rhythm, pause_every_s=float(rng.uniform(200, 500)),
                             pause_s=float(rng.uniform(20, 60)))  # fmt: skip
        if has("noise"):
            rates = replace(rates, noise=0.15, background=1e8)
        disturbance = Disturbance(
            slow=int(rng.integers(shape.dp)) if has("straggler") else -1,
            slower=float(rng.uniform(1.05, 1.2)),
            clock_s=0.2 if has("clocks") else 0.0,
        )
        place = positions(shape)
        made = traffic(place, rhythm, rates, disturbance, duration_s, rng)
        order = rng.permutation(shape.hosts)
        jobs.append(_placed(place, made.tx, made.rx, order, index, index * shape.rails))
    case = _together(jobs)
    if has("missing"):
        lost = rng.random(case.tx.shape) < 0.1
        case.tx[lost] = case.rx[lost] = np.nan
    return case


def without_collectives(
    kind: str, rnics: int, *, seed: int, duration_s: int = 900
) -> LabelledTraffic:
    """A job of ``quiet.QUIET`` on hosts of eight rnics."""
    rng = np.random.default_rng([seed, rnics, list(QUIET).index(kind), 7])
    made = quiet(kind, rng, rnics // RAILS, RAILS, duration_s)
    number = np.arange(rnics)
    return LabelledTraffic(
        made.tx, made.rx, number // RAILS, number % RAILS, np.zeros(rnics, np.int64),
        np.full(rnics, -1), np.empty((0, 2), np.int64),
    )  # fmt: skip


def _placed(
    place: Positions, tx: F32, rx: F32, host: NDArray[np.int64], job: int, first_rail: int
) -> LabelledTraffic:
    """A job on numbered hosts, from a rail on."""
    shape = place.shape
    rails = np.broadcast_to(first_rail + np.arange(shape.rails), (shape.hosts, shape.rails))
    return LabelledTraffic(
        tx, rx, np.repeat(host, shape.rails), rails.ravel().copy(),
        np.full(len(tx), job), place.position.ravel(), place.pairs,
    )  # fmt: skip


def _together(jobs: list[LabelledTraffic]) -> LabelledTraffic:
    """All jobs in the order of hosts and rails."""
    first = np.cumsum([0, *(len(each.job) for each in jobs[:-1])])
    known = np.cumsum([0, *(int(each.position.max()) + 1 for each in jobs[:-1])])
    both = LabelledTraffic(
        np.concatenate([each.tx for each in jobs]),
        np.concatenate([each.rx for each in jobs]),
        np.concatenate([each.host for each in jobs]),
        np.concatenate([each.rail for each in jobs]),
        np.concatenate([each.job for each in jobs]),
        np.concatenate([each.position + k for each, k in zip(jobs, known, strict=True)]),
        np.concatenate([each.pairs + f for each, f in zip(jobs, first, strict=True)]),
    )
    order = np.lexsort((both.rail, both.host))
    new = np.empty(len(order), np.int64)
    new[order] = np.arange(len(order))
    pairs = np.sort(new[both.pairs], axis=1)
    return LabelledTraffic(
        both.tx[order], both.rx[order], both.host[order], both.rail[order], both.job[order],
        both.position[order], pairs[np.lexsort(pairs.T[::-1])],
    )  # fmt: skip
