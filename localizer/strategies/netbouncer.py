"""NetBouncer: success probabilities of links that fit the paths, pushed towards 0 or 1.

    minimise  sum_p (y_p - prod_{l on p} x_l)^2 + lambda sum_l x_l (1 - x_l),   0 <= x_l <= 1

with y_p the share of a path's packets that came back. Coordinate descent: with the others fixed,
t_p the product of the other links on path p, S1 = sum t y and S2 = sum t^2,

    x_l = clip((2 S1 - lambda) / (2 (S2 - lambda)), 0, 1).

Before that, a device with no clean path is bad; its paths are left out of the fit.

Source     Tan et al., NetBouncer (NSDI 2019); parameters as tuned by Flock (CoNEXT 2023).
Chosen by us  Routes must be known, so paths whose route is not are left out; if none is known, each
           path counts for all that it may cross. A class that holds more than links is a device; it
           gets an x as well, for it may lose little. Devices are asked in order of paths, each
           without the paths of those before it, or a dead ToR would drag its rnics behind it along.
           Flock's rule for devices (a share of bad paths above 0.075) blames whole switches for a
           few bad links and is not used. Where S2 <= lambda the objective is concave in x_l and the
           better end is taken. The directions of a link are two suspects, as in Flock's simulator.
Latency    y is 1 for a timely path and 0 for a late one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
from scipy import sparse

from localizer.evidence import F64, Attribution, Bool, Evidence
from localizer.strategies.crossing import Crossing, column_of, crossing
from localizer.strategies.registry import strategy, vary
from schemas.parameters.parameter import parameter

_FLOOR: Final = 1e-12  # keeps a dead link's x out of divisions by zero
_SOURCE: Final = "Tan et al., NSDI 2019; as tuned by Flock, CoNEXT 2023"


@dataclass(frozen=True, slots=True)
class NetbouncerParameters:
    """Parameters of NetBouncer.

    penalty  lambda of the objective
    link     loss from which a link is blamed
    sweeps   coordinate descent stops after so many,
    settled  or when the objective changes by less
    """

    penalty: float = parameter(0.011, unit="1", source=_SOURCE)
    link: float = parameter(0.002, unit="1", source=_SOURCE)
    sweeps: int = parameter(100, unit="count", source="chosen: pytest tests/contracts")
    settled: float = parameter(1e-6, unit="1", source="chosen: pytest tests/contracts")

    @property
    def label(self) -> str:
        """Name of this variant."""
        return f"penalty={self.penalty}, link={self.link}"


KNOWN: Final = NetbouncerParameters(0.011, 0.002)  # all routes known
ACTIVE: Final = NetbouncerParameters(0.001, 0.007)  # active probes only
SWEEP = (KNOWN, ACTIVE, *(
    NetbouncerParameters(penalty, link)
    for penalty in (0.011, 0.1, 0.3, 1.0, 2.0, 5.0)
    for link in (0.001, 0.002, 0.003, 0.005, 0.007, 0.01, 0.015, 0.02, 0.03, 0.05)
))  # fmt: skip


@strategy("netbouncer")
def netbouncer(evidence: Evidence) -> list[Attribution]:
    """Bad devices, then links by estimated loss; parameters by whether all routes are known."""
    return attribute(evidence, KNOWN if crossing(evidence).known.all() else ACTIVE)


def attribute(evidence: Evidence, parameters: NetbouncerParameters) -> list[Attribution]:
    """NetBouncer with other parameters."""
    seen = crossing(evidence, ways=True)
    probed = evidence.sent > 0
    rows = np.flatnonzero(probed & seen.known if (probed & seen.known).any() else probed)
    if not len(rows):
        return []
    share = seen.share[rows].tocsr()
    y = 1.0 - np.minimum(evidence.lost[rows] / evidence.sent[rows], 1.0)
    devices, left = _dead(share, y, _device(evidence, seen))
    x = fit(share[left].tocsr(), y[left], parameters)
    order = np.argsort(x, kind="stable")
    links = [int(k) for k in order if 1.0 - x[k] >= parameters.link and int(k) not in devices]
    return seen.attributions(evidence, [*devices, *links])


def _device(evidence: Evidence, seen: Crossing) -> Bool:
    """(K,) suspects that are more than a link; none if the evidence does not say."""
    if evidence.directed is None:
        return np.zeros(len(seen.column), bool)
    return ~evidence.directed[seen.column]


def _dead(share: sparse.csr_array, y: F64, device: Bool) -> tuple[list[int], Bool]:
    """Devices without a clean path, and (P,) the paths that cross none of them."""
    left = np.ones(len(y), bool)
    found: list[int] = []
    while device.any():
        every = np.asarray(share.T @ left.astype(float))
        clean = np.asarray(share.T @ (left & (y >= 1.0)).astype(float))
        dead = np.where(device & (clean == 0), every, 0.0)
        top = int(np.argmax(dead))
        if not dead[top] > 0:
            break
        found.append(top)
        left &= column_of(share, top) == 0
    return found, left


def fit(share: sparse.csr_array, y: F64, parameters: NetbouncerParameters) -> F64:
    """(K,) success probabilities by coordinate descent from the mean success of each one's paths.

    share (P, K), nonzero where the path crosses; y (P,)
    A suspect on clean paths only has t y >= t^2 in every term, so that its x stays 1.
    """
    penalty, count = parameters.penalty, share.shape[1]
    hurt = np.asarray(share.T @ (y < 1.0).astype(float)) > 0
    crossed = np.bincount(share.indices, minlength=count)
    weight = share.copy()
    weight.data = np.ones_like(weight.data)
    x = np.where(hurt, np.asarray(weight.T @ y) / np.maximum(crossed, 1), 1.0)
    columns = share.tocsc()
    order = np.lexsort(
        (np.round(x, 9), crossed)
    )  # what few paths cross first: it must not keep a wider
    suspects = [  # suspect's loss, which many share, only for having been asked late
        (int(k), columns.indices[columns.indptr[k] : columns.indptr[k + 1]])
        for k in order[hurt[order]]
    ]
    weight.data = np.ones_like(weight.data)
    before = np.inf
    for _ in range(parameters.sweeps):
        product = np.exp(np.asarray(weight @ np.log(np.maximum(x, _FLOOR))))
        error = float(((y - product) ** 2).sum() + penalty * (x * (1.0 - x)).sum())
        if abs(before - error) < parameters.settled:
            break
        before = error
        for k, rows in suspects:
            old = max(x[k], _FLOOR)
            others = product[rows] / old
            x[k] = step(float(others @ y[rows]), float(others @ others), penalty)
            product[rows] = others * max(x[k], _FLOOR)
    return x


def step(s1: float, s2: float, penalty: float) -> float:
    """The x in [0, 1] that minimises s2 x^2 - 2 s1 x + penalty x (1 - x)."""
    if s2 > penalty:
        return min(1.0, max(0.0, (2.0 * s1 - penalty) / (2.0 * (s2 - penalty))))
    return 1.0 if s2 <= 2.0 * s1 else 0.0  # concave: at 0 it is 0, at 1 it is s2 - 2 s1


vary("netbouncer", {p.label: partial(attribute, parameters=p) for p in SWEEP})
