"""How much one source host may count: no more than a few others together. No I/O.

Records say themselves how many probes they sum up, so that a host that writes a million where
others write one would decide alone what is lost in the fabric. Honest hosts of a fabric probe at
about the same rate (within a factor of 1.93 in all shipped scenarios), and stay as they are.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

I32 = npt.NDArray[np.int32]
F64 = npt.NDArray[np.float64]
U32 = npt.NDArray[np.uint32]

#: Probes that a source host may count for in a second, in medians over all source hosts of the
#: fabric; and a single five-tuple, in medians of the hosts' means.
MOST_HOST: Final = 3.0
MOST_TUPLE: Final = 8.0
#: With fewer source hosts there is no telling who is the odd one.
FEWEST_HOSTS: Final = 4


def bounded(source: I32, counts: dict[str, U32]) -> dict[str, U32]:
    """The counts of one second, those of a host that says too much scaled down.

    source  (n,) source host of each pane; counts (n,) sent, lost, refused
    returns the very same arrays where no host exceeds the bounds; lost and refused are scaled as
            sent is
    """
    sent = counts["sent"]
    panes = np.bincount(source, sent > 0)
    total = np.bincount(source, sent).astype(np.float64)
    active = panes > 0
    if int(active.sum()) < FEWEST_HOSTS:
        return counts
    tuple_limit = max(1.0, MOST_TUPLE * float(np.median(total[active] / panes[active])))
    host_limit = MOST_HOST * float(np.median(total[active]))
    if total.max() <= host_limit and sent.max() <= tuple_limit:
        return counts
    allowed = np.minimum(sent, np.floor(tuple_limit))
    total = np.bincount(source, allowed).astype(np.float64)
    share = np.minimum(1.0, host_limit / np.maximum(total, 1.0))[source]
    kept = _thinned(source, allowed, share)
    scale = kept / np.maximum(sent, 1)
    out = {name: _scaled(each, scale, kept) for name, each in counts.items() if name != "sent"}
    return {"sent": kept, **out}


def _scaled(count: U32, scale: F64, most: U32) -> U32:
    """A count that goes with the number of probes: nothing stays nothing, all stays all."""
    return np.minimum(np.rint(count * scale), most).astype(np.uint32)


def _thinned(source: I32, sent: F64, share: F64) -> U32:
    """Whole numbers that make up this share of each host's probes, however few a pane has."""
    out = sent.astype(np.uint32)
    for host in np.unique(source[share < 1.0]).tolist():
        here = np.flatnonzero(source == host)
        upto = np.floor(np.cumsum(sent[here]) * share[here])
        out[here] = np.diff(upto, prepend=0.0).astype(np.uint32)
    return out
