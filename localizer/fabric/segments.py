"""Parts of an incidence: what ends, known hops and ECMP alternatives of paths are made of."""

from __future__ import annotations

from array import array

import numpy as np
import numpy.typing as npt
from scipy import sparse

from localizer.fabric.key_index import GrowableArray, KeyIndex, joined
from localizer.fabric.path_table import Tables
from localizer.fabric.switch_graph import EcmpPath, SwitchGraph
from schemas.component_ids import component, kind_of, link

I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]
U64 = npt.NDArray[np.uint64]

#: Which member of an observability class is named first: the likelier cause, by the published
#: catalogue of 19 issue types (rnic before its cable, vswitch before the container behind it).
PREFERENCE = ("rnic", "vswitch", "tor", "agg", "spine", "container", "link", "host", "agent")

ENDS = ("node_sn", "real_ip", "node_id", "asw")  # what the part of a path's end is made from
OUT, BACK, BOTH = 0, 1, 2  # of which traversals a part speaks
_FIRST, _LAST, _MIDDLE = 0, 1, 2  # where on a way a part is crossed
#: What each end crosses: table and kind. The second is the link from the rnic to its switch; the
#: host is board, kernel and power.
_END_KINDS = (("real_ip", "rnic"), ("real_ip", "rnic"), ("node_sn", "host"), ("node_sn", "vswitch"),
              ("node_id", "container"))  # fmt: skip
HERE = 0xFFFF_FFFF  # a route's first switch is not entered from another one

_Shares = dict[int, tuple[float, float]]  # column -> along, against
_Crossed = tuple[dict[int, float], dict[tuple[int, int], float]]  # switches, links travelled


class SegmentTable:
    """Parts, numbered from 1; part 0 is empty."""

    def __init__(self) -> None:
        self._ends = array("q", [0, 0])
        self._columns = array("i")
        self._shares = array("d")
        self._matrix: sparse.csr_array | None = None

    def __len__(self) -> int:
        return len(self._ends) - 1

    def add(self, shares: _Shares) -> int:
        """Number of a new part."""
        self._columns.extend(shares)
        for pair in shares.values():
            self._shares.extend(pair)
        self._ends.append(len(self._columns))
        return len(self._ends) - 2

    def add_sure(self, columns: I32, lengths: I64) -> I32:
        """(n,) numbers of new parts that cross their columns for certain, whichever way.

        columns  one part's after the other's; lengths (n,) how many each has
        """
        start = len(self._ends) - 1
        self._columns.frombytes(columns.tobytes())
        self._shares.frombytes(np.ones(2 * len(columns)).tobytes())
        self._ends.frombytes((self._ends[-1] + np.cumsum(lengths, dtype=np.int64)).tobytes())
        return np.arange(start, start + len(lengths), dtype=np.int32)

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


class SegmentBuilder:
    """Makes parts, and the columns (``components``) that they speak of."""

    def __init__(self, routes: SwitchGraph) -> None:
        self._routes = routes
        self.components: list[str] = []
        self._kinds = bytearray()
        self._column: dict[str, int] = {}
        self._links: dict[tuple[int, int], tuple[int, bool]] = {}
        self._ends = KeyIndex()
        self._end_columns = GrowableArray(np.int32)
        self.forget()

    def forget(self) -> None:
        """Drop the parts, not the columns: the ways of the fabric are others now."""
        self._parts = SegmentTable()
        self._lie: dict[tuple[int, int], int] = {}
        self._lies: list[tuple[EcmpPath, EcmpPath]] = []  # between two ToRs, there and back
        self._made = [KeyIndex() for _ in range(3)]  # by flavour
        self._made_parts = [GrowableArray(np.int32) for _ in range(3)]

    @property
    def kinds(self) -> npt.NDArray[np.int8]:
        """(C,) place of each component's kind in PREFERENCE."""
        return np.frombuffer(bytes(self._kinds), np.int8)

    @property
    def parts(self) -> int:
        """Parts that have been made."""
        return len(self._parts)

    def matrix(self) -> sparse.csr_array:
        """(Q, C) of all parts, as in ``SegmentTable``."""
        return self._parts.matrix(len(self.components))

    def always(self, ends: I32, tables: Tables) -> I32:
        """(n,) parts of what the ends of paths cross in both directions, whatever the way.

        ends  (1 or 2, 4, n) one end or both: their codes in the tables of ENDS, -1 for none
        """
        host, rnic, box, asw = np.moveaxis(ends, 1, 0)
        within = len(ends) == 2 and rnic[0] == rnic[-1]  # an rnic that sends to itself
        wired = (asw != tables["asw"].known([""]).get("", -1)) & ~np.asarray(within)
        sure, inner = np.ones(host.shape, bool), box >= 0
        keys = np.stack([_key(0, rnic), _key(1, rnic, asw), _key(2, host), _key(3, host),
                         _key(4, box)], axis=1)  # fmt: skip
        there = np.stack([sure, wired, sure, inner, inner], axis=1)
        there[1:] &= keys[1:] != keys[:1]  # both ends share it: it is crossed in one place
        keys, there = (each.reshape(5 * len(ends), -1).T for each in (keys, there))
        flat = keys[there]
        codes, new = self._ends.code(flat)
        names = [_end_name(key, tables) for key in flat[new].tolist()]
        self._end_columns.append(np.array([self._col(name) for name in names], np.int32))
        return self._parts.add_sure(self._end_columns.now[codes], there.sum(axis=1))

    def alternatives(self, flavour: int, ways: I32, spines: list[str]) -> I32:
        """(3, n) parts of the ECMP alternatives: at the one ToR, at the other, and what lies
        between.

        ways    (4, n) as in PlaceCodes.way_of; spines: texts of its codes
        """
        a, b = ways[:2].astype(np.int64)
        lies = self._between(ways, spines)
        keys = np.stack([lies << 32 | a << 2 | _FIRST, lies << 32 | b << 2 | _LAST,
                         lies << 32 | _MIDDLE], axis=1).astype(np.uint64)  # fmt: skip
        there = np.stack([a >= 0, (b >= 0) & (a != b), a == a], axis=1)  # one ToR: crossed once
        flat = keys[there]
        codes, new = self._made[flavour].code(flat)
        made = [self._alternative(flavour, key) for key in flat[new].tolist()]
        self._made_parts[flavour].append(np.array(made, np.int32))
        parts = np.zeros(keys.shape, np.int32)
        parts[there] = self._made_parts[flavour].now[codes]
        return parts.T

    def _between(self, ways: I32, spines: list[str]) -> I64:
        """(n,) what lies between the ToRs of each way, there and back, as an index of ``_lies``."""
        alike = self._routes.alike(*ways[:2])
        for more in ways[2:]:
            alike = joined(np.unique(alike, return_inverse=True)[1], more)
        _, first, group = np.unique(alike, return_index=True, return_inverse=True)
        number = np.empty(len(first), np.int64)
        for each in np.argsort(first).tolist():
            a, b, up, down = ways[:, first[each]].tolist()
            out = self._routes.way(a, b, spines[up], spines[down])
            back = self._routes.way(b, a, spines[down], spines[up])
            numbers = (out.number, back.number)
            number[each] = self._lie.setdefault(numbers, len(self._lies))
            if number[each] == len(self._lies):
                self._lies.append((out, back))
        return number[group]

    def _alternative(self, flavour: int, key: int) -> int:
        out, back = self._lies[key >> 32]
        tor, place = key >> 2 & (2**30 - 1), key & 3
        if place == _MIDDLE:
            return self._part(flavour, (out.nodes, out.links), (back.nodes, back.links))
        leaves, enters = (out.up, back.down) if place == _FIRST else (back.up, out.down)
        node = {tor: 1.0}
        away = (node, {(tor, near): share for near, share in leaves.items()})
        home = (node, {(near, tor): share for near, share in enters.items()})
        return self._part(flavour, *((away, home) if place == _FIRST else (home, away)))

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


def _key(kind: int, code: I32, more: I32 | int = 0) -> U64:
    """What an end crosses, as one number: ``_end_name`` reads it."""
    return np.asarray(np.int64(kind) << 60 | code.astype(np.int64) << 30 | more).astype(np.uint64)


def _end_name(key: int, tables: Tables) -> str:
    kind, code, more = key >> 60, key >> 30 & (2**30 - 1), key & (2**30 - 1)
    table, name = _END_KINDS[kind]
    made = component(name, tables[table].texts[code])
    return link(made, component("tor", tables["asw"].texts[more])) if kind == 1 else made


def preference(name: str) -> tuple[int, str]:
    """Sort key: likelier causes first, then by name."""
    return PREFERENCE.index(kind_of(name)), name
