"""What a strategy is given and what it gives back."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt
from scipy import sparse

from localizer.fabric.incidence.factored import FactoredIncidence

Bool = npt.NDArray[np.bool_]
F64 = npt.NDArray[np.float64]
I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]


class Crossings(Protocol):
    """Which of P paths cross which of C observability classes, and how.

    incidence  (P, C) share of a path's traversals, forward and reply, that cross the class; 0..1:
               the mean of forward and reverse
    forward    (P, C) probability that the path crosses the class in the direction a>b of a link's
               id, or by its request if the class is no link; 1 or 0 where the route is known.
               None: both directions cross with the probability ``incidence``
    reverse    (P, C) the same for b>a, or by the reply
    directed   (C,) classes that hold nothing but links, so that a direction means something;
               None: none
    tunnels    (C,) classes that hold an rnic, which may fail tunnelled packets alone; None: none

    A fabric's matrices are large and written out only when asked for; sums and single rows are not.
    """

    @property
    def incidence(self) -> sparse.csr_array: ...
    @property
    def forward(self) -> sparse.csr_array | None: ...
    @property
    def reverse(self) -> sparse.csr_array | None: ...
    @property
    def directed(self) -> Bool | None: ...
    @property
    def tunnels(self) -> Bool | None: ...
    def pooled(self, values: F64 | I64 | Bool) -> F64:
        """(C,) sum over paths (P,), weighted by the share that crosses each class."""

    def rows(self, rows: I64, columns: I64) -> tuple[sparse.csr_array, sparse.csr_array]:
        """(n, len(columns)) twice: forward and reverse of some paths and classes, one pattern."""

    def crossing_counts(self, kind: I64, columns: I64) -> tuple[I64, F64, Bool, F64]:
        """How many paths of each kind (P,; -1: none) cross some classes, by share and direction;
        see ``FactoredIncidence``."""


@dataclass(frozen=True)
class Matrices:
    """Crossings written out, for evidence that no fabric stands behind."""

    incidence: sparse.csr_array
    forward: sparse.csr_array | None = None
    reverse: sparse.csr_array | None = None
    directed: Bool | None = None
    tunnels: Bool | None = None

    @cached_property
    def _factored(self) -> FactoredIncidence:
        forward = self.incidence if self.forward is None else self.forward
        return FactoredIncidence.unfactored(forward, self.reverse)

    def pooled(self, values: F64 | I64 | Bool) -> F64:
        """See ``Crossings``."""
        return np.asarray(self.incidence.T @ values.astype(np.float64)).ravel()

    def rows(self, rows: I64, columns: I64) -> tuple[sparse.csr_array, sparse.csr_array]:
        """See ``Crossings``."""
        return self._factored.rows(rows, columns)

    def crossing_counts(self, kind: I64, columns: I64) -> tuple[I64, F64, Bool, F64]:
        """See ``Crossings``."""
        return self._factored.crossing_counts(kind, columns)


@dataclass(frozen=True, slots=True)
class Evidence:
    """One window of probes over P paths and C observability classes of components.

    crossings   which path crosses which class
    sent, lost  (P,) probes [count]
    excess_us   (P,) latency above the path's own past [us]; zeros when the symptom is loss
    noise_us    (P,) robust spread of that excess while healthy [us], > 0; ones when it is loss
    bad         (P,) paths that the detector holds for bad
    source      (P,) code of the source host
    overlay     (P,) layer
    background  healthy loss probability of a round trip [1], learnt
    latency     the symptom is latency; else it is loss or unreachability
    healthy_us  added latency of a crossing that a healthy component may have [us]; None: as much as
                the strategy takes for healthy, given the noise
    suspect     (C,) classes of open incidents: likelier than others to be the cause now; None: none
    plausible   (C,) classes whose paths, whatever the cause, are bad more often than chance would
                have it: nothing else is a culprit; None: anything may be
    """

    crossings: Crossings
    sent: I64
    lost: I64
    excess_us: F64
    noise_us: F64
    bad: Bool
    source: I32
    overlay: Bool
    background: float
    latency: bool = False
    healthy_us: float | None = None
    suspect: Bool | None = None
    plausible: Bool | None = None

    @property
    def incidence(self) -> sparse.csr_array:
        """(P, C) shares; see ``Crossings``."""
        return self.crossings.incidence

    @property
    def forward(self) -> sparse.csr_array | None:
        """(P, C) see ``Crossings``."""
        return self.crossings.forward

    @property
    def reverse(self) -> sparse.csr_array | None:
        """(P, C) see ``Crossings``."""
        return self.crossings.reverse

    @property
    def directed(self) -> Bool | None:
        """(C,) see ``Crossings``."""
        return self.crossings.directed

    @property
    def tunnels(self) -> Bool | None:
        """(C,) see ``Crossings``."""
        return self.crossings.tunnels


@dataclass(frozen=True, slots=True)
class Attribution:
    """A class that a strategy holds for guilty.

    column   column of the incidence
    effect   estimated loss probability [1] or added latency [us] of a path that crosses it fully
    p_value  of the strategy's own test, corrected for the classes it looked at; 1.0 if it has none
    direction  of a link: both, a>b or b>a; None when the strategy does not say
    share    share of the five-tuples crossing it that are hit [1]
    tunnelled  only packets of the overlay are hit; ``share`` is of their five-tuples
    classes  column -> probability to be what explains these paths, its own and those of the
             alternatives; None when the strategy does not weigh them
    """

    column: int
    effect: float
    p_value: float
    direction: str | None = None
    share: float = 1.0
    tunnelled: bool = False
    classes: dict[int, float] | None = None
