"""Codes of what paths have in common: their endpoints, and the pair of ToRs between these. No I/O.

A million paths have some ten thousand endpoints and pairs of ToRs; segments are built once per
code. Codes are given once and never change.

Example: of two paths r1 -> r2 and r1 -> r3 the endpoints are [[0, 0], [1, 2]]; if r2 and r3 are
behind one ToR, both have tor pair 0.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

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
    tor_pairs  (4, T) numbers of the two access switches in the graph, and the spines that the
               records of the two ends name, as codes of the paths' table
    """

    def __init__(self, graph: SwitchGraph) -> None:
        self.endpoints = GrowableArray(np.int32, len(ENDPOINT_FIELDS))
        self.joint = GrowableArray(np.int32, 2)
        self.tor_pairs = GrowableArray(np.int32, 4)
        self._graph = graph
        names = ("host and rnic", "container and asw", "endpoint", "joint", "asws", "dsws", "pair")
        self._keys = {name: KeyIndex() for name in names}
        self._tors: dict[int, int] = {}  # code of an access switch -> number in the graph
        self._home: dict[int, int] = {}  # code of an rnic -> number of a ToR of it

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
        asws, dsws = (
            [paths.column(f"{side}_{x}") for side in ("src", "dst")] for x in ("asw", "dsw")
        )
        asw_pairs, _ = self._keys["asws"].code(pair_key(*asws))
        dsw_pairs, _ = self._keys["dsws"].code(pair_key(*dsws))
        pairs, new = self._keys["pair"].code(pair_key(asw_pairs, dsw_pairs))
        tors = (self._tor_numbers(codes[new], paths) for codes in asws)
        self.tor_pairs.append(np.vstack([*tors, *(codes[new] for codes in dsws)]))
        pairs[paths.column("src_real_ip") == paths.column("dst_real_ip")] = -1
        return pairs

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
        self._learn_homes(rnic[new], self._tor_numbers(asw[new], paths))
        return codes

    def _learn_homes(self, rnics: I32, tors: I32) -> None:
        """Tell the graph which ToRs have an rnic in common, by (n,) ends that are new."""
        for rnic, tor in zip(rnics.tolist(), tors.tolist(), strict=True):
            if tor >= 0 and (other := self._home.setdefault(rnic, tor)) != tor:
                self._graph.join((other, tor))

    def _tor_numbers(self, codes: I32, paths: Paths) -> I32:
        used, back = np.unique(codes, return_inverse=True)
        texts = paths.table("src_asw").texts
        for code in used.tolist():
            if code not in self._tors:
                self._tors[code] = self._graph.tor(texts[code])
        return np.array([self._tors[code] for code in used.tolist()], np.int32)[back]
