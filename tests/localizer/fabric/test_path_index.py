"""Paths by columns are the paths that chunks described."""

from __future__ import annotations

import numpy as np
from builders.clusters import Cluster, Second, pane

from localizer.fabric.path_index import PathIndex


def test_an_index_returns_the_paths_that_chunks_described() -> None:
    cluster = Cluster()
    index = PathIndex()
    (rows,), new = index.rows([pane([(p, Second()) for p in cluster.paths[:50]])])
    assert list(new) == cluster.paths[:50]
    assert rows.tolist() == list(range(50))
    both = [pane([(p, Second()) for p in cluster.paths[a:b]]) for a, b in ((40, 60), (55, 70))]
    again, new = index.rows(both)
    assert list(new) == cluster.paths[50:70]
    assert [rows.tolist() for rows in again] == [list(range(40, 60)), list(range(55, 70))]
    assert list(index.paths) == cluster.paths[:70]
    index.retain(np.arange(70) >= 10)
    assert list(index.paths) == cluster.paths[10:70]
    (rows,), _ = index.rows([pane([(p, Second()) for p in cluster.paths[5:15]])])
    assert rows.tolist() == [60, 61, 62, 63, 64, 0, 1, 2, 3, 4]


def test_compacted_tables_hold_no_text_that_no_path_has() -> None:
    cluster = Cluster()
    index = PathIndex()
    index.rows([pane([(p, Second()) for p in cluster.paths])])
    index.retain(np.arange(len(cluster.paths)) == 3)
    assert not index.compact(), "few texts are not worth it"
    assert index.compact(always=True)
    assert list(index.paths) == [cluster.paths[3]]
    assert set(index.tables["node_id"].texts) == {
        cluster.paths[3].src_node_id, cluster.paths[3].dst_node_id,
    }  # fmt: skip


def test_chunks_with_one_dictionary_are_read_as_those_with_their_own() -> None:
    cluster = Cluster()
    whole = pane([(p, Second()) for p in cluster.paths])
    own = [pane([(p, Second()) for p in cluster.paths[at : at + 20]]) for at in range(0, 80, 20)]
    parts = [own[0], *(whole.slice(at, 20) for at in (20, 40)), own[3], whole.slice(80)]
    index = PathIndex()
    index.rows(parts)
    assert list(index.paths) == cluster.paths
    assert {name: table.texts for name, table in index.tables.items()} == {
        name: sorted(set(table.texts), key=table.texts.index)
        for name, table in index.tables.items()
    }
