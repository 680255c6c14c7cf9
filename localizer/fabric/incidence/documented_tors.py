"""Access switches of rnics by a topology document, which come before those of records. No I/O.

A record names the switch that its sender knew, and a path keeps its first record's. Of an rnic with
one access switch the document's counts, whatever records say. Of one that is bonded over several, a
record may know which of these its five-tuple takes; else each is as probable.

Example: the document has r1 behind t1, and r2 bonded over t2 and t3. Records of r1 at t9 and r2 at
t3 become t1 and t3; one of r2 at t9 names none.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from localizer.fabric.incidence.rnic_tors import RnicTors
from localizer.fabric.key_index import GrowableArray, pair_key
from localizer.fabric.path_table import Paths, StringTables
from localizer.fabric.switch_graph import SwitchGraph
from schemas.documents.topology import Topology
from schemas.wire.window_chunks import PATH_STRINGS

I32 = npt.NDArray[np.int32]


class DocumentedTors:
    """What a document says of rnics; nothing without one."""

    def __init__(self, topology: Topology | None, graph: SwitchGraph) -> None:
        self._graph = graph
        hosts = topology.hosts if topology is not None else ()
        self._asws = {r.real_ip: r.tors for host in hosts for r in host.rnics if r.tors}
        self._begin(None)

    def _begin(self, tables: StringTables | None) -> None:
        """Remember nothing of rnics; what is remembered from now on is by codes of these tables."""
        self._tables = tables
        self._asked = GrowableArray(np.bool_)
        self._asw = GrowableArray(np.int32, fill=-1)  # by rnic: code of the switch, -1: unknown
        self._bonded: dict[int, tuple[str, ...]] = {}
        self._bonds: list[tuple[int, int]] = []  # rnic and each of its switches

    def applied(self, paths: Paths) -> Paths:
        """The same paths with the access switches of the document, where it has them."""
        if not self._asws:
            return paths
        codes = paths.codes.copy()
        for side in ("src", "dst"):
            rnics, row = paths.column(f"{side}_real_ip"), codes[PATH_STRINGS.index(f"{side}_asw")]
            self._ask(rnics, paths)
            of = self._asw.values[rnics]
            if self._bonds:
                known = np.isin(pair_key(rnics, row), pair_key(*np.array(self._bonds).T))
                of = np.where(known, row, of)
            row[:] = np.where(of >= 0, of, row)
        return Paths(paths.ids, codes, paths.ports, paths.tables)

    def place(self, paths: Paths, rnic_tors: RnicTors) -> tuple[I32, I32]:
        """Tell where the bonded rnics of some paths are; of the others, paths name the switch.

        returns  (n,) (n,) a ToR of each path's source and destination, -1 if that is not bonded
        """
        out = []
        for side in ("src", "dst"):
            rnics = paths.column(f"{side}_real_ip")
            self._ask(rnics, paths)
            first = np.full(len(paths.table("src_real_ip").texts), -1, np.int32)
            for code in sorted(set(rnics.tolist()) & self._bonded.keys()) if self._bonded else ():
                first[code] = self._graph.tor(self._bonded[code][0])
            rnic_tors.learn(rnics, first[rnics])
            out.append(first[rnics])
        return out[0], out[1]

    def _ask(self, rnics: I32, paths: Paths) -> None:
        """Learn what the document says of the rnics of a column; it is asked once for each."""
        if not self._asws:
            return
        if self._tables is not paths.tables:
            self._begin(paths.tables)
        texts, asws = paths.table("src_real_ip").texts, paths.table("src_asw")
        nothing = asws.code("")
        for column in (self._asked, self._asw):
            column.grow(len(texts))
        new = np.zeros(len(texts), bool)
        new[rnics] = True
        new &= ~self._asked.values
        self._asked.values[new] = True
        for code in np.flatnonzero(new).tolist():
            names = self._asws.get(texts[code])
            if names is None:
                continue
            if len(names) == 1:
                self._asw.values[code] = asws.code(names[0])
                continue
            self._asw.values[code] = nothing
            self._bonded[code] = names
            self._bonds += [(code, asws.code(name)) for name in names]
