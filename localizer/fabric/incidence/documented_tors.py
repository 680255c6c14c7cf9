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
from localizer.fabric.key_index import pair_key
from localizer.fabric.path_table import Paths
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

    def applied(self, paths: Paths) -> Paths:
        """The same paths with the access switches of the document, where it has them."""
        if not self._asws:
            return paths
        codes, asws = paths.codes.copy(), paths.table("src_asw")
        nothing = asws.code("")
        for side in ("src", "dst"):
            rnics, row = paths.column(f"{side}_real_ip"), codes[PATH_STRINGS.index(f"{side}_asw")]
            documented = np.full(len(paths.table("src_real_ip").texts), -1, np.int32)
            bonds = []  # rnic and each of its access switches
            for code, names in self._named(rnics, paths).items():
                documented[code] = asws.code(names[0]) if len(names) == 1 else nothing
                if len(names) > 1:
                    bonds += [(code, asws.code(name)) for name in names]
            of = documented[rnics]
            if bonds:
                known = np.isin(pair_key(rnics, row), pair_key(*np.array(bonds).T))
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
            first = np.full(len(paths.table("src_real_ip").texts), -1, np.int32)
            for code, asws in self._named(rnics, paths).items():
                if len(asws) > 1:
                    first[code] = self._graph.tor(asws[0])
            rnic_tors.learn(rnics, first[rnics])
            out.append(first[rnics])
        return out[0], out[1]

    def _named(self, rnics: I32, paths: Paths) -> dict[int, tuple[str, ...]]:
        """Code -> access switches, of those rnics of a column that the document knows."""
        if not self._asws:
            return {}
        texts = paths.table("src_real_ip").texts
        used = np.zeros(len(texts), bool)
        used[rnics] = True
        asws = self._asws
        return {
            code: asws[texts[code]] for code in np.flatnonzero(used).tolist() if texts[code] in asws
        }
