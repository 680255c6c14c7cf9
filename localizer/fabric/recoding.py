"""Paths by the codes of other string tables; what was looked up before is not looked up again.

The localizer's path table and the incidence have string tables of their own where traceroutes came
before the first path, as after a restart. New paths mostly have the names of former ones.
"""

from __future__ import annotations

import numpy as np

from localizer.fabric.key_index import GrowableArray
from localizer.fabric.path_table import I32, Paths, StringTable, StringTables, table_name
from schemas.wire.window_chunks import PATH_STRINGS


class Recoding:
    """From the tables of paths to others, which are the same in each call; texts are only added.

    Example: from ``c2, c1`` to ``c1``: c2 is added there, and codes 0, 1 become 1, 0.
    """

    def __init__(self) -> None:
        self._of: dict[str, tuple[StringTable, GrowableArray]] = {}  # -1: not looked up yet

    def applied(self, paths: Paths, tables: StringTables) -> Paths:
        """The same paths by the codes of those tables; texts that are missing there are added."""
        if tables is paths.tables:
            return paths
        codes = np.empty_like(paths.codes)
        for row, field in enumerate(PATH_STRINGS):
            name = table_name(field)
            codes[row] = self._recoded(paths.codes[row], name, paths.table(field), tables[name])
        return Paths(paths.ids, codes, paths.ports, tables)

    def _recoded(self, codes: I32, name: str, table: StringTable, to: StringTable) -> I32:
        known, of = self._of.get(name, (None, None))
        if known is not table or of is None:
            of = GrowableArray(np.int32, fill=-1)
            self._of[name] = table, of
        of.grow(len(table))
        out: I32 = of.values[codes]
        if (unknown := np.unique(codes[out < 0])).size:
            of.values[unknown] = to.codes(table.texts[code] for code in unknown.tolist())
            out = of.values[codes]
        return out
