"""Which components each path crosses, in which direction, and with what share of its traversals."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy import sparse

from localizer.fabric.endpoint_codes import EndpointCodes
from localizer.fabric.factored_incidence import FactoredIncidence
from localizer.fabric.key_index import GrowableArray, KeyIndex, joined
from localizer.fabric.path_table import Path, Paths, Tables, new_tables
from localizer.fabric.segments import BACK, BOTH, HERE, OUT, SegmentBuilder
from localizer.fabric.switch_graph import SwitchGraph
from localizer.fabric.traced_routes import Flow, TracedRoutes
from localizer.fabric.untraced_links import Traces
from schemas.documents.topology import Topology

Bool = npt.NDArray[np.bool_]
I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]


#: What belongs to no row may be so much, and as much as rows have, before all is made anew.
_SPARE_ROWS, _SPARE_PAIRS, _SPARE_SWITCHES = 10_000, 50_000, 256


class Incidence:
    """Paths x components of one fabric; rows as in the PathIndex, columns as in ``components``.

    ``along`` is the probability that a path crosses a link in the direction a>b of its id, or any
    other component on the way out; ``against`` that of b>a, or of the way back. The share is the
    mean of the two, so that the logarithm of a round trip's survival is linear in it: what both
    directions always cross (the endpoints' own rnics, ToRs, vswitches) has share 1.
    """

    def __init__(self, topology: Topology | None) -> None:
        self._topology = topology
        self.routes = SwitchGraph(topology)
        self.version = 0  # rises whenever a row or column changes
        self._tables: Tables = new_tables()
        self._flows = TracedRoutes(self.routes)
        # Per path: codes of its ends (or of both jointly, if they share something), way and flows.
        self._ends = GrowableArray(np.int32, 3, fill=-1)
        self._way = GrowableArray(np.int32, fill=-1)
        self._flow = GrowableArray(np.int64, 2)
        self._slots = GrowableArray(np.int32, 2)
        self._stale = np.empty(0, np.int64)  # rows whose slots are to be written
        self._edges = 0
        self._renamed = 0
        self._dropped = 0  # rows since columns were last made anew
        self._gone = 0  # rows since everything was
        self._hops = KeyIndex()
        self._codes = EndpointCodes(self.routes)
        self._begin()

    def _begin(self) -> None:
        """No parts and no columns; everything is made again when it is met."""
        self._maker = SegmentBuilder(self.routes)
        self._forget_parts()

    def _forget_parts(self) -> None:
        self._maker.forget()
        self._part_of_end = GrowableArray(np.int32, fill=-1)
        self._part_of_both = GrowableArray(np.int32, fill=-1)
        self._parts_of_way = {flavour: GrowableArray(np.int32, 3, fill=-1) for flavour in range(3)}
        self._parts_of_hop = GrowableArray(np.int32, 2, fill=-1)
        self._stale = np.arange(len(self._way))

    def __len__(self) -> int:
        return len(self._way)

    def add(self, paths: Paths | Iterable[Path]) -> None:
        """Append rows."""
        new = paths if isinstance(paths, Paths) else Paths.of(paths, self._tables)
        if not len(new):
            return
        if not len(self) and not self._flows:
            self._tables = new.tables
        new = new.under(self._tables)
        start = len(self)
        self._ends.append(self._codes.ends(new))
        self._way.append(self._codes.ways(new))
        self._codes.call_spines(new)
        self._flow.append(self._flows.place(new, *self._codes.tors(new)))
        self._stale = np.concatenate([self._stale, np.arange(start, len(self))])
        self.version += 1

    def learn_route(self, flow: Flow, hops: list[str | None]) -> None:
        """Take a traceroute; rows of its five-tuple, in either direction, are placed anew."""
        self._changed(self._flows.learn(self._tables, flow, hops))

    def learn_routes(self, batch: pa.RecordBatch) -> None:
        """Take a chunk of traceroutes, columns as in windows.ROUTES."""
        self._changed(self._flows.learn_all(self._tables, batch))

    def keep(self, rows: Bool) -> None:
        """Drop all other rows, and components that nothing crosses any more once they are many."""
        self.woven()
        dropped = len(rows) - int(rows.sum())
        for column in (self._ends, self._way, self._flow, self._slots):
            column.keep(rows)
        self._flow.now[...] = self._flows.keep(self._flow.now)
        self._dropped += dropped
        self._gone += dropped
        if self._dropped > len(self):
            self._dropped = 0
            self._begin()
        self.version += 1

    def forsake(self) -> None:
        """Forget traceroutes that have waited in vain for a path with their five-tuple."""
        self._flow.now[...] = self._flows.forsake(self._flow.now)

    @property
    def wasteful(self) -> bool:
        """Most of what is remembered belongs to no row any more: see ``rebuilt``."""
        flows, learnt = self._flows, self.routes.learnt
        if self._gone > len(self) + _SPARE_ROWS:
            return True
        if flows.pairs > 2 * len(flows) + _SPARE_PAIRS:
            return True
        if learnt <= _SPARE_SWITCHES:
            return False
        return learnt > _SPARE_SWITCHES + 2 * len(self._switches_in_use())

    def rebuilt(self, paths: Paths) -> Incidence:
        """What a new one knows of the same rows and their routes, and nothing else.

        paths  descriptions of the rows; their tables may be others than before
        """
        new = Incidence(self._topology)
        new.version = self.version + 1
        used = self._switches_in_use()
        number = np.full(len(self.routes.switches) + 1, -1, np.int32)  # the last is for -1
        for old, own in new.routes.adopt(self.routes, used.tolist()).items():
            number[old] = own
        new.add(paths)
        if not len(paths):
            return new
        flows, first = np.unique(new._flow.now.ravel(), return_index=True)
        routes = number[self._flows.hops(self._flow.now.ravel()[first])]
        deep = int((routes >= 0).any(axis=1).sum())
        new._flows.adopt(flows, routes[: max(deep, 1)])
        a, b = (routes[cut].ravel() for cut in (slice(None, -1), slice(1, None)))
        new.routes.join(dict.fromkeys(zip(a[b >= 0].tolist(), b[b >= 0].tolist(), strict=True)))
        return new

    def _switches_in_use(self) -> I64:
        """Numbers of the switches on routes of rows, rising."""
        mask = np.zeros(len(self.routes.switches) + 1, bool)
        if len(self):
            used = np.zeros(len(self._flows), bool)
            used[self._flow.now.ravel()] = True
            mask[self._flows.hops(np.flatnonzero(used))] = True
        mask[-1] = False
        return np.flatnonzero(mask)

    def sizes(self) -> dict[str, int]:
        """How much is remembered, by what."""
        return {
            "components": len(self.components),
            "parts": self._maker.parts,
            "switches": len(self.routes.switches),
            "links": self.routes.links,
            "five_tuples": len(self._flows),
            "address_pairs": self._flows.pairs,
            "ends": len(self._codes.end_of),
            "ways": len(self._codes.way_of),
            "routes_waiting": self._flows.waiting,
        }

    def woven(self) -> FactoredIncidence:
        """Rows as sums of parts; a view that later calls of ``add`` and ``learn_*`` change."""
        if self.routes.renamed > self._renamed:  # the columns have other names now
            self._renamed = self.routes.renamed
            self._begin()
        if self.routes.edges > self._edges:  # what was unknown has other ECMP alternatives now
            self._edges = self.routes.edges
            self._forget_parts()
        if news := self._flows.news():
            self._stale = np.union1d(self._stale, self._rows_of(news))
        if len(self._stale):
            self._write(self._stale)
            self._stale = np.empty(0, np.int64)
        return FactoredIncidence(self._slots.now, self._maker.matrix())

    @property
    def components(self) -> list[str]:
        """Component ids of the columns."""
        return self._maker.components

    @property
    def kinds(self) -> npt.NDArray[np.int8]:
        """(C,) place of each component's kind in PREFERENCE."""
        return self._maker.kinds

    def matrix(self) -> sparse.csr_array:
        """(P, C) shares."""
        return self.woven().matrices()[0]

    def directed(self) -> tuple[sparse.csr_array, sparse.csr_array]:
        """(P, C) along and against."""
        return self.woven().matrices()[1:]

    def traces(self) -> Traces:
        """What is known of the routes of all paths."""
        way = self._way.now
        ends = np.where(way >= 0, self._codes.way_of.now[:2, np.maximum(way, 0)], 0)
        return Traces(ends, np.stack([self._flows.hops(flows) for flows in self._flow.now]))

    def _changed(self, news: bool) -> None:
        routes = self.routes
        if news or routes.edges > self._edges or routes.renamed > self._renamed:
            self.version += 1

    def _rows_of(self, flows: list[int]) -> I64:
        mask = np.zeros(len(self._flows), bool)
        mask[flows] = True
        request, reply = self._flow.now
        return np.flatnonzero(mask[request] | mask[reply])

    def _write(self, rows: I64) -> None:
        most = self._flows.longest
        if len(self._slots.now) != 2 + 2 * most:
            self._slots = GrowableArray(np.int32, 2 + 2 * most)
            rows = np.arange(len(self))
        self._slots.grow(len(self))
        table = self._slots.now
        table[:, rows] = 0
        src, dst, both = self._ends.now[:, rows]
        apart = both < 0
        table[0, rows[apart]] = self._end_parts(src[apart])
        table[1, rows[apart]] = self._end_parts(dst[apart])
        table[0, rows[~apart]] = self._both_parts(both[~apart])
        rows = rows[self._way.now[rows] >= 0]
        way = self._way.now[rows]
        hops = [self._flows.hops(flows) for flows in self._flow.now[:, rows]]
        known = [route[0] >= 0 for route in hops]
        neither = ~(known[0] | known[1])
        table[2:5, rows[neither]] = self._way_parts(BOTH, way[neither])
        for flavour, start in ((OUT, 2), (BACK, 2 + most)):
            exact, guess = known[flavour], ~known[flavour] & ~neither
            routes = hops[flavour][:, exact]
            table[start : start + most, rows[exact]] = self._route_parts(flavour, routes)
            table[start : start + 3, rows[guess]] = self._way_parts(flavour, way[guess])

    def _end_parts(self, ends: I64) -> I32:
        made = self._part_of_end
        made.grow(len(self._codes.end_of))
        missing = _missing(made.now, ends)
        made.now[missing] = self._maker.always(
            self._codes.end_of.now[None, :, missing], self._tables
        )
        return np.asarray(made.now[ends])

    def _both_parts(self, both: I64) -> I32:
        made = self._part_of_both
        made.grow(len(self._codes.both_of))
        missing = _missing(made.now, both)
        ends = self._codes.end_of.now[:, self._codes.both_of.now[:, missing]]
        made.now[missing] = self._maker.always(np.moveaxis(ends, 1, 0), self._tables)
        return np.asarray(made.now[both])

    def _way_parts(self, flavour: int, ways: I64) -> I32:
        made = self._parts_of_way[flavour]
        made.grow(len(self._codes.way_of))
        missing = _missing(made.now[0], ways)
        made.now[:, missing] = self._maker.alternatives(
            flavour, self._codes.way_of.now[:, missing], self._tables["dsw"].texts
        )
        return np.asarray(made.now[:, ways])

    def _route_parts(self, flavour: int, hops: I32) -> I32:
        """(L, n) parts of exactly known routes: each switch, with the link that leads to it."""
        crossed = hops >= 0
        before = np.vstack([np.full((1, hops.shape[1]), HERE, np.int64), hops[:-1]])
        keys = joined(before[crossed], hops[crossed])
        codes, _ = self._hops.code(keys)
        made = self._parts_of_hop
        made.grow(len(self._hops))
        if len(missing := np.flatnonzero(made.now[flavour, codes] < 0)):
            codes_new, at = np.unique(codes[missing], return_index=True)
            for code, key in zip(codes_new.tolist(), keys[missing[at]].tolist(), strict=True):
                u, v = key >> 32, key & HERE
                made.now[flavour, code] = self._maker.step(flavour, u, v)
        parts = np.zeros(hops.shape, np.int32)
        parts[crossed] = made.now[flavour, codes]
        return parts


def _missing(made: I32, wanted: I64) -> I64:
    """Codes that are wanted and not made yet, rising."""
    missing = np.zeros(len(made), bool)
    missing[wanted] = True
    return np.flatnonzero(missing & (made < 0))
