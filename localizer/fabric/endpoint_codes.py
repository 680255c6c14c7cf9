"""Codes of what paths have in common: their ends, and the way between them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from localizer.fabric.key_index import GrowableArray, KeyIndex, joined
from localizer.fabric.path_table import Paths
from localizer.fabric.segments import ENDS
from localizer.fabric.switch_graph import SwitchGraph

I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]


class EndpointCodes:
    """Codes are given once and never change; the lists say what each stands for.

    end_of   (4, E) host, rnic, container and access switch: codes of the paths' tables, -1 for none
    both_of  (2, B) codes of two ends that share something
    way_of   (4, W) numbers of the two access switches in the routes, and the spines that the ends
             name, as codes of the paths' table
    """

    def __init__(self, routes: SwitchGraph) -> None:
        self.end_of = GrowableArray(np.int32, len(ENDS))
        self.both_of = GrowableArray(np.int32, 2)
        self.way_of = GrowableArray(np.int32, 4)
        self._routes = routes
        self._keys = {name: KeyIndex() for name in ("host", "box", "end", "both", "tors", "dsws")}
        self._ways = KeyIndex()
        self._tors: dict[int, int] = {}  # code of an access switch -> number in the routes

    def ends(self, paths: Paths) -> I64:
        """(3, n) source, destination, and both jointly: -1 where they have nothing in common."""
        src, dst = (self._end(paths, side) for side in ("src", "dst"))
        overlay = paths.mask("layer", "overlay")
        joint = paths.column("src_node_sn") == paths.column("dst_node_sn")
        joint |= paths.column("src_real_ip") == paths.column("dst_real_ip")
        joint |= overlay & (paths.column("src_node_id") == paths.column("dst_node_id"))
        both = np.full(len(paths), -1)
        both[joint], first = self._keys["both"].code(joined(src[joint], dst[joint]))
        self.both_of.append(np.vstack([src[joint][first], dst[joint][first]]))
        return np.vstack([src, dst, both])

    def ways(self, paths: Paths) -> I64:
        """(n,) way of each path; -1 for what an rnic sends to itself, which never leaves it."""
        asw, dsw = (
            [paths.column(f"{side}_{x}") for side in ("src", "dst")] for x in ("asw", "dsw")
        )
        tors, _ = self._keys["tors"].code(joined(*asw))
        dsws, _ = self._keys["dsws"].code(joined(*dsw))
        ways, new = self._ways.code(joined(tors, dsws))
        ends = (self._tor_numbers(codes[new], paths) for codes in asw)
        self.way_of.append(np.vstack([*ends, *(codes[new] for codes in dsw)]))
        ways[paths.column("src_real_ip") == paths.column("dst_real_ip")] = -1
        return ways

    def tors(self, paths: Paths) -> tuple[I32, I32]:
        """(n,) (n,) numbers in the routes of both ends' access switches; -1 for none."""
        src, dst = (
            self._tor_numbers(paths.column(f"{side}_asw"), paths) for side in ("src", "dst")
        )
        return src, dst

    def call_spines(self, paths: Paths) -> None:
        """Tell the routes which switches are spines, if no topology does."""
        if not self._routes.given:
            for field in ("src_dsw", "dst_dsw"):
                texts = paths.table(field).texts
                for code in np.unique(paths.column(field)).tolist():
                    self._routes.call_spine(texts[code])

    def _end(self, paths: Paths, side: str) -> I64:
        host, rnic, box, asw = (paths.column(f"{side}_{name}") for name in ENDS)
        box = np.where(paths.mask("layer", "overlay"), box, -1)
        place, _ = self._keys["host"].code(joined(host, rnic))
        inner, _ = self._keys["box"].code(joined(box, asw))
        ends, new = self._keys["end"].code(joined(place, inner))
        self.end_of.append(np.vstack([column[new] for column in (host, rnic, box, asw)]))
        return ends

    def _tor_numbers(self, codes: I32, paths: Paths) -> I32:
        used, back = np.unique(codes, return_inverse=True)
        texts = paths.table("src_asw").texts
        for code in used.tolist():
            if code not in self._tors:
                self._tors[code] = self._routes.tor(texts[code])
        return np.array([self._tors[code] for code in used.tolist()], np.int32)[back]
