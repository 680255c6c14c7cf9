"""A counter-based random number generator: the same integers give the same draw, in any order."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
from numpy.typing import ArrayLike, NDArray

U64 = NDArray[np.uint64]
F64 = NDArray[np.float64]

_STEP = np.uint64(0x9E3779B97F4A7C15)
_MUL1 = np.uint64(0xBF58476D1CE4E5B9)
_MUL2 = np.uint64(0x94D049BB133111EB)


def mix(*parts: ArrayLike) -> U64:
    """One 64-bit hash per row of the broadcast integer parts; at least one-dimensional.

    parts    integers (negative ones wrap), scalars or arrays that broadcast together
    returns  (N,) uint64, the splitmix64 finaliser folded over the parts in order
    Source   Steele, Lea, Flood (2014), Fast splittable pseudorandom number generators
    """
    state = np.zeros(1, np.uint64)
    for part in parts:
        x = np.atleast_1d(np.asarray(part))
        state = (state * _MUL1) ^ x.astype(np.uint64)
        state = state + _STEP
        state = (state ^ (state >> np.uint64(30))) * _MUL1
        state = (state ^ (state >> np.uint64(27))) * _MUL2
        state = state ^ (state >> np.uint64(31))
    return state


def uniform(*parts: ArrayLike) -> F64:
    """(N,) draws in [0, 1) made from mix(*parts): 53 bits each."""
    draws: F64 = (mix(*parts) >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return draws


def name_hash(name: str) -> int:
    """A stable 64-bit number of a name."""
    return int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "little")
