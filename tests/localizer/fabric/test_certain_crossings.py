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


def test_paths_that_cross_for_certain_are_summed_by_group_whichever_direction_is_known() -> None:
    incidence = FactoredIncidence.unfactored(FORWARD, REVERSE)
    group = np.array([0, 1, 1])
    certain = incidence.pooled_by_group(VALUES, group, np.array([0, 1]), certain=True)
    assert certain.tolist() == [[1.0, 10.0], [0.0, 100.0]]
    assert incidence.pooled_by_group(VALUES, group, np.array([0, 1])).tolist() == [
        [1.0, 55.0], [0.0, 100.0],
    ]  # fmt: skip


def test_a_component_is_partly_certain_if_some_of_its_traversals_are_and_others_are_not() -> None:
    unknown = sparse.csr_array(np.array([[0.5, 0.5], [0.5, 0.5]]))
    known = sparse.csr_array(np.array([[1.0, 0.0], [0.0, 1.0]]))
    assert FactoredIncidence.unfactored(FORWARD, REVERSE).partly_certain.tolist() == [True, False]
    assert FactoredIncidence.unfactored(unknown).partly_certain.tolist() == [False, False]
    assert FactoredIncidence.unfactored(known).partly_certain.tolist() == [False, False]
    assert FactoredIncidence.unfactored(known, unknown).partly_certain.tolist() == [True, True]
