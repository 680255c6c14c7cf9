"""Bytes that the rnics of a training job send and receive in each second.

A flow's bytes are the same at both of its ends, its random part included; each host cuts them into
seconds by its own clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from testbed.training.positions import I64, Positions, replica_edges
from testbed.training.rhythm import Curve, Rhythm, curves, starts

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]

LINE_RATE: Final = 25e9  # 200 Gb/s, in bytes/s


@dataclass(frozen=True, slots=True)
class Rates:
    """Rates while each kind of traffic flows, as shares of the line rate.

    noise       standard deviation of ln(bytes) of a flow in a second
    group       the same of an expert group's load in a second, alike for all of its members
    skew        positions reduce up to so much more or less than others
    background  probes, control, data loading: exponential, mean [bytes/s]
    storage     at which every rnic writes in a pause
    """

    reduce: float = 0.7
    pipeline: float = 0.3
    expert: float = 0.25
    noise: float = 0.03
    group: float = 0.1
    skew: float = 0.0
    background: float = 5e6
    storage: float = 0.1


@dataclass(frozen=True, slots=True)
class Disturbance:
    """slow: this replica (-1 = none) computes ``slower`` times as long; clock_s: clocks of hosts
    are up to so far apart [s]."""

    slow: int = -1
    slower: float = 1.15
    clock_s: float = 0.0


class Bytes(NamedTuple):
    """(N, T) bytes sent and received by each rnic in each second; N = hosts x rails, by host."""

    tx: F32
    rx: F32


def traffic(
    place: Positions,
    rhythm: Rhythm,
    rates: Rates,
    disturbance: Disturbance,
    duration_s: int,
    rng: np.random.Generator,
) -> Bytes:
    """What the counters of a job's rnics show; no gaps."""
    made = _Maker(place, rhythm, rates, disturbance, duration_s, rng)
    made.pipeline()
    made.experts()
    made.collectives()
    return made.bytes()


class _Maker:
    """Adds up flows; tx, rx (H, rails, T) as shares of the line rate."""

    def __init__(
        self,
        place: Positions,
        rhythm: Rhythm,
        rates: Rates,
        disturbance: Disturbance,
        duration_s: int,
        rng: np.random.Generator,
    ) -> None:
        self._place, self._rhythm, self._rates, self._rng = place, rhythm, rates, rng
        shape = place.shape
        self._slow = place.replica[:, 0] == disturbance.slow
        slowest = disturbance.slower if disturbance.slow >= 0 else 1.0
        begins, pauses = starts(rhythm, duration_s, rng)
        self._usual = curves(rhythm, begins, pauses, 1.0, slowest)
        self._late = curves(rhythm, begins, pauses, slowest, slowest)
        self._clock = disturbance.clock_s * rng.random(shape.hosts)
        self._edges = np.arange(duration_s + 1.0)
        self._size = (shape.hosts, shape.rails, duration_s)
        self._tx = np.zeros(self._size, np.float32)
        self._rx = np.zeros(self._size, np.float32)

    def pipeline(self) -> None:
        """Activations to the next stage, gradients of activations back, by replica."""
        shape = self._place.shape
        kinds = shape.pp // shape.stages_per_host
        host = np.arange(shape.hosts).reshape(kinds, shape.dp)
        sender, receiver = slice(shape.rails - shape.tp, None), slice(0, shape.tp)
        steps = [(kind, kind + 1) for kind in range(kinds - 1)]
        if shape.wraps and kinds > 2:
            steps.append((kinds - 1, 0))
        for a, b in steps:
            stage = int(self._place.stage[host[a][0], -1])
            for kind, (one, ones), (other, others) in (
                ("forward", (host[a], sender), (host[b], receiver)),
                ("backward", (host[b], receiver), (host[a], sender)),
            ):
                noise = self._noise((shape.dp, shape.tp), self._rates.noise)
                later = np.full(shape.dp, stage * self._rhythm.shift_s)
                self._tx[one, ones] += self._flow(kind, one, one, later)[:, None] * noise
                self._rx[other, others] += self._flow(kind, other, one, later)[:, None] * noise

    def experts(self) -> None:
        """All-to-all among the hosts of an expert group."""
        shape = self._place.shape
        if shape.expert_hosts == 1:
            return
        every = np.arange(shape.hosts)
        groups = self._noise((shape.hosts // shape.expert_hosts, 1), self._rates.group)
        group = np.repeat(groups, shape.expert_hosts, axis=0)
        for rail in range(shape.rails):
            flow = self._flow("expert", every, every, self._shift(rail))[:, None] * group
            for out in (self._tx, self._rx):
                out[:, rail] += flow[:, 0] * self._noise((shape.hosts,), self._rates.noise)

    def collectives(self) -> None:
        """Gradients between the replicas of a position, over the edges of its ring or trees."""
        shape, place = self._place.shape, self._place
        if shape.dp == 1:
            return
        edges = replica_edges(shape)
        steps = shape.tp * shape.pp
        amount = 1 + self._rates.skew * (2 * self._rng.random(steps) - 1)
        share = 1.0 if shape.collective == "ring" else 0.5
        directed = edges if shape.collective == "ring" else np.concatenate([edges, edges[:, ::-1]])
        if shape.collective == "ring":  # each replica sends to the next one
            directed = np.stack([np.arange(shape.dp), (np.arange(shape.dp) + 1) % shape.dp], 1)
        host = np.arange(shape.hosts).reshape(-1, shape.dp)
        for rail in range(shape.rails):
            later = self._shift(rail)
            scale = (share * amount[place.position[:, rail]]).astype(np.float32)
            for kind in host:
                one, other = kind[directed[:, 0]], kind[directed[:, 1]]
                noise = self._noise((len(directed),), self._rates.noise)
                noise *= scale[one][:, None]
                np.add.at(self._tx, (one, rail), self._flow("reduce", one, one, later[one]) * noise)
                np.add.at(
                    self._rx, (other, rail), self._flow("reduce", other, one, later[one]) * noise
                )

    def bytes(self) -> Bytes:
        """Everything, with storage in pauses and the background."""
        every = np.arange(self._size[0])
        self._tx += self._flow("pause", every, every, np.zeros(len(every)))[:, None]
        out = []
        for share in (self._tx, self._rx):
            share *= np.float32(LINE_RATE)
            share += self._rates.background * self._rng.standard_exponential(
                self._size, dtype=np.float32
            )
            out.append(np.minimum(share, LINE_RATE).reshape(-1, self._size[2]))
        return Bytes(*out)

    def _shift(self, rail: int) -> F64:
        """(H,) by which the stage of each host on a rail is later [s]."""
        return self._place.stage[:, rail].astype(np.float64) * self._rhythm.shift_s

    def _flow(self, kind: str, seen_by: I64, made_by: I64, later_s: F64) -> F32:
        """(F, T) share of the line rate in each second of the clock of ``seen_by``."""
        names = {"forward": "pipeline", "backward": "pipeline", "pause": "storage"}
        rate = getattr(self._rates, names.get(kind, kind))
        times = self._edges + (self._clock[seen_by] - later_s)[:, None]
        usual, late = getattr(self._usual, kind), getattr(self._late, kind)
        out = _seconds(usual, times)
        if (slow := self._slow[made_by]).any() and kind != "pause":
            out[slow] = _seconds(late, times[slow])
        made: F32 = (rate * out).astype(np.float32)
        return made

    def _noise(self, shape: tuple[int, ...], sigma: float) -> F32:
        draw = self._rng.standard_normal((*shape, self._size[2]), dtype=np.float32)
        out: F32 = np.exp(np.float32(sigma) * draw)
        return out


def _seconds(curve: Curve, times: F64) -> F64:
    passed = curve.until(times)
    return passed[..., 1:] - passed[..., :-1]
