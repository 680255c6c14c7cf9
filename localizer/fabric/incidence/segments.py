"""S, segments x components, and how segments are built.

Four kinds of segments make up a path:

    endpoint   rnic, link to its ToR, host, and for the overlay vswitch and container: crossed by
               requests and replies alike. One segment for both ends if they share any of these.
    bond       the links of a bonded rnic whose records name no ToR, instead of one link: those that
               routes begin and end with, or each with an equal share
    hop        a switch of a traced route, with the link that leads to it
    ECMP       where no route is traced, three segments: the source's ToR with its uplinks, the
               destination's ToR with its uplinks, and the interior (what lies between, the same for
               all pairs of ToRs with the same neighbours). Shares are those of an equal split.

Hop and ECMP segments exist for the request, for the reply, and ECMP segments for the round trip.

Example: the request r1 -> r2 of ``factored`` was traced as t1, s1, t2; no reply was traced. The
path is made of its two endpoints, three hop segments of the request and three ECMP segments of the
reply. With links (a>b: from the name that sorts first):

    segment                        forward                          reverse
    hop, request: t1               t1 1
    hop, request: t1 to s1         s1 1                             link s1|t1 1
    hop, request: s1 to t2         t2 1, link s1|t2 1
    ECMP, reply: at t1             link s1|t1 0.5, link s2|t1 0.5   t1 1
    ECMP, reply: at t2                                              t2 1, link s1|t2 0.5, ...
    ECMP, reply: interior                                           s1 0.5, s2 0.5
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
from scipy import sparse

from localizer.fabric.ecmp import Crossed, EcmpPath, EcmpPaths
from localizer.fabric.incidence.rnic_tors import BOTH_NAMED, DST_NAMED, SRC_NAMED
from localizer.fabric.key_index import GrowableArray, KeyIndex, pair_key
from localizer.fabric.path_table import StringTables
from localizer.fabric.switch_graph import SwitchGraph
from schemas.component_ids import component, kind_of, link

I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]
U64 = npt.NDArray[np.uint64]

#: Which member of an observability class is named first: the likelier cause, by the published
#: catalogue of 19 issue types (rnic before its cable, vswitch before the container behind it).
PREFERENCE = ("rnic", "vswitch", "tor", "agg", "spine", "container", "link", "host", "agent")

#: Columns of a path that make up an endpoint: host, rnic, container and access switch.
ENDPOINT_FIELDS = ("node_sn", "real_ip", "node_id", "asw")
REQUEST, REPLY, ROUND_TRIP = 0, 1, 2  # traversals that a segment stands for
FIRST_HOP = 0xFFFF_FFFF  # instead of the switch before: a route's first switch has none

_AT_SRC_TOR, _AT_DST_TOR, _INTERIOR = 0, 1, 2  # which of the three ECMP segments
#: What an endpoint crosses: string table and kind. The second is the link from the rnic to its
#: ToR; the host is board, kernel and power.
_ENDPOINT_KINDS = (
    ("real_ip", "rnic"), ("real_ip", "rnic"), ("node_sn", "host"), ("node_sn", "vswitch"),
    ("node_id", "container"),
)  # fmt: skip
_LINK = 1  # index of the link in _ENDPOINT_KINDS


class SegmentTable:
    """Rows of S, numbered from 1; row 0 is empty."""

    def __init__(self) -> None:
        self._indptr = array("q", [0, 0])
        self._columns = array("i")
        self._forward = array("d")
        self._reverse = array("d")
        self._matrices: tuple[sparse.csr_array, sparse.csr_array] | None = None

    def __len__(self) -> int:
        return len(self._indptr) - 1

    def add(self, shares: Mapping[int, tuple[float, float]]) -> int:
        """Number of a new segment.

        shares  column -> share forward, share reverse
        """
        self._columns.extend(shares)
        for forward, reverse in shares.values():
            self._forward.append(forward)
            self._reverse.append(reverse)
        self._indptr.append(len(self._columns))
        return len(self) - 1

    def add_certain(self, columns: I32, lengths: I64) -> I32:
        """(n,) numbers of new segments that cross all of their columns with share 1 both ways.

        columns  those of one segment after those of the other
        lengths  (n,) how many columns each segment has
        """
        start = len(self)
        self._columns.frombytes(columns.tobytes())
        for shares in (self._forward, self._reverse):
            shares.frombytes(np.ones(len(columns)).tobytes())
        self._indptr.frombytes((self._indptr[-1] + np.cumsum(lengths, dtype=np.int64)).tobytes())
        return np.arange(start, start + len(lengths), dtype=np.int32)

    def matrices(self, columns: int) -> tuple[sparse.csr_array, sparse.csr_array]:
        """(Q, C) (Q, C) forward and reverse, with one pattern.

        columns  C, components that there are by now
        """
        shape = (len(self), columns)
        if self._matrices is None or self._matrices[0].shape != shape:
            # Of 64 bits, as edges are written, they would make every matrix of S a third larger.
            few = len(self._columns) <= np.iinfo(np.int32).max
            indices = np.array(self._columns)
            indptr = np.array(self._indptr, np.int32 if few else np.int64)
            forward, reverse = (
                sparse.csr_array((np.array(shares), indices, indptr), shape)
                for shares in (self._forward, self._reverse)
            )
            self._matrices = forward, reverse
        return self._matrices


class SegmentBuilder:
    """Adds segments to a table, and columns (``components``) as segments need them."""

    def __init__(self, graph: SwitchGraph) -> None:
        self._graph = graph
        self._ecmp = EcmpPaths(graph)
        self.components: list[str] = []
        self._kinds = bytearray()
        self._column: dict[str, int] = {}
        self._links: dict[tuple[int, int], tuple[int, bool]] = {}
        self._endpoint_keys = KeyIndex()
        self._endpoint_columns = GrowableArray(np.int32)
        self.reset()

    def reset(self) -> None:
        """Drop all segments, but no columns: routes through the fabric have changed."""
        self._table = SegmentTable()
        self._interior_number: dict[tuple[int, int], int] = {}
        self._interiors: list[tuple[EcmpPath, EcmpPath]] = []  # of request and reply
        self._of_homes: dict[tuple[int, ...], int] = {}  # traversal and a pair of ToRs -> segment
        self._ecmp_keys = [KeyIndex() for _ in range(3)]  # by traversal
        self._ecmp_segments = [GrowableArray(np.int32) for _ in range(3)]

    @property
    def kinds(self) -> npt.NDArray[np.int8]:
        """(C,) rank of each component's kind in PREFERENCE."""
        return np.frombuffer(bytes(self._kinds), np.int8)

    def __len__(self) -> int:
        """Q."""
        return len(self._table)

    def matrices(self) -> tuple[sparse.csr_array, sparse.csr_array]:
        """(Q, C) (Q, C) S, forward and reverse."""
        return self._table.matrices(len(self.components))

    def endpoint_segments(self, ends: I32, tables: StringTables) -> I32:
        """(n,) new segments of what the ends of paths cross in both directions, whatever the route.

        ends  (1 or 2, 4, n) one end or both: codes of ENDPOINT_FIELDS, -1 for none
        """
        host, rnic, box, asw = np.moveaxis(ends, 1, 0)
        within = len(ends) == 2 and rnic[0] == rnic[-1]  # an rnic that sends to itself
        wired = (asw != tables["asw"].known([""]).get("", -1)) & ~np.asarray(within)
        always, inside = np.ones(host.shape, bool), box >= 0
        keys = np.stack([_key(0, rnic), _key(_LINK, rnic, asw), _key(2, host), _key(3, host),
                         _key(4, box)], axis=1)  # fmt: skip
        crossed = np.stack([always, wired, always, inside, inside], axis=1)
        crossed[1:] &= keys[1:] != keys[:1]  # what both ends share is crossed once
        keys, crossed = (each.reshape(5 * len(ends), -1).T for each in (keys, crossed))
        flat = keys[crossed]
        codes, new = self._endpoint_keys.code(flat)
        names = [_endpoint_component(key, tables) for key in flat[new].tolist()]
        columns = np.array([self._column_of(name) for name in names], np.int32)
        self._endpoint_columns.append(columns)
        return self._table.add_certain(self._endpoint_columns.values[codes], crossed.sum(axis=1))

    def ecmp_segments(self, traversal: int, tor_pairs: I32, spines: list[str]) -> I32:
        """(3, n) segments of the ECMP paths between two ToRs: at the one, at the other, and the
        interior; 0 for none.

        tor_pairs  (5, n) as ``EndpointCodes.tor_pairs``
        spines     texts of its codes
        """
        a, b = tor_pairs[:2].astype(np.int64)
        interior = self._interior(tor_pairs[:4], spines)
        base = interior << 32
        keys = np.stack([base | a << 2 | _AT_SRC_TOR, base | b << 2 | _AT_DST_TOR,
                         base | _INTERIOR], axis=1).astype(np.uint64)  # fmt: skip
        exists = np.stack([a >= 0, (b >= 0) & (a != b), a == a], axis=1)  # one ToR: crossed once
        flat = keys[exists]
        codes, new = self._ecmp_keys[traversal].code(flat)
        made = [self._ecmp_segment(traversal, key) for key in flat[new].tolist()]
        self._ecmp_segments[traversal].append(np.array(made, np.int32))
        segments = np.zeros(keys.shape, np.int32)
        segments[exists] = self._ecmp_segments[traversal].values[codes]
        several = self._several_homes(a, b)
        if traversal == REQUEST:
            several &= tor_pairs[4] != BOTH_NAMED
        for pair in np.flatnonzero(several).tolist():
            ends = tuple(tor_pairs[:, pair].tolist())
            segments[pair] = self._by_homes(traversal, ends, spines), 0, 0
        return segments.T

    def _several_homes(self, a: I64, b: I64) -> npt.NDArray[np.bool_]:
        """(n,) pairs of ToRs, one of which is not the only one of the rnics behind it."""
        several = self._graph.bonded()
        return np.isin(a, several) | np.isin(b, several)

    def _by_homes(self, traversal: int, ends: tuple[int, ...], spines: list[str]) -> int:
        """The segment of an answer that may take any ToR of either rnic, and of the request, which
        takes those that its record names, or else any.

        ends  a column of ``EndpointCodes.tor_pairs``
        """
        known = self._of_homes.get((traversal, *ends))
        if known is None:
            a, b, src, dst, named = ends
            starts, stops = (self._graph.homes(tor) for tor in (a, b))
            leaves = (a,) if named & SRC_NAMED else starts
            enters = (b,) if named & DST_NAMED else stops
            request = self._ecmp.between_any(leaves, enters, spines[src], spines[dst])
            reply = self._ecmp.between_any(stops, starts, spines[dst], spines[src])
            known = self._add(traversal, request, reply)
            self._of_homes[(traversal, *ends)] = known
        return known

    def bond_segment(self, rnic: str, tor: int, leaves: int, enters: int) -> int:
        """The segment of the links between a bonded rnic and its ToRs.

        tor             one of these
        leaves, enters  that by which packets of the rnic leave and those to it come; any other
                        switch: it may be each
        """
        homes = self._graph.homes(tor)
        ways = [
            {taken: 1.0} if taken in homes else dict.fromkeys(homes, 1 / len(homes))
            for taken in (leaves, enters)
        ]
        shares = {
            self._column_of(link(component("rnic", rnic), self._graph.switches[home])): tuple(
                way.get(home, 0.0) for way in ways
            )
            for home in homes
        }
        return self._table.add({column: (a, b) for column, (a, b) in shares.items() if a or b})

    def hop_segment(self, traversal: int, u: int, v: int) -> int:
        """The segment of switch v on a traced route, with the link from switch u (or FIRST_HOP)."""
        crossed: Crossed = ({v: 1.0}, {} if u == FIRST_HOP else {(u, v): 1.0})
        return self._add(traversal, crossed, crossed)

    def _interior(self, tor_pairs: I32, spines: list[str]) -> I64:
        """(n,) index into ``_interiors`` of what lies between the ToRs of each pair."""
        same = self._ecmp.interior_keys(*tor_pairs[:2])
        for spine in tor_pairs[2:]:
            same = pair_key(np.unique(same, return_inverse=True)[1], spine)
        _, first, group = np.unique(same, return_index=True, return_inverse=True)
        number = np.empty(len(first), np.int64)
        for each in np.argsort(first).tolist():
            a, b, src_spine, dst_spine = tor_pairs[:, first[each]].tolist()
            request = self._ecmp.between(a, b, spines[src_spine], spines[dst_spine])
            reply = self._ecmp.between(b, a, spines[dst_spine], spines[src_spine])
            numbers = (request.number, reply.number)
            number[each] = self._interior_number.setdefault(numbers, len(self._interiors))
            if number[each] == len(self._interiors):
                self._interiors.append((request, reply))
        return number[group]

    def _ecmp_segment(self, traversal: int, key: int) -> int:
        request, reply = self._interiors[key >> 32]
        tor, which = key >> 2 & (2**30 - 1), key & 3
        if which == _INTERIOR:
            return self._add(traversal, (request.nodes, request.links), (reply.nodes, reply.links))
        up, down = (request.up, reply.down) if which == _AT_SRC_TOR else (reply.up, request.down)
        node = {tor: 1.0}
        leaves = (node, {(tor, near): share for near, share in up.items()})
        enters = (node, {(near, tor): share for near, share in down.items()})
        return self._add(
            traversal, *((leaves, enters) if which == _AT_SRC_TOR else (enters, leaves))
        )

    def _add(self, traversal: int, request: Crossed, reply: Crossed) -> int:
        """A segment of what a request and a reply cross, or one of them; 0 if that is nothing."""
        shares: dict[int, tuple[float, float]] = {}
        for which, (nodes, links) in ((REQUEST, request), (REPLY, reply)):
            if traversal not in (which, ROUND_TRIP):
                continue
            crossed = [
                (self._column_of(self._graph.switches[node]), which == REQUEST, share)
                for node, share in nodes.items()
            ]
            crossed += [(*self._link(*ends), share) for ends, share in links.items()]
            for column, is_forward, share in crossed:
                forward, reverse = shares.get(column, (0.0, 0.0))
                shares[column] = (
                    (forward + share, reverse) if is_forward else (forward, reverse + share)
                )
        return self._table.add(shares) if shares else 0

    def _link(self, u: int, v: int) -> tuple[int, bool]:
        """Column of the link from u to v, and whether that is the direction a>b of its id."""
        known = self._links.get((u, v))
        if known is None:
            a, b = self._graph.switches[u], self._graph.switches[v]
            known = self._links[u, v] = (self._column_of(link(a, b)), a < b)
        return known

    def _column_of(self, name: str) -> int:
        column = self._column.setdefault(name, len(self.components))
        if column == len(self.components):
            self.components.append(name)
            self._kinds.append(PREFERENCE.index(kind_of(name)))
        return column


def _key(kind: int, code: I32, more: I32 | int = 0) -> U64:
    """A component of an endpoint as one number: ``_endpoint_component`` reads it."""
    return np.asarray(np.int64(kind) << 60 | code.astype(np.int64) << 30 | more).astype(np.uint64)


def _endpoint_component(key: int, tables: StringTables) -> str:
    kind, code, more = key >> 60, key >> 30 & (2**30 - 1), key & (2**30 - 1)
    table, name = _ENDPOINT_KINDS[kind]
    made = component(name, tables[table].texts[code])
    return link(made, component("tor", tables["asw"].texts[more])) if kind == _LINK else made
