"""Paths by the codes of other tables are the same paths."""

from __future__ import annotations

from builders.clusters import Cluster
from builders.incidences import paths_of

from localizer.fabric.path_table import StringTable, new_tables
from localizer.fabric.recoding import Recoding


class CountedTable(StringTable):
    """Counts the texts that are looked up."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = 0

    def find(self, texts):  # type: ignore[no-untyped-def]
        """See ``StringTable``."""
        self.asked += len(texts)
        return super().find(texts)


def test_recoded_paths_are_the_same_paths() -> None:
    cluster = Cluster()
    tables = paths_of(cluster.paths).tables
    recoding = Recoding()
    for part in (cluster.paths[::-1], cluster.paths[:7]):
        found = recoding.applied(paths_of(part), tables)
        assert list(found) == part
        assert found.tables is tables


def test_texts_are_looked_up_once() -> None:
    paths = paths_of(Cluster().paths)
    tables = {name: CountedTable() for name in new_tables()}
    recoding = Recoding()
    assert list(recoding.applied(paths[:30], tables)) == list(paths[:30])
    asked = {name: table.asked for name, table in tables.items()}
    assert list(recoding.applied(paths[:30], tables)) == list(paths[:30])
    assert {name: table.asked for name, table in tables.items()} == asked
    assert asked == {name: len(table) for name, table in tables.items()}


def test_paths_of_compacted_tables_are_looked_up_anew() -> None:
    cluster, recoding, tables = Cluster(), Recoding(), new_tables()
    assert list(recoding.applied(paths_of(cluster.paths), tables)) == cluster.paths
    others = paths_of(cluster.paths[5::-1])  # the same texts have other codes
    assert list(recoding.applied(others, tables)) == cluster.paths[5::-1]
