"""How much one source host may count: no more than a few others together. No I/O.

Records state themselves how many probes they sum up, so that a host that writes a million where
others write one would decide alone what is lost in the fabric. Honest hosts of a fabric probe at
about the same rate (within a factor of 1.93 in all shipped scenarios), and stay as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from schemas.parameters.parameter import parameter

I32 = npt.NDArray[np.int32]
F64 = npt.NDArray[np.float64]
U32 = npt.NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class SourceWeightParameters:
    """Bounds of what counts in a second.

    most_host    probes of a source host, in medians over all source hosts of the fabric
    most_tuple   probes of a five-tuple, in medians of the hosts' means
    least_hosts  with fewer source hosts no host stands out, and nothing is bounded
    """

    most_host: float = parameter(
        3.0, unit="medians", source="measured: honest hosts differ by at most 1.93 in all scenarios"
    )
    most_tuple: float = parameter(
        8.0, unit="medians", source="chosen: pytest tests/localizer (one loud sender)"
    )
    least_hosts: int = parameter(
        4, unit="hosts", source="chosen: pytest tests/localizer (one loud sender)"
    )


DEFAULT: Final = SourceWeightParameters()


def bounded(
    source: I32, counts: dict[str, U32], parameters: SourceWeightParameters = DEFAULT
) -> dict[str, U32]:
    """The counts of one second, those of a host that exceeds the bounds scaled down.

    source   (n,) source host of each pane; counts (n,) sent, lost, refused
    returns  the very same arrays where no host exceeds the bounds; lost and refused are scaled as
             sent is
    """
    sent = counts["sent"]
    panes = np.bincount(source, sent > 0)
    total = np.bincount(source, sent).astype(np.float64)
    active = panes > 0
    if int(active.sum()) < parameters.least_hosts:
        return counts
    usual = float(np.median(total[active] / panes[active]))
    tuple_limit = max(1.0, parameters.most_tuple * usual)
    host_limit = parameters.most_host * float(np.median(total[active]))
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
    """A count in proportion to the number of probes: none stays none, all stays all."""
    return np.minimum(np.rint(count * scale), most).astype(np.uint32)


def _thinned(source: I32, sent: F64, share: F64) -> U32:
    """Whole numbers that make up this share of each host's probes, however few a pane has."""
    out = sent.astype(np.uint32)
    for host in np.unique(source[share < 1.0]).tolist():
        here = np.flatnonzero(source == host)
        upto = np.floor(np.cumsum(sent[here]) * share[here])
        out[here] = np.diff(upto, prepend=0.0).astype(np.uint32)
    return out
