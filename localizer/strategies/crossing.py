"""What the published methods see of the evidence: suspects on a path, and known routes.

The papers think of paths over links, and a probe here is a round trip. It crosses a suspect that it
crosses on either way. A method that gains by it may ask for ways: a class of links is then two
suspects, one a direction, where the evidence can tell them apart.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy import sparse

from localizer.evidence import F64, I64, Attribution, Bool, Evidence
from schemas.parameters.parameter import parameter

_SURE: Final = 1e-9  # a share this close to 0 or 1 is one


@dataclass(frozen=True, slots=True)
class PublishedParameters:
    """What all published methods share.

    most_noise  the excess of a path counts for no more than so many times its noise: one wild path
                must not outvote the others
    """

    most_noise: float = parameter(12.0, unit="1", source="chosen: pytest tests/contracts")


DEFAULT: Final = PublishedParameters()


@dataclass(frozen=True, slots=True)
class Crossing:
    """P paths over K suspects; suspects that no path crosses are left out.

    The order of the suspects is that of a number made of what their paths saw, so that "the first
    of those that tie" is the same one however paths and classes are numbered.

    share   (P, K) probability that a path crosses the suspect; 1 where the route is known
    known   (P,) paths whose route is known: all of their shares are 1 (or not there)
    column  (K,) class of each suspect
    way     (K,) 0: the class whichever way; 1: a>b; 2: b>a
    """

    share: sparse.csr_array
    known: Bool
    column: I64
    way: I64

    def attributions(self, evidence: Evidence, chosen: Iterable[int]) -> list[Attribution]:
        """One attribution a class of the chosen suspects, in their order, with the observed effect.

        A path counts for the first suspect on it, in the measure in which it crosses it.
        """
        left = np.where(evidence.sent > 0, 1.0, 0.0)
        sizes: list[tuple[int, int, float]] = []
        for k in chosen:
            share = column_of(self.share, k)
            crosses = share if self.way[k] else column_of(evidence.incidence, int(self.column[k]))
            sizes.append((int(self.column[k]), int(self.way[k]), observed(evidence, crosses, left)))
            left *= 1.0 - share
        return merged(sizes, np.ones(len(sizes)), latency=evidence.latency)


def merged(
    found: list[tuple[int, int, float]], p_value: F64, *, latency: bool
) -> list[Attribution]:
    """One attribution a class of (class, way, effect): a second direction adds to the first.

    effect  of crossing it in that direction, or both ways if it has none; loss [1] or time [us]
    """
    found_by_class: dict[int, Attribution] = {}
    for (column, way, effect), p in zip(found, p_value.tolist(), strict=True):
        before = found_by_class.get(column)
        if before is None:
            found_by_class[column] = Attribution(column, effect, p, DIRECTIONS[way])
        else:
            total = before.effect + effect
            if not latency:
                total -= before.effect * effect
            found_by_class[column] = Attribution(column, total, min(before.p_value, p), "both")
    return list(found_by_class.values())


DIRECTIONS: tuple[str | None, ...] = (None, "a>b", "b>a")


def crossing(evidence: Evidence, *, ways: bool = False) -> Crossing:
    """The suspects of the evidence; with ``ways`` a link is one suspect for each direction.

    Without ``forward`` and ``reverse`` there are no directions, and a share of 1/2 counts as one
    direction of a known route; one of two ECMP paths in both directions looks the same.
    """
    incidence = evidence.incidence.tocsr()
    paths, classes = incidence.shape
    if evidence.forward is None or evidence.reverse is None:
        data = incidence.data
        sure = (np.abs(data - 0.5) < _SURE) | (data > 1.0 - _SURE) | (data < _SURE)
        part = incidence.copy()
        part.data = np.where(sure, np.where(data < _SURE, 0.0, 1.0), data)
        parts, column, way = [part], np.arange(classes), np.zeros(classes, np.int64)
    else:
        directed = np.zeros(classes, bool)
        if ways and evidence.directed is not None:
            directed = evidence.directed
        one, two = np.flatnonzero(~directed), np.flatnonzero(directed)
        ahead, back = evidence.forward.tocsr(), evidence.reverse.tocsr()
        either = ahead[:, one] + back[:, one] - ahead[:, one].multiply(back[:, one])
        parts = [sparse.csr_array(either), ahead[:, two], back[:, two]]
        column = np.concatenate([one, two, two])
        way = np.repeat([0, 1, 2], [len(one), len(two), len(two)])
    share = sparse.csr_array(sparse.hstack(parts, format="csr"))
    share.data = np.where(share.data > 1.0 - _SURE, 1.0, share.data)
    share.eliminate_zeros()
    row = np.repeat(np.arange(paths), np.diff(share.indptr))
    known = np.bincount(row[share.data < 1.0], minlength=paths) == 0
    used = np.flatnonzero(np.bincount(share.indices, minlength=share.shape[1]) > 0)
    mark = evidence.source * 0.6180339887 + evidence.lost * 0.7548776662 + evidence.excess_us
    used = used[np.argsort(np.round(np.asarray(share.T @ (mark % 1.0))[used], 6), kind="stable")]
    return Crossing(share[:, used].tocsr(), known, column[used], way[used])


def column_of(matrix: sparse.csr_array, k: int) -> F64:
    """(P,) one column."""
    return np.asarray(matrix[:, [k]].todense()).ravel()


def clipped(evidence: Evidence, most: float = DEFAULT.most_noise) -> F64:
    """(P,) excess in units of the path's noise, within +-most."""
    return np.clip(evidence.excess_us / evidence.noise_us, -most, most)


def observed(evidence: Evidence, share: F64, left: F64) -> float:
    """Effect on a path that crosses fully: pooled loss [1], or median excess [us].

    share  (P,) how much of a full crossing each path makes; those that make most of one count
    left   (P,) how far each path is not explained by anything else
    """
    counts = (share > 0) & (share >= 0.5 * share.max(initial=0.0)) & (left > 0)
    if evidence.latency:
        late = counts & evidence.bad
        return max(0.0, float(np.median(evidence.excess_us[late]))) if late.any() else 0.0
    sent = float((share * left * counts) @ evidence.sent)
    lost = float((left * counts) @ evidence.lost)
    return min(1.0, lost / sent) if sent else 0.0
