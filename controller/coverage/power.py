"""The smallest loss of a link that the localizer names, from the probes that cross it. Pure.

The localizer names a link when what is lost of the probes that cross it

- is significant against the healthy loss, at the level of the alarm budget, and material;
- remains so without the source host that lost most;
- was seen from several source hosts.

It pools probes by the share of their round trip that crosses the link: a probe that crosses it
once, by request or by reply, counts half, one that crosses it twice counts whole and loses twice as
often. A link that loses q of what crosses it so loses q d of the pooled probes, with

    d = (once / 2 + 2 twice) / (once / 2 + twice).

Each test is one on a binomial count K of n probes, so the smallest loss that passes it with a given
power solves P(K >= k | n, q d) = power, with k the smallest count that the test takes.
Source  docs/localization.md, "From attribution to verdict"
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import special

from controller.coverage.parameters import DEFAULT, CoverageParameters

F64 = npt.NDArray[np.float64]


class Naming(NamedTuple):
    """What the localizer asks for before it names a link.

    level         largest p-value of the pooled losses
    rest_level    the same without the source host that lost most
    healthy       loss of a healthy round trip [1]
    dispersion    variance of healthy losses over the binomial's; counts are divided by it
    least_excess  loss above it that is material [1]
    hosts         source hosts that must have seen losses
    window_s      of the counts: the longest that opens an incident in the time that is asked for
    """

    level: float
    rest_level: float
    healthy: float
    dispersion: float
    least_excess: float
    hosts: int
    window_s: float


class Seen(NamedTuple):
    """Probes of one window that cross a link on routes that are known, (H,) by source host.

    once, twice  by request or reply, by both [count]; expected counts, where routes will be traced
    """

    once: F64
    twice: F64

    def scaled(self, factor: float) -> Seen:
        """So many times as many probes."""
        return Seen(factor * self.once, factor * self.twice)


def losses_needed(probes: float, naming: Naming, level: float) -> float:
    """The fewest losses of so many probes that are significant and material; more than there are
    probes where none are.

    probes  may be fractional, as expectations are
    """
    needed = max(float(np.floor((naming.healthy + naming.least_excess) * probes)) + 1.0, 1.0)
    while needed <= probes:
        k, n = needed / naming.dispersion, probes / naming.dispersion
        if special.betainc(k, n - k + 1.0, naming.healthy) < level:  # P(K >= k)
            break
        needed += 1.0
    return needed


def smallest_loss(
    seen: Seen, naming: Naming, parameters: CoverageParameters = DEFAULT
) -> float | None:
    """The smallest loss of a crossing [1] that is named; None: no loss is."""
    pooled = seen.once / 2 + seen.twice
    whole = float(pooled.sum())
    if np.count_nonzero(pooled) < naming.hosts:
        return None
    found = 0.0
    for probes, level in (
        (whole, naming.level),
        (whole - float(pooled.max()), naming.rest_level),
    ):
        needed = losses_needed(probes, naming, level)
        if needed > probes:
            return None
        shown = special.betaincinv(needed, probes - needed + 1.0, parameters.power)
        found = max(found, float(shown))
    crossings = 2 * pooled
    low, high = found * whole / float((seen.once / 2 + 2 * seen.twice).sum()), 1.0
    if _seen_from(crossings, high, naming.hosts) < parameters.power:
        return None
    if _seen_from(crossings, low, naming.hosts) >= parameters.power:
        return low
    while high - low > 1e-3 * high:
        middle = (low + high) / 2
        enough = _seen_from(crossings, middle, naming.hosts) >= parameters.power
        low, high = (low, middle) if enough else (middle, high)
    return high


def _seen_from(crossings: F64, loss: float, hosts: int) -> float:
    """P(at least so many source hosts lose a probe), by the distribution of their number."""
    missed = np.where(
        crossings >= 1, (1.0 - loss) ** np.maximum(crossings, 1), 1.0 - crossings * loss
    )
    fewer = np.zeros(hosts)  # P(0), P(1), ... of the hosts so far
    fewer[:1] = 1.0
    for each in missed:
        fewer[1:] = fewer[1:] * each + fewer[:-1] * (1.0 - each)
        fewer[:1] *= each
    return float(1.0 - fewer.sum())
