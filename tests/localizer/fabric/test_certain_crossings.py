"""Sums over the paths that cross a component for certain, by direction."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from localizer.fabric.incidence.factored import FactoredIncidence

#: Path 0 crosses a by request and answer; path 1 by request only; path 2 on half of its routes.
FORWARD = sparse.csr_array(np.array([[1.0, 0.0], [1.0, 0.0], [0.5, 1.0]]))
REVERSE = sparse.csr_array(np.array([[1.0, 0.0], [0.0, 0.0], [0.5, 1.0]]))
VALUES = np.array([1.0, 10.0, 100.0])


def test_only_paths_with_a_known_route_count_in_each_direction() -> None:
    incidence = FactoredIncidence.unfactored(FORWARD, REVERSE)
    mean, forward, reverse = incidence.pooled_by_direction(VALUES)
    assert mean.tolist() == incidence.pooled(VALUES).tolist() == [56.0, 100.0]
    assert forward.tolist() == [11.0, 100.0]
    assert reverse.tolist() == [1.0, 100.0]


def test_the_certain_paths_of_a_component_are_those_that_the_sums_count() -> None:
    incidence = FactoredIncidence.unfactored(FORWARD, REVERSE)
    forward, reverse = incidence.certain(0)
    assert forward.tolist() == [True, True, False]
    assert reverse.tolist() == [True, False, False]
    assert incidence.forward[:, [0]].nnz == 3  # asking does not change the incidence
