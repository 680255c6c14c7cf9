"""What probes cannot tell apart: components whose columns of the incidence are the same."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from localizer.incidence import preference


@dataclass(frozen=True, slots=True)
class Classes:
    """Observability classes of the components that any probe crosses.

    members    component ids of each class, likeliest cause first
    incidence  (P, K) one column a class
    """

    members: list[list[str]]
    incidence: sparse.csr_array


def classes(
    incidence: sparse.csr_array, components: list[str], live: npt.NDArray[np.bool_]
) -> Classes:
    """Group equal columns, over the paths that are probed now.

    incidence   (P, C); live (P,) rows that count
    Columns are compared by two random projections of 53 bits each: unequal columns collide with a
    probability near 2^-100.
    """
    rows, columns = incidence.shape
    weights = np.random.default_rng(0x5EED).random((rows, 2)) + 0.5
    weights[~live] = 0.0
    prints = np.round(np.asarray(incidence.T @ weights), 9)
    groups: defaultdict[tuple[float, float], list[int]] = defaultdict(list)
    for column in range(columns):
        if prints[column, 0] > 0:  # else no probe crosses it now
            groups[(prints[column, 0], prints[column, 1])].append(column)
    members = [sorted((components[c] for c in group), key=preference) for group in groups.values()]
    first = [group[0] for group in groups.values()]
    return Classes(members, incidence[:, first].tocsr())
