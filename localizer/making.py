"""Parts of an incidence: what ends, known hops and ECMP alternatives of paths are made of."""

from __future__ import annotations

from array import array

import numpy as np
import numpy.typing as npt
from scipy import sparse

from localizer.paths import Tables
from localizer.routes import Routes
from schemas.components import component, kind_of, link

#: Which member of an observability class is named first: the likelier cause, by the published
#: catalogue of 19 issue types (rnic before its cable, vswitch before the container behind it).
PREFERENCE = ("rnic", "vswitch", "tor", "agg", "spine", "container", "link", "host", "agent")

ENDS = ("node_sn", "real_ip", "node_id", "asw")  # what the part of a path's end is made from
OUT, BACK, BOTH = 0, 1, 2  # of which traversals a part speaks
HERE = 0xFFFF_FFFF  # a route's first switch is not entered from another one

_Shares = dict[int, tuple[float, float]]  # column -> along, against
_Crossed = tuple[dict[int, float], dict[tuple[int, int], float]]  # switches, links travelled


class PartTable:
    """Parts, numbered from 1; part 0 is empty."""

    def __init__(self) -> None:
        self._ends = array("q", [0, 0])
        self._columns = array("i")
        self._shares = array("d")
        self._matrix: sparse.csr_array | None = None

    def add(self, shares: _Shares) -> int:
        """Number of a new part."""
        self._columns.extend(shares)
        for pair in shares.values():
            self._shares.extend(pair)
        self._ends.append(len(self._columns))
        return len(self._ends) - 2

    def matrix(self, columns: int) -> sparse.csr_array:
        """(Q, C) along + i against, over the columns that there are by now."""
        last = self._matrix
        if last is None or last.shape != (len(self._ends) - 1, columns):
            self._matrix = last = sparse.csr_array(
                (np.array(self._shares).view(np.complex128), np.array(self._columns),
                 np.array(self._ends)),
                shape=(len(self._ends) - 1, columns),
            )  # fmt: skip
        return last


class PartMaker:
    """Makes parts, and the columns (``components``) that they speak of."""

    def __init__(self, routes: Routes) -> None:
        self._routes = routes
        self.components: list[str] = []
        self._kinds = bytearray()
        self._column: dict[str, int] = {}
        self._links: dict[tuple[int, int], tuple[int, bool]] = {}
        self.forget()

    def forget(self) -> None:
        """Drop the parts, not the columns: the ways of the fabric are others now."""
        self._parts = PartTable()
        self._made: dict[tuple[object, ...], int] = {}

    @property
    def kinds(self) -> npt.NDArray[np.int8]:
        """(C,) place of each component's kind in PREFERENCE."""
        return np.frombuffer(bytes(self._kinds), np.int8)

    def matrix(self) -> sparse.csr_array:
        """(Q, C) of all parts, as in ``PartTable``."""
        return self._parts.matrix(len(self.components))

    def always(self, ends: list[tuple[int, ...]], tables: Tables) -> int:
        """The part of what a path's ends cross in both directions, whatever the way."""
        texts = [tables[name].texts for name in ENDS]
        within = len(ends) == 2 and ends[0][1] == ends[1][1]  # an rnic that sends to itself
        columns: dict[int, None] = {}
        for end in ends:
            host, rnic, box, asw = (t[code] if code >= 0 else None
                                    for t, code in zip(texts, end, strict=True))  # fmt: skip
            columns[self._col(nic := component("rnic", rnic or ""))] = None
            if asw and not within:
                columns[self._col(link(nic, component("tor", asw)))] = None
            columns[self._col(component("host", host or ""))] = None  # board, kernel, power
            if box is not None:
                columns[self._col(component("vswitch", host or ""))] = None
                columns[self._col(component("container", box))] = None
        return self._parts.add(dict.fromkeys(columns, (1.0, 1.0)))

    def alternatives(self, flavour: int, a: int, b: int, src_dsw: str, dst_dsw: str) -> list[int]:
        """Parts of the ECMP alternatives: at the one ToR, at the other, and what lies between."""
        out, back = (
            self._routes.way(a, b, src_dsw, dst_dsw),
            self._routes.way(b, a, dst_dsw, src_dsw),
        )
        numbers = (flavour, out.number, back.number)
        parts: list[int] = []
        for tor, leaves, enters in ((a, out.up, back.down), (b, back.up, out.down)):
            made = self._made.get((*numbers, tor, tor == a)) if tor >= 0 else 0
            if made is None:
                node, first = {tor: 1.0}, tor == a
                away = (node, {(tor, near): share for near, share in leaves.items()})
                home = (node, {(near, tor): share for near, share in enters.items()})
                made = self._part(flavour, *((away, home) if first else (home, away)))
                self._made[(*numbers, tor, first)] = made
            parts.append(made if tor != a or not parts else 0)  # behind one ToR: crossed once
        if numbers not in self._made:
            self._made[numbers] = self._part(
                flavour, (out.nodes, out.links), (back.nodes, back.links)
            )
        return [*parts, self._made[numbers]]

    def step(self, flavour: int, u: int, v: int) -> int:
        """The part of a switch on a known route, and of the link that leads to it from u (HERE:
        from none)."""
        crossed: _Crossed = ({v: 1.0}, {} if u == HERE else {(u, v): 1.0})
        return self._part(flavour, crossed, crossed)

    def _part(self, flavour: int, *traversals: _Crossed) -> int:
        """A part of the way out and the way back, or of one of them."""
        shares: _Shares = {}
        for which, (nodes, links) in enumerate(traversals):
            if flavour not in (which, BOTH):
                continue
            each = [
                (self._col(self._routes.switches[n]), which == OUT, s) for n, s in nodes.items()
            ]
            each += [(*self._link(*ends), share) for ends, share in links.items()]
            for column, along, share in each:
                had = shares.get(column, (0.0, 0.0))
                shares[column] = (had[0] + share, had[1]) if along else (had[0], had[1] + share)
        return self._parts.add(shares) if shares else 0

    def _link(self, u: int, v: int) -> tuple[int, bool]:
        """Column of the link from u to v, and whether that is the direction a>b of its id."""
        known = self._links.get((u, v))
        if known is None:
            a, b = self._routes.switches[u], self._routes.switches[v]
            known = self._links[u, v] = (self._col(link(a, b)), a < b)
        return known

    def _col(self, name: str) -> int:
        column = self._column.setdefault(name, len(self.components))
        if column == len(self.components):
            self.components.append(name)
            self._kinds.append(PREFERENCE.index(kind_of(name)))
        return column


def preference(name: str) -> tuple[int, str]:
    """Sort key: likelier causes first, then by name."""
    return PREFERENCE.index(kind_of(name)), name
