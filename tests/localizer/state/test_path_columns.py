"""End hosts, layer and endpoint pair by row of the path table."""

from __future__ import annotations

import numpy as np
from builders.clusters import End, path
from builders.incidences import paths_of

from localizer.baselines.hosts import HostActivity
from localizer.state.path_columns import PathColumns

A = End("c1", "h1", "r1", "asw1")
B = End("c2", "h2", "r2", "asw2")
PATHS = [path(A, B), path(A, B, "overlay"), path(B, A), path(A, B, port=50_001)]


def columns() -> PathColumns:
    found = PathColumns()
    found.append(paths_of(PATHS), HostActivity())
    return found


def test_five_tuples_of_one_pair_and_layer_have_one_code() -> None:
    found = columns()
    assert found.pair.tolist() == [0, 1, 2, 0]
    assert found.layer.tolist() == [0, 1, 0, 0]
    assert found.pairs == 3


def test_hosts_are_those_of_source_and_destination() -> None:
    assert columns().hosts.tolist() == [[0, 0, 1, 0], [1, 1, 0, 1]]


def test_retained_rows_close_the_gaps() -> None:
    found = columns()
    found.retain(np.array([False, True, True, False]))
    assert found.pair.tolist() == [1, 2]
    found.renumber_hosts(np.array([1, 0]))
    assert found.hosts.tolist() == [[1, 0], [0, 1]]


def test_pairs_are_numbered_anew_when_codes_of_texts_have_changed() -> None:
    found = columns()
    found.retain(np.array([False, True, True, False]))
    found.recode(paths_of(PATHS[1:3]))
    assert (found.pair.tolist(), found.pairs) == ([0, 1], 2)


def test_rnics_are_those_of_both_ends_of_all_paths() -> None:
    assert columns().rnics(paths_of(PATHS)) == {(0, "r1"), (1, "r2")}
