"""One trial: labelled traffic in, how well the inferred skeleton matches its truth out."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array

from controller.skeleton.inference import Skeleton, infer, infer_jobs
from controller.skeleton.series import Throughput
from testbed.training.cases import IMPAIRMENTS, LabelledTraffic, training, without_collectives
from testbed.training.quiet import QUIET

I64 = NDArray[np.int64]

#: Two jobs on every host, and the placement of jobs is not known.
UNKNOWN: Final = "two-jobs, placement unknown"
CONDITIONS: Final = (*IMPAIRMENTS, UNKNOWN)
SIZES: Final = (64, 128, 512, 1024, 2048)
LAYOUTS: Final = ("dense", "moe")
#: Rnics of a job without collectives.
QUIET_RNICS: Final = 128


class Trial(NamedTuple):
    """One case; of a job without collectives only ``declined`` counts.

    declined     of two jobs: one of them; its pairs are then those of the rails
    rand         adjusted Rand index of clusters against positions, jobs that were declined as none
    missed       true pairs that the skeleton lacks, of ``pairs``
    targets      mean number of peers of an rnic in the skeleton; true_targets: in truth
    """

    layout: str
    condition: str
    rnics: int
    seed: int
    declined: bool
    rand: float = 0.0
    missed: int = 0
    pairs: int = 0
    targets: float = 0.0
    true_targets: float = 0.0
    seconds: float = 0.0


def trials(
    sizes: Sequence[int], conditions: Sequence[str], layouts: Sequence[str], seeds: range
) -> Iterator[Trial]:
    """Training jobs of every size, layout and condition."""
    for rnics in sizes:
        for layout in layouts:
            for condition in conditions:
                for seed in seeds:
                    yield trial(rnics, layout, condition, seed)


def quiet_trials(seeds: range) -> Iterator[Trial]:
    """Jobs without collectives, of every kind."""
    for kind in QUIET:
        for seed in seeds:
            made = without_collectives(kind, QUIET_RNICS, seed=seed)
            found = infer(_given(made))
            by_rhythm = infer_jobs(_given(made))
            declined = bool(found.declined) and all(each.declined for each in by_rhythm)
            yield Trial("quiet", kind, QUIET_RNICS, seed, declined)


def trial(rnics: int, layout: str, condition: str, seed: int) -> Trial:
    """Infer each job of the placement, or each rhythm where the placement is not known."""
    impairment = "two-jobs" if condition == UNKNOWN else condition
    made = training(rnics, moe=layout == "moe", impairment=impairment, seed=seed)
    given = _given(made)
    began = time.process_time()
    if condition == UNKNOWN:
        found = infer_jobs(given)
        rows = [each.rnic for each in found]
        pairs = [each.pairs for each in found]
    else:
        rows = [np.flatnonzero(made.job == job) for job in np.unique(made.job)]
        found = [infer(given.rows(each)) for each in rows]
        pairs = [own[each.pairs] for own, each in zip(rows, found, strict=True)]
    seconds = time.process_time() - began
    pairs = [
        _same_rail(own, given) if each.declined else own_pairs
        for own, each, own_pairs in zip(rows, found, pairs, strict=True)
    ]
    inferred = np.concatenate([*pairs, np.empty((0, 2), np.int64)])
    have = set(_keys(inferred, rnics).tolist())
    missed = sum(key not in have for key in _keys(made.pairs, rnics).tolist())
    return Trial(
        layout, condition, rnics, seed, any(each.declined for each in found),
        adjusted_rand(made.position, _labels(rnics, rows, found)), missed, len(made.pairs),
        2 * len(inferred) / rnics, 2 * len(made.pairs) / rnics, seconds,
    )  # fmt: skip


def adjusted_rand(one: I64, other: I64) -> float:
    """Adjusted Rand index of two partitions of N things, 1 = equal, 0 = by chance.

    Source  Hubert, Arabie (1985), Journal of Classification 2
    """
    a, b = (np.unique(each, return_inverse=True)[1] for each in (one, other))
    table = coo_array((np.ones(len(a)), (a, b))).tocsr()

    def couples(count: NDArray[np.float64]) -> float:
        return float((count * (count - 1)).sum() / 2)

    both = couples(table.tocoo().data)
    rows, columns = couples(table.sum(axis=1)), couples(table.sum(axis=0))
    every = couples(np.array([float(len(a))]))
    chance = rows * columns / every
    best = (rows + columns) / 2
    return 1.0 if best == chance else (both - chance) / (best - chance)


def _given(made: LabelledTraffic) -> Throughput:
    return Throughput(made.tx, made.rx, made.host, made.rail)


def _same_rail(rows: I64, given: Throughput) -> I64:
    """(K, 2) pairs of a job's rnics on the same rail: what is probed without a skeleton."""
    parts = []
    for rail in np.unique(given.rail[rows]):
        own = rows[given.rail[rows] == rail]
        a, b = np.triu_indices(len(own), 1)
        parts.append(np.stack([own[a], own[b]], axis=1))
    return np.concatenate(parts)


def _keys(pairs: I64, rnics: int) -> I64:
    ordered = np.sort(pairs, axis=1)
    out: I64 = ordered[:, 0] * rnics + ordered[:, 1]
    return out


def _labels(rnics: int, rows: list[I64], found: list[Skeleton]) -> I64:
    """(N,) a number per cluster of all jobs; an rnic without a cluster is alone."""
    out = np.arange(rnics) + rnics
    first = 2 * rnics
    for own, each in zip(rows, found, strict=True):
        if not each.declined:
            has = each.cluster >= 0
            out[own[has]] = first + each.cluster[has]
            first += int(each.cluster.max()) + 1
    return out
