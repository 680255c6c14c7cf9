"""Five-tuples and the routes that their traceroutes showed. No I/O.

A path is probed by two five-tuples, request and reply; each may take another route. A route is a
column of switch numbers, padded with -1. A traceroute may arrive before the path whose five-tuple
it has; then the five-tuple waits, and is dropped if no path comes. A route that is in doubt
(``route_changes``), or changes with every traceroute, is as one that is not known.

Example: path 0 from 10.0.0.1:50000 to 10.0.0.2:4791, its request traced as t1, s1, t2.

    five-tuple 0   10.0.0.1 -> 10.0.0.2, 50000 -> 4791   route [0, 2, 1, -1, -1]
    five-tuple 1   10.0.0.2 -> 10.0.0.1, 4791 -> 50000   route [-1, -1, -1, -1, -1], not traced
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from localizer.fabric.key_index import GrowableArray, KeyIndex, pair_key
from localizer.fabric.parameters import ROUTE_CHANGES, ROUTES
from localizer.fabric.path_table import Paths, StringTable, StringTables
from localizer.fabric.routes.route_changes import RouteChanges, crossed
from localizer.fabric.switch_graph import SwitchGraph

Bool = npt.NDArray[np.bool_]
I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]

#: In place of the ToRs of a five-tuple without a path: new, and already there when
#: ``drop_waiting`` was last called.
_WAITING, _WAITED = -2, -3
_BLOCK = 65_536  # five-tuples that are looked through at once
_SHORT_ROUTE = 5  # hops: up two tiers and down again; the table widens for longer routes


class TracedRoutes:
    """Requests and replies of all paths, each with its route if that is known."""

    def __init__(self, graph: SwitchGraph) -> None:
        self._graph = graph
        self._address_pairs = KeyIndex()
        self._keys = KeyIndex()
        self._tors = GrowableArray(np.int32, 2, fill=_WAITING)  # numbers of the access switches
        # Numbers of the switches; of 16 bits until there are more of them.
        self._routes = GrowableArray(np.int16, _SHORT_ROUTE, fill=-1)
        self._unread: dict[int, list[str | None]] = {}  # hops that a path is needed to resolve
        self._traced_s = GrowableArray(np.int64, fill=-1)  # when last; -1: never
        self._moves = GrowableArray(np.uint8)  # changes, less traceroutes without one
        self._doubtful = GrowableArray(np.bool_)
        self._changes = RouteChanges()
        self._now_s = 0
        self._confirmed: list[int] = []  # five-tuples of the traceroutes that are being read
        self._changed: list[int] = []
        self._outdated: list[int] = []

    def __len__(self) -> int:
        return len(self._keys)

    @property
    def waiting(self) -> int:
        """Five-tuples without a path [count]."""
        return int((self._tors.values[0] <= _WAITING).sum())

    @property
    def address_pairs(self) -> int:
        """Pairs of addresses that five-tuples were made of [count]."""
        return len(self._address_pairs)

    @property
    def longest(self) -> int:
        """L: rows of the table of routes."""
        return int(self._routes.values.shape[0])

    def routes(self, five_tuples: I64) -> I32:
        """(L, n) switches of the route of each five-tuple, -1 behind its end or if unknown."""
        routes: I32 = self._routes.values[:, five_tuples].astype(np.int32)
        routes[:, self._doubtful.values[five_tuples]] = -1
        return routes

    @property
    def changes(self) -> int:
        """Five-tuples that ``changed`` would give [count]."""
        return len(self._changed)

    def changed(self) -> list[int]:
        """Five-tuples whose route has changed since the last call."""
        changed, self._changed = self._changed, []
        return changed

    def outdated(self) -> list[int]:
        """Five-tuples whose probes before now took another route, since the last call."""
        outdated, self._outdated = self._outdated, []
        return outdated

    def add_paths(self, paths: Paths, src_tor: I32, dst_tor: I32) -> I64:
        """(2, n) numbers of the request and the reply of each path.

        src_tor, dst_tor  (n,) numbers of the access switches of the paths' ends
        """
        layer = paths.column("layer")
        src, dst = paths.column("src_ip"), paths.column("dst_ip")
        sport, dport = paths.ports
        requests = self._add(layer, src, dst, sport, dport)
        replies = self._add(layer, dst, src, dport, sport)
        tors = self._tors.values
        for numbers, ends in ((requests, (src_tor, dst_tor)), (replies, (dst_tor, src_tor))):
            new = tors[0, numbers] <= _WAITING
            tors[:, numbers[new]] = np.vstack(ends)[:, new]
        if self._unread:
            for number in np.unique(np.concatenate([requests, replies])).tolist():
                if hops := self._unread.pop(number, None):
                    self._resolve(number, hops)
            self._traced_s.values[self._confirmed] = self._now_s
            self._confirmed = []
        return np.vstack([requests, replies])

    def learn(self, tables: StringTables, batch: pa.RecordBatch, second: int) -> bool:
        """Read a chunk of traceroutes, columns as in window_chunks.ROUTES; returns whether any
        route is new or another than before.

        second  the newest that was judged [s]
        """
        self._now_s = max(second, self._now_s)
        length = pc.fill_null(pc.list_value_length(batch.column("hops")), 0)
        batch = batch.filter(pc.less_equal(length, ROUTES.most_hops))
        columns = (("layer", "layer"), ("src_ip", "ip"), ("dst_ip", "ip"))
        codes = [self._codes(batch.column(name), tables[table]) for name, table in columns]
        coded = np.logical_and.reduce([each >= 0 for each in codes])
        if not coded.all():
            batch = batch.filter(pa.array(coded))
        ports = [batch.column(name).to_numpy() for name in ("src_port", "dst_port")]
        numbers = self._find_or_wait(*(each[coded] for each in codes), *ports)
        hops = batch.column("hops")
        before = self._routes.values[:, np.maximum(numbers, 0)] if len(self) else None
        routes = self._listed_routes(hops, numbers)
        complete = routes[0] >= 0
        if self._graph.given:
            news = self._set(numbers[complete], routes[:, complete])
        else:
            news = False
            at = np.flatnonzero(complete)
            complete[at] = self._stored(numbers[at], routes[:, at])  # they teach the graph nothing
            complete &= ~np.isin(numbers, numbers[~complete])  # the last traceroute of each counts
            self._confirmed += numbers[complete].tolist()
        one_by_one = (numbers >= 0) & ~complete
        for row in np.flatnonzero(one_by_one).tolist():
            news |= self._learn_one(int(numbers[row]), hops[row].as_py() or [])
        if before is not None:
            news |= self._learn_changes(numbers, before)
        return news

    def _learn_changes(self, numbers: I64, before: I32) -> bool:
        """Compare the routes that were read with those of before (L, n); returns whether that puts
        routes in doubt, or out of it."""
        read = np.zeros(len(self), bool)
        read[self._confirmed] = True
        self._confirmed = []
        numbers, first = np.unique(numbers, return_index=True)
        counts = (numbers >= 0) & read[numbers]
        numbers, first = numbers[counts], first[counts]
        after = self._routes.values[:, numbers]
        was = np.full(after.shape, -1, np.int32)
        was[: len(before)] = before[:, first]
        traced_s, doubtful = self._traced_s.values, self._doubtful.values
        again = (traced_s[numbers] >= 0) & (traced_s[numbers] < self._now_s)
        moved = again & (was != after).any(axis=0)
        moves = self._moves.values[numbers].astype(np.int64) + np.where(moved, 1, -1)
        self._moves.values[numbers] = moves.clip(0, ROUTE_CHANGES.unstable + 1)
        unstable, doubted = moves >= ROUTE_CHANGES.unstable, doubtful[numbers]
        doubtful[numbers] = unstable
        self._changed += numbers[unstable != doubted].tolist()
        self._outdated += numbers[moved & ~(unstable | doubted)].tolist()
        steady = again & ~unstable
        left = self._changes.observe(
            self._now_s, was[:, steady], after[:, steady], traced_s[numbers[steady]]
        )
        traced_s[numbers] = self._now_s
        return (self._doubt(left) if left else False) or bool((unstable != doubted).any())

    def _doubt(self, left: dict[int, int]) -> bool:
        """Put routes in doubt that cross what others have left, and were traced before. What was
        never traced may have taken another route before, too.

        left  key -> second, as ``RouteChanges.observe``
        """
        keys = np.array(sorted(left), np.uint64)
        since_s = np.array([left[key] for key in keys.tolist()], np.int64)
        found = []
        for start in range(0, len(self), _BLOCK):
            block = slice(start, start + _BLOCK)
            over = crossed(self._routes.values[:, block])
            at = np.searchsorted(keys, over).clip(max=len(keys) - 1)
            older = self._traced_s.values[block] < since_s[at]
            stale = ((keys[at] == over) & older).any(axis=0) & ~self._doubtful.values[block]
            found += (np.flatnonzero(stale) + start).tolist()
        self._doubtful.values[found] = True
        self._changed += found
        self._outdated += [*found, *np.flatnonzero(self._traced_s.values < 0).tolist()]
        return bool(found)

    def adopt(self, five_tuples: I64, routes: I32) -> None:
        """Set routes (L, n) that were resolved before; -1 throughout: not known."""
        known = routes[0] >= 0
        self._set(five_tuples[known], routes[:, known])
        self._traced_s.values[five_tuples[known]] = 0
        self._confirmed = []

    def adopt_complete(self, five_tuples: I64, routes: I32) -> None:
        """As ``adopt``, of those routes that begin and end at their five-tuple's access switches,
        where these are known."""
        first, last = self._tors.values[:, five_tuples]
        hops = (routes >= 0).sum(axis=0)
        end = routes[np.maximum(hops - 1, 0), np.arange(len(five_tuples))]
        fits = self._at_home(first, routes[0]) & self._at_home(last, end)
        self.adopt(five_tuples[fits], routes[: max(int(hops.max(initial=0)), 1), fits])

    def drop_waiting(self, used: I64) -> I64:
        """Drop five-tuples that had no path when this was last called and have none now.

        used     (2, P) numbers of the paths' five-tuples
        returns  (2, P) their new numbers
        """
        self._changes.drop_old(self._now_s)
        tors = self._tors.values
        mask = tors[0] != _WAITED
        tors[:, tors[0] == _WAITING] = _WAITED
        return used if mask.all() else self._retain(mask, used)

    def retain(self, used: I64) -> I64:
        """Drop all five-tuples but those of the paths (2, P); returns (2, P) their new numbers."""
        mask = np.zeros(len(self), bool)
        mask[used] = True
        return self._retain(mask, used)

    def _retain(self, mask: Bool, used: I64) -> I64:
        number = np.cumsum(mask) - 1
        self._keys.retain(mask)
        self._tors.retain(mask)
        for column in (self._routes, self._traced_s, self._moves, self._doubtful):
            column.retain(mask)
        self._unread = {int(number[n]): hops for n, hops in self._unread.items() if mask[n]}
        self._changed = [int(number[n]) for n in self._changed if mask[n]]
        self._outdated = [int(number[n]) for n in self._outdated if mask[n]]
        return np.asarray(number[used])

    def _add(self, layer: I32, src: I32, dst: I32, sport: I32, dport: I32) -> I64:
        """(n,) numbers of some five-tuples, added if they are new."""
        pairs, _ = self._address_pairs.code(_address_key(layer, src, dst))
        numbers, _ = self._keys.code(_port_key(pairs, sport, dport))
        self._tors.grow(len(self))
        for column in (self._routes, self._traced_s, self._moves, self._doubtful):
            column.grow(len(self))
        return numbers

    def _find(self, layer: I32, src: I32, dst: I32, sport: I32, dport: I32) -> I64:
        """(n,) numbers of some five-tuples, -1 for those that are not known."""
        pairs = self._address_pairs.find(_address_key(layer, src, dst))
        return np.where(pairs >= 0, self._keys.find(_port_key(pairs, sport, dport)), -1)

    def _find_or_wait(self, layer: I32, src: I32, dst: I32, sport: I32, dport: I32) -> I64:
        """(n,) numbers of the five-tuples of some traceroutes; -1 where too many wait already."""
        numbers = self._find(layer, src, dst, sport, dport)
        unknown = numbers < 0
        if not unknown.any():
            return numbers
        add = ~unknown | (np.cumsum(unknown) + self.waiting <= ROUTES.most_waiting)
        numbers[add] = self._add(*(column[add] for column in (layer, src, dst, sport, dport)))
        return numbers

    def _codes(self, column: Any, table: StringTable) -> I32:
        """(n,) texts by their codes in a table; -1 for new ones where too many wait already."""
        coded = column.dictionary_encode()
        texts = coded.dictionary.to_numpy(zero_copy_only=False).tolist()
        codes = table.find(texts)
        new = np.flatnonzero(codes < 0)
        if len(new):  # to count who waits takes a look at all five-tuples
            room = max(ROUTES.most_waiting - self.waiting, 0)
            for at in new[:room].tolist():
                codes[at] = table.code(texts[at])
        return np.asarray(codes[coded.indices.to_numpy()])

    def _learn_one(self, number: int, hops: list[str | None]) -> bool:
        """A traceroute of a graph that is not given, or with a silent or unlisted hop."""
        if self._tors.values[0, number] <= _WAITING and not self._graph.given:
            self._unread[number] = hops  # only its path says which hops are access switches
            return False
        return self._resolve(number, hops)

    def _resolve(self, number: int, hops: list[str | None]) -> bool:
        first, last = (self._graph.asw(tor) for tor in self._tors.values[:, number].tolist())
        route = self._graph.resolve(hops, first, last)
        return route is not None and self._set(np.array([number]), np.array([route], np.int32).T)

    def _set(self, five_tuples: I64, routes: I32) -> bool:
        """Store routes (L, n); returns whether any is another than before."""
        dtype = self._routes.values.dtype
        if routes.max(initial=-1) > np.iinfo(dtype).max:
            dtype = np.dtype(np.int32)
        if len(routes) > self.longest or dtype != self._routes.values.dtype:
            wider = GrowableArray(dtype, max(len(routes), self.longest), fill=-1)
            wider.grow(len(self))[: self.longest] = self._routes.values
            self._routes = wider
        padded = np.full((self.longest, len(five_tuples)), -1, np.int32)
        padded[: len(routes)] = routes
        table = self._routes.values
        changed = (table[:, five_tuples] != padded).any(axis=0)
        table[:, five_tuples] = padded
        self._confirmed += five_tuples.tolist()
        self._changed += five_tuples[changed].tolist()
        return bool(changed.any())

    def _stored(self, five_tuples: I64, routes: I32) -> Bool:
        """(n,) whether each route (L, n) is what is stored of its five-tuple."""
        table, kept = self._routes.values, min(len(routes), self.longest)
        same: Bool = (table[:kept, five_tuples] == routes[:kept]).all(axis=0)
        return same & (routes[kept:] < 0).all(axis=0) & (table[kept:, five_tuples] < 0).all(axis=0)

    def _at_home(self, tors: I32, ends: I32) -> Bool:
        """(n,) whether routes begin, or end, at a ToR of the rnic; tors: -1 if unknown."""
        fits: Bool = (tors < 0) | (tors == ends)
        for at in np.flatnonzero(~fits & (ends >= 0)).tolist():
            fits[at] = int(ends[at]) in self._graph.homes(int(tors[at]))
        return fits

    def _listed_routes(self, hops: Any, five_tuples: I64) -> I32:
        """(L, n) routes whose hops are all listed, and that are complete; else -1 throughout."""
        length = pc.fill_null(pc.list_value_length(hops), 0).to_numpy(zero_copy_only=False)
        most = max(int(length.max(initial=1)), 1)
        named = hops.flatten().dictionary_encode()
        names = named.dictionary.to_pylist()
        numbers = np.array([*(self._graph.listed(name) for name in names), -1], np.int32)
        flat = numbers[pc.fill_null(named.indices, len(names)).to_numpy(zero_copy_only=False)]
        routes = np.full((most, len(five_tuples)), -1, np.int32)
        row = np.repeat(np.arange(len(five_tuples)), length)
        hop = np.arange(len(flat)) - np.repeat(np.cumsum(length) - length, length)
        routes[hop, row] = flat
        ordered = np.sort(routes, axis=0)
        twice = ((ordered[1:] == ordered[:-1]) & (ordered[1:] >= 0)).any(axis=0)
        complete = (length > 0) & ((routes >= 0).sum(axis=0) == length) & ~twice
        complete &= five_tuples >= 0
        if len(self):
            first, last = self._tors.values[:, np.maximum(five_tuples, 0)]
            end = routes[np.maximum(length - 1, 0), np.arange(len(five_tuples))]
            complete &= self._at_home(first, routes[0]) & self._at_home(last, end)
        routes[:, ~complete] = -1
        return routes


def _address_key(layer: I32, src: I32, dst: I32) -> npt.NDArray[np.uint64]:
    return pair_key(src, dst) ^ (layer.astype(np.uint64) << np.uint64(61))


def _port_key(pairs: I64, sport: I32, dport: I32) -> npt.NDArray[np.uint64]:
    return pair_key(pairs, (sport.astype(np.int64) & 0xFFFF) << 16 | (dport & 0xFFFF))
