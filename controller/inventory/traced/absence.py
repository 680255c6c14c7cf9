"""How improbable it is that no traceroute shows a link, if the document is right. No I/O.

Switches split five-tuples equally over the next hops on shortest paths (``ping_lists.ecmp``). A
five-tuple between ToRs a and b crosses link l with the product p of these shares, so that n
five-tuples all miss it with probability prod (1 - p_i). A five-tuple has one route: traced twice it
counts once.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Set

from controller.inventory.traced.routes import FiveTuple, Link
from controller.ping_lists.ecmp import SwitchPaths


def log_missed(
    paths: SwitchPaths, traced: Mapping[Link, Set[FiveTuple]]
) -> dict[Link, tuple[float, float]]:
    """Link -> (ln of the probability that all five-tuples miss it, expected five-tuples on it).

    traced  (first, last switch) -> five-tuples whose route is known from end to end
    """
    out: defaultdict[Link, tuple[float, float]] = defaultdict(lambda: (0.0, 0.0))
    for (a, b), five_tuples in traced.items():
        count = len(five_tuples)
        for (u, v), share in paths.hops(a, b).items():
            link = min(u, v), max(u, v)
            missed, expected = out[link]
            log = -math.inf if share >= 1.0 else count * math.log1p(-share)
            out[link] = (missed + log, expected + count * share)
    return dict(out)
