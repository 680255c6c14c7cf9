"""How unlikely it is that healthy paths look so slow as those of a class do. No I/O.

The paths of a class are compared with others of their jobs, and among the five-tuples of each pair.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from localizer.detectors import pair_contrasts, peer_groups
from localizer.detectors.latency.deviation import LatencyDeviation
from localizer.detectors.latency.outright import far_above, outright
from localizer.fabric.observability import Classes
from localizer.state.fabric_state import FabricState

Bool = npt.NDArray[np.bool_]
F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]


class Slow(NamedTuple):
    """Paths that look slow.

    paths          (P,)
    healthy_share  of healthy ones that may look so, whatever the others do [1]
    least_pairs    of so many pairs at least some are so, of a class that is at fault
    """

    paths: Bool
    healthy_share: float
    least_pairs: int = 1


class Sample(NamedTuple):
    """Paths that are compared.

    pair   (P,); peers (P,) peer group; overlay (P,) layer
    valid  (P,) paths whose shift is known; vote (P,) weight of each, 0 of others
    """

    pair: I64
    peers: I64
    overlay: Bool
    valid: Bool
    vote: F64


def looks(state: FabricState, at: int, shift: LatencyDeviation, length_s: int) -> list[Slow]:
    """Paths that the shift flags; and where some are slow outright over these seconds, those."""
    found = [Slow(shift.flagged, shift.healthy_share)]
    parameters, usual = state.options.detectors.latency, state.latency.baseline.reference
    if not _whole(state, length_s) or len(usual) < len(shift.flagged):
        return found
    rows = far_above(shift, usual, parameters)
    if len(rows):
        seconds = range(at + 1 - state.options.timing.window_s, at + 1)
        rtt = np.stack([state.history.rtt_us(second)[rows] for second in seconds])
        slow = outright(shift, rows, rtt, usual, parameters)
        found.append(Slow(slow, parameters.outright_share, parameters.least_pairs))
    return found


def tests(state: FabricState, groups: Classes, length_s: int) -> int:
    """Tests of all classes over so many seconds [count].

    What tunnels is tested twice, for an rnic may fail the overlay alone; so is what some paths
    cross for certain, for a fault is then as good as hidden among those that only may cross it. And
    all are tested among the five-tuples of each pair. Each is done by what is slow outright, too.
    """
    more = groups.tunnels.astype(np.int64) + groups.factored.partly_certain + 1
    return (1 + _whole(state, length_s)) * (len(groups.members) + int(more.sum()))


def _whole(state: FabricState, length_s: int) -> bool:
    """Whether these are seconds of whole windows, which may be slow outright."""
    return length_s >= state.options.timing.window_s


def p_values(
    state: FabricState, groups: Classes, sample: Sample, slow: list[Slow], level: float
) -> F64:
    """(K,) smallest p-value of each class; at or above ``level`` it may be 1."""
    detectors, out = state.options.detectors, np.ones(len(groups.members))
    for paths, healthy_share, _ in slow:
        test = partial(
            peer_groups.excess_p_values, groups.factored, sample.peers, slow=paths,
            healthy_share=healthy_share, parameters=detectors.peer_groups, level=level,
        )  # fmt: skip
        every, above = test(sample.vote), test(sample.vote * sample.overlay)
        among = np.where(groups.tunnels, np.minimum(every, above), every)
        within = pair_contrasts.excess_p_values(
            groups.factored, sample.pair, sample.valid, paths & sample.valid, healthy_share,
            detectors.pair_contrasts, level=level,
        )  # fmt: skip
        for each in (among, test(sample.vote, certain=True), within):
            np.minimum(out, each, out=out)
    return out


def p_value(
    state: FabricState, share: F64, certain: Bool, rows: Bool, sample: Sample, slow: Slow
) -> float:
    """The same of one class.

    share  (P,) of which each path crosses it; certain (P,) paths that do for certain; rows (P,)
           those of its paths that count
    """
    paths, healthy_share, least_pairs = slow
    if len(np.unique(sample.pair[rows & sample.valid & paths])) < least_pairs:
        return 1.0
    among = peer_groups.excess_p_value(
        share * rows, sample.peers, sample.vote, paths, healthy_share,
        state.options.detectors.peer_groups,
    )  # fmt: skip
    within = pair_contrasts.excess_p_value(
        certain & rows, sample.pair, sample.valid, paths & sample.valid, healthy_share
    )
    return min(among, within)
