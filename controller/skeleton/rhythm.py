"""Whether rnics share a rhythm: the spectra of a job, the jobs of a file, reasons to decline."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from controller.skeleton import spectra
from controller.skeleton.parameters import SkeletonParameters
from controller.skeleton.series import Throughput
from controller.skeleton.spectra import C64, F32, F64, Drive, Frames

I64 = NDArray[np.int64]


class Rhythm(NamedTuple):
    """What N rnics did in some stretch of time.

    level     frames of the root of (2N, T) bytes, sent above received: small and large rates count
    bytes     frames of the bytes themselves: bursts count
    period_s, repetition    of the rounds, and how well they repeat, 0..1
    """

    level: Frames
    bytes: Frames
    level_drive: Drive
    bytes_drive: Drive
    period_s: int
    repetition: float

    def responses(self, frames: NDArray[np.bool_] | None = None) -> C64:
        """(2, N, F) of the level, over some of the frames."""
        given, common = self.level, self.level_drive
        if frames is not None:
            given = given.select(frames)
            common = Drive(common.course[frames], common.share)
        out: C64 = spectra.responses(given, common).reshape(2, -1, given.spectra.shape[2])
        return out

    def burst_responses(self) -> C64:
        """(2, N, F) of the bytes."""
        made = spectra.responses(self.bytes, self.bytes_drive)
        out: C64 = made.reshape(2, -1, made.shape[1])
        return out

    def coherence(self) -> F64:
        """(N,) share of each rnic's variation that the common course explains, 0..1."""
        both = spectra.coherence(self.level, self.level_drive).reshape(2, -1)
        power = (np.abs(self.level.spectra) ** 2).sum(axis=(1, 2)).reshape(2, -1)
        out: F64 = (both * power).sum(axis=0) / np.maximum(power.sum(axis=0), 1e-30)
        return out


def measure(given: Throughput, options: SkeletonParameters) -> Rhythm:
    """The rhythm of gapless throughput."""
    both = np.concatenate([given.tx, given.rx])
    rates = _scaled(both)
    root = _scaled(np.sqrt(both))
    level = spectra.frames(root, options.window_s, options.hop_s)
    burst = spectra.frames(rates, options.window_s, options.hop_s)
    period, repeats = spectra.repetition(
        root, options.shortest_round_s, options.longest_round_s, options.nearly
    )
    return Rhythm(level, burst, spectra.drive(level), spectra.drive(burst), period, repeats)


def _scaled(values: F32) -> F32:
    """In units of the whole's standard deviation: no rnic's own scale changes."""
    out: F32 = values / np.float32(float(values.std()) or 1.0)
    return out


def split(given: Throughput, options: SkeletonParameters) -> list[I64]:
    """Indices of rnics by their rhythm: jobs in one file, the strongest first.

    The rnics that follow the course of the strongest one are a job; then those that follow the
    common course of these, at least half as well as they do; the others are searched again. Rnics
    that follow no other host's are left out.
    """
    root = _scaled(np.sqrt(np.concatenate([given.tx, given.rx])))
    made = spectra.frames(root, options.window_s, options.hop_s)
    count = len(given.tx)
    power = (np.abs(made.spectra) ** 2).sum(axis=(1, 2)).reshape(2, -1)
    left = np.arange(count)
    jobs: list[I64] = []
    while len(left) > 1:
        member = left[power.sum(axis=0)[left].argmax()][None]
        for _ in range(3):
            common = spectra.drive(made.rows(np.concatenate([member, member + count])))
            both = made.rows(np.concatenate([left, left + count]))
            explained = spectra.coherence(both, common).reshape(2, -1) * power[:, left]
            share = explained.sum(axis=0) / np.maximum(power[:, left].sum(axis=0), 1e-30)
            typical = 1.0 if len(member) == 1 else float(np.median(share[np.isin(left, member)]))
            member = np.union1d(member[:1], left[share >= options.coherence * typical])
        if len(np.unique(given.host[member])) > 1:
            jobs.append(member)
        left = np.setdiff1d(left, member)
    return jobs


def why_not(whole: Rhythm, given: Throughput, options: SkeletonParameters) -> str:
    """Why a job has no collectives to infer a skeleton from; empty where it has.

    given  the throughput from which ``whole`` was measured
    """
    coherent = whole.coherence() >= options.coherence
    if coherent.mean() < 1 - options.exceptions:
        return (
            f"no common rhythm: only {int(coherent.sum())} of {len(coherent)} rnics follow the "
            "course of the job"
        )
    middle = given.tx.shape[1] // 2
    halves = [
        spectra.repetition(
            np.sqrt(np.concatenate([part.tx, part.rx])),
            options.shortest_round_s, options.longest_round_s, options.nearly,
        )[1]
        for part in (given.seconds(0, middle), given.seconds(middle, given.tx.shape[1]))
    ]  # fmt: skip
    if min(whole.repetition, *halves) < options.repetition:
        return "the bursts do not repeat: no rounds of training"
    response = whole.burst_responses()
    sent, received = (np.abs(response) ** 2).sum(axis=(1, 2))
    if min(sent, received) < options.unbalance**2 * max(sent, received):
        return "what is sent in bursts is not what is received: storage, not collectives"
    return ""
