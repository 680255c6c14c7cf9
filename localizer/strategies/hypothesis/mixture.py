"""What is likely of a path that crosses a culprit, or does not, with known probabilities."""

from __future__ import annotations

import numpy as np

from localizer.evidence import F64, I64


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
