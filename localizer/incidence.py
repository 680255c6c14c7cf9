"""Which components each path crosses, and with what share of its traversals."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
from scipy import sparse

from localizer.paths import Path
from localizer.routes import Routes
from schemas.components import component, kind_of, link
from schemas.topology import Topology

Bool = npt.NDArray[np.bool_]
Flow = tuple[str, str, str, int, int]  # layer, addresses and ports of a request

MOST_EARLY = 100_000

#: Which member of an observability class is named first: the likelier cause, by the published
#: catalogue of 19 issue types (rnic before its cable, vswitch before the container behind it).
PREFERENCE = ("rnic", "vswitch", "tor", "agg", "spine", "container", "link", "host", "agent")


class Incidence:
    """Paths x components of one fabric; rows as in the PathIndex, columns as in ``components``.

    A share is the mean over forward and reply direction of the probability that the probe crosses
    the component, so that the logarithm of a round trip's survival is linear in it. What both
    directions always cross (the endpoints' own rnics, ToRs, vswitches) has share 1.
    """

    def __init__(self, topology: Topology | None) -> None:
        self.routes = Routes(topology)
        self.components: list[str] = []
        self._column: dict[str, int] = {}
        self._rows: list[dict[int, float]] = []
        self._of_flow: defaultdict[Flow, list[int]] = defaultdict(list)
        self._paths: list[Path] = []
        self._early: dict[Flow, list[str | None]] = {}  # routes of five-tuples not yet seen
        self._matrix: sparse.csr_array | None = None
        self._stale = False

    def add(self, paths: Iterable[Path]) -> None:
        """Append rows."""
        for path in paths:
            row = len(self._rows)
            self._paths.append(path)
            self._of_flow[path.flow].append(row)
            self._of_flow[path.reply].append(row)
            self.routes.call_spine(path.src_dsw)
            self.routes.call_spine(path.dst_dsw)
            self._rows.append(self._row(path))
            for flow in (path.flow, path.reply):
                if hops := self._early.pop(flow, None):
                    self.learn_route(flow, hops)
        self._matrix = None

    def learn_route(self, flow: Flow, hops: list[str | None]) -> None:
        """Take a traceroute; rows of its five-tuple, in either direction, are placed anew."""
        rows = self._of_flow.get(flow, [])
        first = last = ""
        if rows:
            path = self._paths[rows[0]]
            ends = (path.src_asw, path.dst_asw)
            first, last = ends if path.flow == flow else ends[::-1]
        elif not self.routes.given:  # only its path knows which of its hops are access switches
            if len(self._early) < MOST_EARLY:
                self._early[flow] = hops
            return
        edges = self.routes.edges
        news = self.routes.learn(flow, hops, first, last)
        self._stale = self._stale or self.routes.edges > edges
        if news and rows:
            for row in rows:
                self._rows[row] = self._row(self._paths[row])
            self._matrix = None

    def keep(self, rows: Bool) -> None:
        """Drop all other rows."""
        kept = [path for path, wanted in zip(self._paths, rows.tolist(), strict=True) if wanted]
        self._rows, self._paths = [], []
        self._of_flow.clear()
        self._early.clear()
        self.add(kept)

    def matrix(self) -> sparse.csr_array:
        """(P, C) shares."""
        if self._stale:  # links were learnt: what was unknown has other ECMP alternatives now
            self._rows = [self._row(path) for path in self._paths]
            self._stale, self._matrix = False, None
        if self._matrix is None:
            counts = np.fromiter((len(row) for row in self._rows), np.int64, len(self._rows))
            indices = np.fromiter((c for row in self._rows for c in row), np.int32, counts.sum())
            data = np.fromiter((v for row in self._rows for v in row.values()), float, counts.sum())
            indptr = np.concatenate([[0], np.cumsum(counts)])
            self._matrix = sparse.csr_array(
                (data, indices, indptr), shape=(len(self._rows), len(self.components))
            )
        return self._matrix

    def _col(self, name: str) -> int:
        column = self._column.get(name)
        if column is None:
            column = self._column[name] = len(self.components)
            self.components.append(name)
        return column

    def _row(self, path: Path) -> dict[int, float]:
        shares: dict[str, float] = {}
        src, dst = component("rnic", path.src_real_ip), component("rnic", path.dst_real_ip)
        for rnic, asw in ((src, path.src_asw), (dst, path.dst_asw)):
            shares[rnic] = 1.0
            if asw and src != dst:  # what an rnic sends to itself never leaves it
                shares[link(rnic, component("tor", asw))] = 1.0
        for host in (path.src_node_sn, path.dst_node_sn):
            shares[component("host", host)] = 1.0  # board, kernel, power: all of its rnics at once
        if path.layer == "overlay":
            for host, box in (
                (path.src_node_sn, path.src_node_id),
                (path.dst_node_sn, path.dst_node_id),
            ):
                shares[component("vswitch", host)] = 1.0
                shares[component("container", box)] = 1.0
        if src != dst:
            there = self.routes.known(path.flow) or self.routes.between(
                path.src_asw, path.dst_asw, path.src_dsw, path.dst_dsw
            )
            back = self.routes.known(path.reply) or self.routes.between(
                path.dst_asw, path.src_asw, path.dst_dsw, path.src_dsw
            )
            for way in (there, back):
                for name, share in way.items():
                    shares[name] = shares.get(name, 0.0) + share / 2
        return {self._col(name): share for name, share in shares.items()}


def preference(name: str) -> tuple[int, str]:
    """Sort key: likelier causes first, then by name."""
    return PREFERENCE.index(kind_of(name)), name
