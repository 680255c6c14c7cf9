"""What rules ask of paths: end hosts, layer, endpoint pair; by row of the path table. No I/O."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from localizer.baselines.hosts import HostActivity
from localizer.fabric.key_index import GrowableArray, KeyIndex, pair_key
from localizer.fabric.path_table import Paths
from schemas.documents.ping import AGENTLESS

Bool = npt.NDArray[np.bool_]
I8 = npt.NDArray[np.int8]
I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]


class PathColumns:
    """Columns of P paths.

    Example: of paths h1 -> h2 in the underlay and in the overlay, ``hosts`` is [[0, 0], [1, 1]],
    ``layer`` [0, 1], and ``pair`` [0, 1].
    """

    def __init__(self) -> None:
        self._hosts = GrowableArray(np.int32, 2)
        self._layer = GrowableArray(np.int8)
        self._pair = GrowableArray(np.int64)
        self._agentless = GrowableArray(np.bool_)
        self._address_pairs, self._pairs = KeyIndex(), KeyIndex()
        self._forget_ends()

    def _forget_ends(self) -> None:
        """Codes of hosts or texts change, or which rnics are probed: ends are to be told again."""
        self._ends = KeyIndex()  # codes of host's name and rnic
        self._host_of_end = GrowableArray(np.int32)

    @property
    def hosts(self) -> I32:
        """(2, P) code of the source host and of the destination host, as in ``HostActivity``."""
        hosts: I32 = self._hosts.values
        return hosts

    @property
    def layer(self) -> I8:
        """(P,) 1 = overlay."""
        return self._layer.values

    @property
    def pair(self) -> I64:
        """(P,) code of (endpoint pair, layer): five-tuples of one pair share their fate."""
        return self._pair.values

    @property
    def agentless(self) -> Bool:
        """(P,) the probes of the path are answered by the peer's kernel, whether an agent runs or
        not."""
        return self._agentless.values

    @property
    def pairs(self) -> int:
        """Endpoint pairs [count]."""
        return len(self._pairs)

    def append(self, new: Paths, activity: HostActivity) -> None:
        """Append rows; their hosts are added to the activity."""
        self._hosts.append(
            np.vstack([self._hosts_of(new, side, activity) for side in ("src", "dst")])
        )
        self._layer.append(new.mask("layer", "overlay").astype(np.int8))
        self._pair.append(self._pairs_of(new))
        self._agentless.append(np.logical_or(*(new.mask("task_type", t) for t in AGENTLESS)))

    def retain(self, rows: Bool) -> None:
        """Drop all rows but those of a mask (P,)."""
        self._forget_ends()
        for column in (self._hosts, self._layer, self._pair, self._agentless):
            column.retain(rows)

    def renumber_hosts(self, code: I64) -> None:
        """Follow ``HostActivity.retain``; code (H,) new code of each host."""
        self._forget_ends()
        self._hosts.values[...] = code[self._hosts.values]

    def recode(self, paths: Paths) -> None:
        """Follow ``PathTable.compact``: codes of texts have changed."""
        self._forget_ends()
        self._address_pairs, self._pairs = KeyIndex(), KeyIndex()
        self._pair.values[...] = self._pairs_of(paths)

    def rnics(self, paths: Paths) -> set[tuple[int, str]]:
        """Host code and rnic of all ends of paths."""
        texts, found = paths.table("src_real_ip").texts, set[int]()
        for side, hosts in zip(("src", "dst"), self.hosts, strict=True):
            found |= {*np.unique(pair_key(hosts, paths.column(f"{side}_real_ip"))).tolist()}
        return {(key >> 32, texts[key & 0xFFFFFFFF]) for key in found}

    def _pairs_of(self, paths: Paths) -> I64:
        addresses = pair_key(paths.column("src_real_ip"), paths.column("dst_real_ip"))
        codes, _ = self._address_pairs.code(addresses)
        return self._pairs.code(pair_key(codes, paths.column("layer")))[0]

    def _hosts_of(self, paths: Paths, side: str, activity: HostActivity) -> I32:
        """(n,) code of the host at one end of each path; the activity is told each end once."""
        ends = pair_key(paths.column(f"{side}_node_sn"), paths.column(f"{side}_real_ip"))
        known = len(self._ends)
        codes, new = self._ends.code(ends)
        names, rnics = paths.table("src_node_sn").texts, paths.table("src_real_ip").texts
        hosts = self._host_of_end.grow(known + len(new))
        order = np.argsort(ends[new])  # hosts are numbered in the order of texts
        for at, end in zip(order.tolist(), ends[new][order].tolist(), strict=True):
            hosts[at] = activity.end(names[end >> 32], rnics[end & 0xFFFFFFFF])
        out: I32 = self._host_of_end.values[codes]
        return out
