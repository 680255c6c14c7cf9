"""How many five-tuples it takes until ECMP has hashed one onto each of N equal paths. Pure.

Five-tuples are hashed onto paths independently and evenly: the coupon collector's problem.
"""

from __future__ import annotations

from functools import lru_cache
from math import ceil, comb, exp, log, log1p


def missed(paths: int, five_tuples: int) -> float:
    """P(some path carries none of the five-tuples).

    Inclusion-exclusion: the sum over i = 1..N of (-1)^(i+1) C(N, i) (1 - i/N)^k. Where its terms
    would cancel beyond the precision of floating point, the first term bounds it from above.
    Source  R-Pingmesh (SIGCOMM 2024), section 4.2
    """
    if paths <= 1:
        return float(five_tuples < 1)
    first = exp(log(paths) + five_tuples * log1p(-1 / paths))
    if first > 1.0:  # terms grow before they shrink; the probability is not small either
        return 1.0
    total = 0.0
    for i in range(1, paths):
        term = comb(paths, i) * (1 - i / paths) ** five_tuples
        total += term if i % 2 else -term
        if term < 1e-12 * first:
            break
    return min(max(total, 0.0), 1.0)


@lru_cache(maxsize=1024)
def five_tuples_to_cover(paths: int, probability: float) -> int:
    """The fewest five-tuples that cover all paths with at least this probability, 0 < p < 1.

    0.99: 4 paths take 21, 8 take 51, 16 take 115, 32 take 255.
    """
    if not 0 < probability < 1:
        raise ValueError(f"probability {probability} is not between 0 and 1")
    if paths <= 1:
        return 1
    # The first term alone is an upper bound of what is missed, so this count is enough.
    enough = ceil((log(paths) - log(1 - probability)) / -log1p(-1 / paths))
    while enough > 1 and missed(paths, enough - 1) <= 1 - probability:
        enough -= 1
    return enough
