"""How likely what was measured of some paths is, given what the culprits do to them, and of those
that cross a culprit with known probabilities only. No I/O."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from localizer.evidence import F64, I64

#: Of ``split_atoms`` and ``mix_atoms``: 0 (loss) or 1 (latency), what was measured (R,) (R,),
#: three parameters.
Described = tuple[int, F64, F64, float, float, float]


class Likelihood(ABC):
    """Of R paths. Damage is what all culprits together do to a path."""

    @abstractmethod
    def log_f(self, rows: I64, damage: F64) -> F64:
        """(n, m) ln likelihood of some paths, were their damage so (n, m)."""

    def log_more(self, rows: I64, damage: F64, more: F64) -> F64:
        """(n, m, G) the same with ``more`` (G,) damage added to each."""
        atoms = damage[:, :, None] + more
        return self.log_f(rows, atoms.reshape(len(rows), -1)).reshape(atoms.shape)

    @abstractmethod
    def described(self) -> Described:
        """For the compiled helper, which computes the same (native/src/atoms.c)."""


def log_sum(terms: F64) -> F64:
    """ln of the sum of exponentials over the second axis; ``terms`` are overwritten."""
    top = terms.max(axis=1)
    terms -= np.expand_dims(top, 1)
    out: F64 = np.log(np.exp(terms, out=terms).sum(axis=1))
    out += top
    return out


def mixed(once: F64, twice: F64, one: F64, two: F64, shares: F64, back: I64 | None = None) -> F64:
    """(n, G) ln of the likelihood ratio when crossings are uncertain.

    once, twice  (n,) probabilities of crossing it once, twice
    one, two     (R, G) ln ratio of a path were it crossed once, twice
    shares       (G,) of five-tuples that are hit
    back         (n,) path of each entry; None: they are the paths
    """
    back = np.arange(len(once)) if back is None else back
    top = np.maximum(np.maximum(one, two), 0.0)
    a, b = thinned(once[:, None], twice[:, None], shares)
    likely = np.maximum(1 - a - b, 0.0) * np.exp(-top)[back] + a * np.exp(one - top)[back]
    if len(both := np.flatnonzero(twice)):
        likely[both] += b[both] * np.exp(two - top)[back[both]]
    out: F64 = np.log(np.maximum(likely, 1e-300)) + top[back]
    for sure, ratio in ((a == 1, one), (b == 1, two)):  # exact, however small
        if len(where := np.flatnonzero(sure.any(axis=1))):
            out[where] = np.where(sure[where], ratio[back[where]], out[where])
    return out


def thinned(once: F64, twice: F64, share: float | F64) -> tuple[F64, F64]:
    """Crossings that hurt if each direction's five-tuple is hit with this probability."""
    return once * share + twice * 2 * share * (1 - share), twice * share**2
