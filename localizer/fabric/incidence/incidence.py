"""H, paths x segments, kept up to date as paths, traceroutes and switches come and go. No I/O.

Rows are those of the path table. A row is written when its path is added, and again when one of its
five-tuples is traced:

    slot       0, 1                 2 .. 2 + L                   2 + L .. 2 + 2 L
    traced     endpoint segments    hop segments of the request  hop segments of the reply
    untraced   endpoint segments    ECMP segments (3), of the request, the reply or the round trip

L is the longest route; a path whose ends share something has one endpoint segment for both. Where
rnics are bonded two slots more hold the segments of their links.

Example: the path of ``segments``, of which only the request is traced, has L = 5 and the slots
[src, dst, t1, s1, t2, 0, 0, at t1, at t2, interior, 0, 0]. When its reply is traced too, the last
five are written again.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from localizer.fabric.incidence.built_segments import ECMP_SEGMENTS, BuiltSegments
from localizer.fabric.incidence.documented_tors import DocumentedTors
from localizer.fabric.incidence.endpoint_codes import EndpointCodes
from localizer.fabric.incidence.factored import FactoredIncidence
from localizer.fabric.incidence.rnic_tors import BOTH_NAMED
from localizer.fabric.incidence.segments import REPLY, REQUEST, ROUND_TRIP
from localizer.fabric.key_index import GrowableArray, pair_key
from localizer.fabric.path_table import Paths, StringTables, new_tables
from localizer.fabric.recoding import Recoding
from localizer.fabric.routes.traced_routes import TracedRoutes
from localizer.fabric.switch_graph import SwitchGraph
from localizer.fabric.untraced_links import Traces
from schemas.documents.topology import Topology

Bool = npt.NDArray[np.bool_]
I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]

#: What belongs to no row may be so much, and as much as belongs to rows: see ``wasteful``.
_SPARE_ROWS, _SPARE_PAIRS, _SPARE_SWITCHES = 10_000, 50_000, 256


class Incidence:
    """The incidence of one fabric: rows as in the path table, columns as in ``components``.

    graph    switches and links; see there for what is learnt without a topology
    version  rises whenever a row or column changes
    """

    def __init__(self, topology: Topology | None) -> None:
        self._topology = topology
        self.graph = SwitchGraph(topology)
        self._documented = DocumentedTors(topology, self.graph)
        self.version = 0
        self._tables: StringTables = new_tables()
        self._traced = TracedRoutes(self.graph)
        self._codes = EndpointCodes(self.graph)
        self._segments = BuiltSegments(self.graph, self._codes)
        self._recoding = Recoding()
        # By path: codes of its endpoints (source, destination, joint), ToR pair, five-tuples.
        self._endpoints = GrowableArray(np.int32, 3, fill=-1)
        self._tor_pair = GrowableArray(np.int32, fill=-1)
        self._five_tuples = GrowableArray(np.int32, 2)
        self._slots = GrowableArray(np.int32, 2)
        self._stale = np.empty(0, np.int64)  # rows whose slots are to be written
        # Of the graph, when segments were built.
        self._learnt_links = self._renames = self._joins = self._rnics_placed = 0
        self._newest: tuple[tuple[int, ...], FactoredIncidence] | None = None  # of these changes
        self._dropped = 0  # rows dropped since columns were last built anew
        self._dropped_in_all = 0

    def __len__(self) -> int:
        return len(self._tor_pair)

    @property
    def components(self) -> list[str]:
        """Component ids of the columns; call ``factored`` before, it adds what is missing."""
        return self._segments.components

    @property
    def kinds(self) -> npt.NDArray[np.int8]:
        """(C,) rank of each component's kind in PREFERENCE."""
        return self._segments.kinds

    def add(self, new: Paths) -> None:
        """Append rows."""
        if not len(new):
            return
        if not len(self._codes.endpoints) and not self._traced:  # no code is of other tables yet
            self._tables = new.tables
        new = self._documented.applied(self._recoding.applied(new, self._tables))
        bonds = self._documented.place(new, self._codes.rnic_tors)
        start = len(self)
        self._endpoints.append(self._codes.of_endpoints(new))
        self._tor_pair.append(self._codes.of_tor_pairs(new))
        self._codes.record_spines(new)
        named = self._codes.tors(new)
        ends = [np.where(n < 0, bond, n) for n, bond in zip(named, bonds, strict=True)]
        self._five_tuples.append(self._traced.add_paths(new, *ends))
        self._stale = np.concatenate([self._stale, np.arange(start, len(self))])
        self.version += 1

    def learn_routes(self, batch: pa.RecordBatch, second: int = 0) -> Bool:
        """Read a chunk of traceroutes, columns as in window_chunks.ROUTES; returns (P,) rows whose
        probes before now took another route.

        second  the newest that was judged [s]
        """
        changed = self._traced.learn(self._tables, batch, second)
        learnt = self.graph.learnt_links > self._learnt_links
        if changed or learnt or self.graph.renames > self._renames:
            self.version += 1
        outdated = np.zeros(len(self), bool)
        if five_tuples := self._traced.outdated():
            outdated[self._rows_of(five_tuples)] = True
        return outdated

    def factored(self) -> FactoredIncidence:
        """M = H S of all rows; a view that later calls of ``add`` and ``learn_routes`` change.

        It is the same one while nothing has changed, so that what was derived from it stays.
        """
        newest = self._newest
        if newest is not None and newest[0] == self._changes():
            return newest[1]
        self._newest = None
        graph, changed = self.graph, self._traced.changed()
        renamed = graph.renames > self._renames
        self._place_rnics(np.arange(len(self)) if renamed else self._rows_of(changed))
        if renamed:  # columns have other names now
            self._renames = graph.renames
            self._rebuild_columns()
        if (graph.learnt_links, graph.joins) != (self._learnt_links, self._joins):
            self._learnt_links, self._joins = graph.learnt_links, graph.joins
            self._rebuild_segments()
        if changed:
            self._stale = np.union1d(self._stale, self._rows_of(changed))
        if len(self._stale):
            self._write(self._stale)
            self._stale = np.empty(0, np.int64)
        factored = FactoredIncidence(self._slots.values, *self._segments.matrices())
        self._newest = self._changes(), factored
        return factored

    def _changes(self) -> tuple[int, ...]:
        """Rises with whatever ``factored`` depends on."""
        graph = self.graph
        return (
            self.version, graph.learnt_links, graph.joins, graph.renames,
            len(self._stale), self._traced.changes, self._codes.rnic_tors.learnt,
        )  # fmt: skip

    def traces(self) -> Traces:
        """What is known of the routes of all paths."""
        pair = self._tor_pair.values
        tors = self._codes.certain_tors(pair)
        routes = [self._traced.routes(each) for each in self._five_tuples.values]
        return Traces(np.where(pair >= 0, tors, 0), np.stack(routes))

    def retain(self, rows: Bool) -> None:
        """Drop all rows but those of a mask (P,), and columns that no row crosses once these are
        many."""
        self.factored()
        dropped = len(rows) - int(rows.sum())
        for column in (self._endpoints, self._tor_pair, self._five_tuples, self._slots):
            column.retain(rows)
        self._five_tuples.values[...] = self._traced.retain(self._five_tuples.values)
        self._dropped += dropped
        self._dropped_in_all += dropped
        if self._dropped > len(self):
            self._dropped = 0
            self._rebuild_columns()
        self.version += 1

    def drop_waiting_routes(self) -> None:
        """Drop traceroutes that have waited for their path since the last call."""
        self._five_tuples.values[...] = self._traced.drop_waiting(self._five_tuples.values)

    @property
    def wasteful(self) -> bool:
        """Whether most of what is stored belongs to no row any more: see ``rebuilt``."""
        traced, learnt = self._traced, self.graph.learnt_switches
        if self._dropped_in_all > len(self) + _SPARE_ROWS:
            return True
        if traced.address_pairs > 2 * len(traced) + _SPARE_PAIRS:
            return True
        if learnt <= _SPARE_SWITCHES:
            return False
        return learnt > _SPARE_SWITCHES + 2 * len(self._switches_in_use())

    def rebuilt(self, paths: Paths) -> Incidence:
        """A new incidence of the same rows and their routes, and nothing else.

        paths  descriptions of the rows; their tables may be others than before
        """
        new = Incidence(self._topology)
        new.version = self.version + 1
        used = self._switches_in_use()
        number = np.full(len(self.graph.switches) + 1, -1, np.int32)  # the last is for -1
        for old, own in new.graph.adopt(self.graph, used.tolist()).items():
            number[old] = own
        new.add(paths)
        if not len(paths):
            return new
        five_tuples, first = np.unique(new._five_tuples.values.ravel(), return_index=True)
        routes = number[self._traced.routes(self._five_tuples.values.ravel()[first])]
        longest = int((routes >= 0).any(axis=1).sum())
        new._traced.adopt(five_tuples, routes[: max(longest, 1)])
        a, b = (routes[cut].ravel() for cut in (slice(None, -1), slice(1, None)))
        links = zip(a[b >= 0].tolist(), b[b >= 0].tolist(), strict=True)
        new.graph.adopt_links(dict.fromkeys(links))
        return new

    def following(self, topology: Topology, paths: Paths) -> Incidence:
        """A new incidence of the same rows by another topology document.

        Traced routes stay, but for those that cross a link which a document had and this one has
        not, and those that do not begin and end at the access switches of the rnics.

        paths  descriptions of the rows
        """
        new = Incidence(topology)
        new.version = self.version + 1
        new.add(paths)
        if not len(paths):
            return new
        known = self.graph.numbers_in(new.graph)
        five_tuples, first = np.unique(new._five_tuples.values.ravel(), return_index=True)
        routes = self._traced.routes(self._five_tuples.values.ravel()[first])
        stays = routes[0] >= 0
        if self.graph.given and (removed := self.graph.removed_in(new.graph, known)):
            gone = np.sort(pair_key(*np.array(sorted(removed)).T))
            for here, after in pairwise(routes):
                crossed = after >= 0
                stays[crossed] &= ~np.isin(pair_key(here[crossed], after[crossed]), gone)
        number = np.full(len(self.graph.switches) + 1, -1, np.int32)  # the last is for -1
        number[list(known)] = list(known.values())
        moved = number[routes]
        stays &= ((routes >= 0) == (moved >= 0)).all(axis=0)
        new._traced.adopt_complete(five_tuples[stays], moved[:, stays])
        return new

    def sizes(self) -> dict[str, int]:
        """How much is stored, by what [count]."""
        return {
            "components": len(self.components),
            "segments": len(self._segments),
            "switches": len(self.graph.switches),
            "links": self.graph.links,
            "five_tuples": len(self._traced),
            "address_pairs": self._traced.address_pairs,
            "endpoints": len(self._codes.endpoints),
            "tor_pairs": len(self._codes.tor_pairs),
            "routes_waiting": self._traced.waiting,
        }

    def _rebuild_columns(self) -> None:
        """Drop segments and columns; all are built again when they are met."""
        self._segments.drop_columns()
        self._stale = np.arange(len(self))

    def _rebuild_segments(self) -> None:
        self._segments.drop()
        self._stale = np.arange(len(self))

    def _switches_in_use(self) -> I64:
        """Numbers of the switches on routes of rows, rising."""
        mask = np.zeros(len(self.graph.switches) + 1, bool)
        if len(self):
            used = np.zeros(len(self._traced), bool)
            used[self._five_tuples.values.ravel()] = True
            mask[self._traced.routes(np.flatnonzero(used))] = True
        mask[-1] = False
        return np.flatnonzero(mask)

    def _place_rnics(self, rows: I64) -> None:
        """Learn from routes of some rows at which ToRs their rnics are, if records name none."""
        codes, pair = self._codes, self._tor_pair.values
        rows = rows[pair[rows] >= 0]
        rows = rows[codes.tor_pairs.values[4, pair[rows]] != BOTH_NAMED]
        src, dst = codes.rnics(self._endpoints.values[:2, rows])
        request, reply = self._five_tuples.values[:, rows]
        codes.rnic_tors.learn_routes(src, dst, self._traced.routes(request))
        codes.rnic_tors.learn_routes(dst, src, self._traced.routes(reply))
        placed = (codes.rnic_tors.learnt, self.graph.joins)
        if placed != (self._rnics_placed, self._joins):
            self._rnics_placed = placed[0]
            again = codes.tor_pairs_again(self._endpoints.values[:2], pair)
            self._stale = np.union1d(self._stale, np.flatnonzero(again != pair))
            pair[:] = again

    def _rows_of(self, five_tuples: list[int]) -> I64:
        if not five_tuples:
            return np.empty(0, np.int64)
        mask = np.zeros(len(self._traced), bool)
        mask[five_tuples] = True
        request, reply = self._five_tuples.values
        return np.flatnonzero(mask[request] | mask[reply])

    def _write(self, rows: I64) -> None:
        """Write the slots of some rows."""
        longest, bonded = self._traced.longest, self.graph.bonded()
        width = 2 + 2 * longest + (2 if bonded else 0)
        if len(self._slots.values) != width:
            self._slots = GrowableArray(np.int32, width)
            rows = np.arange(len(self))
        self._slots.grow(len(self))
        slots = self._slots.values
        slots[:, rows] = 0
        src, dst, joint = self._endpoints.values[:, rows]
        single = joint < 0
        slots[0, rows[single]] = self._segments.of_endpoints(self._tables, src[single])
        slots[1, rows[single]] = self._segments.of_endpoints(self._tables, dst[single])
        slots[0, rows[~single]] = self._segments.of_joint(self._tables, joint[~single])
        rows = rows[self._tor_pair.values[rows] >= 0]
        pair = self._tor_pair.values[rows]
        routes = [self._traced.routes(each) for each in self._five_tuples.values[:, rows]]
        traced = [route[0] >= 0 for route in routes]
        if bonded:
            slots[-2:, rows] = self._bonds(rows, bonded, routes)
        neither = ~(traced[REQUEST] | traced[REPLY])
        ecmp = slice(2, 2 + ECMP_SEGMENTS)
        slots[ecmp, rows[neither]] = self._segments.of_tor_pairs(
            self._tables, ROUND_TRIP, pair[neither]
        )
        for traversal, start in ((REQUEST, 2), (REPLY, 2 + longest)):
            exact, guess = traced[traversal], ~traced[traversal] & ~neither
            hops = self._segments.of_hops(traversal, routes[traversal][:, exact])
            slots[start : start + longest, rows[exact]] = hops
            ecmp = slice(start, start + ECMP_SEGMENTS)
            slots[ecmp, rows[guess]] = self._segments.of_tor_pairs(
                self._tables, traversal, pair[guess]
            )

    def _bonds(self, rows: I64, bonded: list[int], routes: list[I32]) -> I32:
        """(2, n) segments of the links of the rnics at both ends of some paths; 0 where a rnic is
        not bonded, or where the ToR is named and the link is in the segment of the endpoint.

        bonded  ToRs of bonded rnics
        routes  (L, n) of the request and of the reply
        """
        tors = self._codes.unnamed_tors(self._tor_pair.values[rows])
        rnics = self._codes.rnics(self._endpoints.values[:2, rows])
        first, last = zip(*map(_ends, routes), strict=True)
        segments = np.zeros(tors.shape, np.int32)
        for end in (REQUEST, REPLY):  # which of the two the rnic at this end sends
            some = np.flatnonzero(np.isin(tors[end], bonded))
            segments[end, some] = self._segments.of_bonds(
                self._tables, rnics[end, some], tors[end, some],
                leaves=first[end][some], enters=last[1 - end][some],
            )  # fmt: skip
        return segments


def _ends(routes: I32) -> tuple[I32, I32]:
    """(n,) (n,) first and last switch of (L, n) routes; -1 where none is traced."""
    hops = (routes >= 0).sum(axis=0)
    return routes[0], routes[hops - 1, np.arange(routes.shape[1])]
