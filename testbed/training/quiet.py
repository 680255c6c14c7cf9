"""Jobs without collectives: what inference must decline."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from testbed.training.traffic import LINE_RATE, Bytes

F64 = NDArray[np.float64]

Draw = Callable[[np.random.Generator, int, int, int], tuple[F64, F64]]


def idle(rng: np.random.Generator, hosts: int, rails: int, seconds: int) -> tuple[F64, F64]:
    """Control traffic and probes only."""
    size = (hosts, rails, seconds)
    return 2e6 * rng.exponential(size=size), 2e6 * rng.exponential(size=size)


def debug(rng: np.random.Generator, hosts: int, rails: int, seconds: int) -> tuple[F64, F64]:
    """Somebody tries things: each host runs a program of its own now and then."""
    tx, rx = idle(rng, hosts, rails, seconds)
    for host in range(hosts):
        at = 0.0
        while (at := at + rng.exponential(60)) < seconds:
            length = 1 + int(rng.exponential(8))
            rate = LINE_RATE * rng.uniform(0.01, 0.8)
            used = rng.random(rails) < rng.random()
            span = slice(int(at), int(at) + length)
            (tx if rng.random() < 0.5 else rx)[host, used, span] += rate
    return tx, rx


def serving(rng: np.random.Generator, hosts: int, rails: int, seconds: int) -> tuple[F64, F64]:
    """Requests arrive at random; a load that all replicas share rises and falls slowly."""
    load = np.zeros(seconds)
    for second in range(1, seconds):
        load[second] = 0.97 * load[second - 1] + 0.06 * rng.standard_normal()
    mean = 20 * np.exp(load)
    share = rng.gamma(8, 1 / 8, (hosts, 1, 1))
    requests = rng.poisson(mean * share, (hosts, rails, seconds))
    answers = rng.poisson(mean * share, (hosts, rails, seconds))
    chatter = idle(rng, hosts, rails, seconds)
    return 4e7 * answers + chatter[0], 1e7 * requests + chatter[1]


def arbitrary(rng: np.random.Generator, hosts: int, rails: int, seconds: int) -> tuple[F64, F64]:
    """Every rnic has a rate of its own that wanders."""
    out = []
    for _ in range(2):
        steps = rng.standard_normal((hosts, rails, seconds))
        level = np.zeros_like(steps)
        for second in range(1, seconds):
            level[..., second] = 0.9 * level[..., second - 1] + 0.5 * steps[..., second]
        out.append(1e8 * np.exp(level))
    return out[0], out[1]


def loading(rng: np.random.Generator, hosts: int, rails: int, seconds: int) -> tuple[F64, F64]:
    """Each host reads from storage with a period of its own."""
    tx, rx = idle(rng, hosts, rails, seconds)
    time = np.arange(seconds)
    for host in range(hosts):
        period, phase = rng.uniform(8, 60), rng.random()
        rx[host, :, ((time / period + phase) % 1.0) < 0.2] += 0.2 * LINE_RATE
    return tx, rx


def copying(rng: np.random.Generator, hosts: int, rails: int, seconds: int) -> tuple[F64, F64]:
    """All hosts read from storage at the same times: a rhythm, and no traffic between them."""
    tx, rx = idle(rng, hosts, rails, seconds)
    period = rng.uniform(10, 60)
    busy = ((np.arange(seconds) / period + rng.random()) % 1.0) < 0.2
    rx[:, :, busy] += 0.3 * LINE_RATE
    return tx, rx


QUIET: Final[dict[str, Draw]] = {
    "idle": idle, "debug": debug, "serving": serving, "arbitrary": arbitrary, "loading": loading,
    "copying": copying,
}  # fmt: skip


def quiet(kind: str, rng: np.random.Generator, hosts: int, rails: int, seconds: int) -> Bytes:
    """(N, T) bytes of a job of that kind, N = hosts x rails, by host."""
    tx, rx = (
        np.minimum(each, LINE_RATE).reshape(hosts * rails, seconds).astype(np.float32)
        for each in QUIET[kind](rng, hosts, rails, seconds)
    )
    return Bytes(tx, rx)
