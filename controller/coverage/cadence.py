"""From a detection goal to the interval of a list. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from controller.coverage.power import Naming, Seen, smallest_loss
from controller.ping_lists.parameters import DEFAULT, PingListParameters


class Cadence(NamedTuple):
    """A planned interval.

    interval_s  between two probes of a five-tuple [s]
    loss        that is named everywhere at this interval [1]; None: none is somewhere
    """

    interval_s: float
    loss: float | None


def planned_interval(
    seen: Sequence[Seen],
    loss: float,
    naming: Naming,
    parameters: PingListParameters = DEFAULT,
) -> Cadence:
    """The longest interval at which this loss is named wherever it is.

    seen  of each component, when every five-tuple is probed once
    loss  of what crosses the component [1]; 1 for an outage
    The shortest interval, where even that does not suffice: then ``loss`` says what does.
    """
    distinct = {np.round(np.sort(np.stack(each)), 6).tobytes(): each for each in seen}

    def named(interval_s: float) -> float | None:
        worst = 0.0
        for each in distinct.values():
            found = smallest_loss(each.scaled(naming.window_s / interval_s), naming)
            if found is None:
                return None
            worst = max(worst, found)
        return worst

    def suffices(interval_s: float) -> bool:
        reached = named(interval_s)
        return reached is not None and reached <= loss

    short, long = parameters.shortest_interval_s, parameters.longest_interval_s
    if suffices(long):
        return Cadence(long, named(long))
    if not suffices(short):
        return Cadence(short, named(short))
    while long / short > 1.01:
        middle = (short * long) ** 0.5
        short, long = (middle, long) if suffices(middle) else (short, middle)
    return Cadence(short, named(short))
