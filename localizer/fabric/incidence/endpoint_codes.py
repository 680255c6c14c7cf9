"""Codes of what paths have in common: their endpoints, and the pair of ToRs between these. No I/O.

A million paths have some ten thousand endpoints and pairs of ToRs; segments are built once per
code. Codes are given once and never change.

Example: of two paths r1 -> r2 and r1 -> r3 the endpoints are [[0, 0], [1, 2]]; if r2 and r3 are
behind one ToR, both have tor pair 0.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from localizer.fabric.incidence.rnic_tors import BOTH_NAMED, DST_NAMED, SRC_NAMED, RnicTors
from localizer.fabric.incidence.segments import ENDPOINT_FIELDS
from localizer.fabric.key_index import GrowableArray, KeyIndex, pair_key
from localizer.fabric.path_table import Paths
from localizer.fabric.switch_graph import SwitchGraph

I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]


class EndpointCodes:
    """What each code stands for, and codes of paths.

    endpoints  (4, E) host, rnic, container and access switch: codes of the paths' tables, -1 for
               none
    joint      (2, J) codes of two endpoints of one path that share something
    tor_pairs  (5, T) numbers of the two access switches in the graph, the spines that the records
               of the two ends name, as codes of the paths' table, and at which ends an access
               switch is named (bits SRC_NAMED, DST_NAMED): elsewhere it is one of the rnic's, by
               ``rnic_tors``, or -1
    rnic_tors  ToRs of the rnics, by their codes
    """

    def __init__(self, graph: SwitchGraph) -> None:
        self.endpoints = GrowableArray(np.int32, len(ENDPOINT_FIELDS))
        self.joint = GrowableArray(np.int32, 2)
        self.tor_pairs = GrowableArray(np.int32, 5)
        self.rnic_tors = RnicTors(graph)
        self._graph = graph
        names = ("host and rnic", "container and asw", "endpoint", "joint", "tors", "dsws", "pair")
        self._keys = {name: KeyIndex() for name in names}
        self._tors: dict[int, int] = {}  # code of an access switch -> number in the graph

    def of_endpoints(self, paths: Paths) -> I64:
        """(3, n) source, destination, and both jointly: -1 where they have nothing in common."""
        src, dst = (self._endpoint(paths, side) for side in ("src", "dst"))
        overlay = paths.mask("layer", "overlay")
        shared = paths.column("src_node_sn") == paths.column("dst_node_sn")
        shared |= paths.column("src_real_ip") == paths.column("dst_real_ip")
        shared |= overlay & (paths.column("src_node_id") == paths.column("dst_node_id"))
        joint = np.full(len(paths), -1)
        joint[shared], first = self._keys["joint"].code(pair_key(src[shared], dst[shared]))
        self.joint.append(np.vstack([src[shared][first], dst[shared][first]]))
        return np.vstack([src, dst, joint])

    def of_tor_pairs(self, paths: Paths) -> I64:
        """(n,) pair of ToRs of each path; -1 for what an rnic sends to itself."""
        dsws = np.stack([paths.column(f"{side}_dsw") for side in ("src", "dst")])
        rnics = np.stack([paths.column(f"{side}_real_ip") for side in ("src", "dst")])
        tors = np.stack(self.tors(paths))
        named = SRC_NAMED * (tors[0] >= 0) | DST_NAMED * (tors[1] >= 0)
        pairs = self._tor_pairs(rnics, tors, dsws, named)
        pairs[rnics[0] == rnics[1]] = -1
        return pairs

    def certain_tors(self, pairs: I64) -> I32:
        """(2, n) access switches of both ends; -1 where none is known, or one of several is."""
        a, b, _, _, named = self.tor_pairs.values[:, np.maximum(pairs, 0)]
        bonded = self._graph.bonded()
        guessed = np.stack([named & SRC_NAMED == 0, named & DST_NAMED == 0])
        tors = np.stack([a, b])
        return np.where(guessed & np.isin(tors, bonded), -1, tors)

    def unnamed_tors(self, pairs: I64) -> I32:
        """(2, n) a ToR of the rnic at both ends where its records name none; else -1."""
        a, b, _, _, named = self.tor_pairs.values[:, pairs]
        return np.where([named & SRC_NAMED > 0, named & DST_NAMED > 0], -1, [a, b])

    def tor_pairs_again(self, endpoints: I32, pairs: I64) -> I64:
        """(n,) pair of ToRs of some paths by what is known of their rnics now.

        endpoints  (2, n) codes of the source and the destination
        pairs      (n,) pair until now; -1 stays
        """
        out = pairs.copy()
        guessed = np.flatnonzero(pairs >= 0)
        guessed = guessed[self.tor_pairs.values[4, pairs[guessed]] != BOTH_NAMED]
        before = self.tor_pairs.values[:, pairs[guessed]]
        rnics = self.rnics(endpoints[:, guessed])
        named = before[4]
        tors = np.where([named & SRC_NAMED > 0, named & DST_NAMED > 0], before[:2], -1)
        out[guessed] = self._tor_pairs(rnics, tors, before[2:4], named)
        return out

    def rnics(self, endpoints: I32) -> I32:
        """Codes of the rnics of some endpoints, of any shape."""
        return np.asarray(self.endpoints.values[ENDPOINT_FIELDS.index("real_ip")][endpoints])

    def tors(self, paths: Paths) -> tuple[I32, I32]:
        """(n,) (n,) numbers in the graph of both ends' access switches; -1 for none."""
        src, dst = (
            self._tor_numbers(paths.column(f"{side}_asw"), paths) for side in ("src", "dst")
        )
        return src, dst

    def record_spines(self, paths: Paths) -> None:
        """Add the spines that records name to a graph that is not given."""
        if not self._graph.given:
            for field in ("src_dsw", "dst_dsw"):
                texts = paths.table(field).texts
                for code in np.unique(paths.column(field)).tolist():
                    if texts[code]:
                        self._graph.spine(texts[code])

    def _endpoint(self, paths: Paths, side: str) -> I64:
        host, rnic, box, asw = (paths.column(f"{side}_{name}") for name in ENDPOINT_FIELDS)
        box = np.where(paths.mask("layer", "overlay"), box, -1)
        outer, _ = self._keys["host and rnic"].code(pair_key(host, rnic))
        inner, _ = self._keys["container and asw"].code(pair_key(box, asw))
        codes, new = self._keys["endpoint"].code(pair_key(outer, inner))
        self.endpoints.append(np.vstack([column[new] for column in (host, rnic, box, asw)]))
        self.rnic_tors.learn(rnic[new], self._tor_numbers(asw[new], paths))
        return codes

    def _tor_pairs(self, rnics: I32, tors: I32, dsws: I32, named: I32) -> I64:
        """(n,) pairs of (2, n) ToRs, which are those of the rnics where none is named (-1)."""
        for side, unknown in enumerate(tors < 0):
            tors[side, unknown] = self.rnic_tors.of(rnics[side, unknown])
        tor_codes, _ = self._keys["tors"].code(pair_key(*tors))
        dsw_codes, _ = self._keys["dsws"].code(pair_key(*dsws))
        pairs, new = self._keys["pair"].code(pair_key(tor_codes << 2 | named, dsw_codes))
        self.tor_pairs.append(np.vstack([tors[:, new], dsws[:, new], named[new]]))
        return pairs

    def _tor_numbers(self, codes: I32, paths: Paths) -> I32:
        used, back = np.unique(codes, return_inverse=True)
        texts = paths.table("src_asw").texts
        for code in used.tolist():
            if code not in self._tors:
                self._tors[code] = self._graph.tor(texts[code])
        return np.array([self._tors[code] for code in used.tolist()], np.int32)[back]
