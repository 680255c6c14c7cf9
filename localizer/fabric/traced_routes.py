"""Five-tuples and the routes that their traceroutes showed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from localizer.fabric.key_index import GrowableArray, KeyIndex, joined
from localizer.fabric.path_table import Paths, StringTable, Tables
from localizer.fabric.switch_graph import MOST_HOPS, SwitchGraph

Bool = npt.NDArray[np.bool_]
I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]
Flow = tuple[str, str, str, int, int]  # layer, addresses and ports of a request

#: Five-tuples whose route is kept although no path has been seen with them.
MOST_EARLY = 100_000

#: No path has said which access switches a five-tuple starts and ends at; nor when that was last
#: looked at.
_UNPLACED, _FORSAKEN = -2, -3
_HOPS = 5  # up two tiers and down again; the table widens for longer routes


class TracedRoutes:
    """Requests and replies of all paths, each with its route if that is known."""

    def __init__(self, routes: SwitchGraph) -> None:
        self._routes = routes
        self._pairs = KeyIndex()
        self._keys = KeyIndex()
        self._tors = GrowableArray(np.int32, 2, fill=_UNPLACED)  # numbers of the access switches
        self._hops = GrowableArray(np.int32, _HOPS, fill=-1)  # numbers of the switches
        self._early: dict[int, list[str | None]] = {}
        self._news: list[int] = []

    def __len__(self) -> int:
        return len(self._keys)

    def place(self, paths: Paths, src_tor: I32, dst_tor: I32) -> I64:
        """(2, n) numbers of the request and the reply of each path.

        src_tor, dst_tor  (n,) access switches of the paths' ends
        """
        layer = paths.column("layer")
        src, dst = paths.column("src_ip"), paths.column("dst_ip")
        sport, dport = paths.ports
        both = [
            self._code(layer, src, dst, sport, dport)[0],
            self._code(layer, dst, src, dport, sport)[0],
        ]
        tors = self._tors.now
        for flows, ends in zip(both, ((src_tor, dst_tor), (dst_tor, src_tor)), strict=True):
            new = tors[0, flows] <= _UNPLACED
            tors[:, flows[new]] = np.vstack(ends)[:, new]
        if self._early:
            for flow in np.unique(np.concatenate(both)).tolist():
                if hops := self._early.pop(flow, None):
                    self._read(flow, hops)
        return np.vstack(both)

    def learn(self, tables: Tables, flow: Flow, hops: Sequence[str | None]) -> bool:
        """Take one traceroute; returns whether it told something new."""
        layer, src, dst, sport, dport = flow
        codes = [tables["layer"].code(layer), *(tables["ip"].code(ip) for ip in (src, dst))]
        if len(hops) > MOST_HOPS:
            return False
        (number,) = self._known(*(np.array([c], np.int32) for c in (*codes, sport, dport)))
        return bool(number >= 0) and self._take(int(number), list(hops))

    def learn_all(self, tables: Tables, batch: pa.RecordBatch) -> bool:
        """Take a chunk of traceroutes, columns as in windows.ROUTES."""
        short = pc.fill_null(pc.list_value_length(batch.column("hops")), 0)
        batch = batch.filter(pc.less_equal(short, MOST_HOPS))
        named = (("layer", "layer"), ("src_ip", "ip"), ("dst_ip", "ip"))
        known = [self._coded(batch.column(name), tables[table]) for name, table in named]
        sure = np.logical_and.reduce([codes >= 0 for codes in known])
        if not sure.all():
            batch = batch.filter(pa.array(sure))
        columns = [codes[sure] for codes in known]
        ports = [batch.column(name).to_numpy() for name in ("src_port", "dst_port")]
        flows = self._known(*columns, *ports)
        hops = batch.column("hops")
        slow = flows >= 0
        news = False
        if self._routes.given:
            routes = self._listed(hops, flows)
            fast = slow & (routes[0] >= 0)
            news = self._set(flows[fast], routes[:, fast])
            slow &= ~fast
        for row in np.flatnonzero(slow).tolist():
            news |= self._take(int(flows[row]), hops[row].as_py() or [])
        return news

    def hops(self, flows: I64) -> I32:
        """(L, n) switches of each five-tuple's route in order, -1 behind its end or if unknown."""
        hops: I32 = self._hops.now[:, flows]
        return hops

    @property
    def longest(self) -> int:
        """L: switches of the longest route, or more."""
        return int(self._hops.now.shape[0])

    def news(self) -> list[int]:
        """Five-tuples whose route has changed since the last call."""
        news, self._news = self._news, []
        return news

    @property
    def waiting(self) -> int:
        """Five-tuples that have no path."""
        return int((self._tors.now[0] <= _UNPLACED).sum())

    @property
    def pairs(self) -> int:
        """Pairs of addresses that five-tuples were made of."""
        return len(self._pairs)

    def forsake(self, used: I64) -> I64:
        """Forget five-tuples for which no path has come since the last call, which are not among
        these (2, P); returns their new numbers."""
        tors = self._tors.now
        mask = tors[0] != _FORSAKEN
        tors[:, tors[0] == _UNPLACED] = _FORSAKEN
        return used if mask.all() else self._keep(mask, used)

    def keep(self, used: I64) -> I64:
        """Forget five-tuples that are not among these (2, P); returns their new numbers."""
        mask = np.zeros(len(self), bool)
        mask[used] = True
        return self._keep(mask, used)

    def _keep(self, mask: Bool, used: I64) -> I64:
        where = np.cumsum(mask) - 1
        self._keys.keep(mask)
        self._tors.keep(mask)
        self._hops.keep(mask)
        self._early = {int(where[f]): hops for f, hops in self._early.items() if mask[f]}
        self._news = [int(where[flow]) for flow in self._news if mask[flow]]
        return np.asarray(where[used])

    def adopt(self, flows: I64, routes: I32) -> None:
        """Routes (L, n) of five-tuples as they were known before; -1 throughout: not known."""
        there = routes[0] >= 0
        self._set(flows[there], routes[:, there])

    def _code(
        self, layer: I32, src: I32, dst: I32, sport: I32, dport: I32, *, add: bool = True
    ) -> tuple[I64, Bool]:
        """Numbers of some five-tuples, and which of them are known; others are added if so told."""
        ends = joined(src, dst) ^ (layer.astype(np.uint64) << np.uint64(61))
        pairs = self._pairs.code(ends)[0] if add else self._pairs.find(ends)
        keys = joined(pairs, (sport.astype(np.int64) & 0xFFFF) << 16 | (dport & 0xFFFF))
        known = np.where(pairs >= 0, self._keys.find(keys), -1)
        if not add:
            return known, known >= 0
        flows, _ = self._keys.code(keys)
        self._tors.grow(len(self))
        self._hops.grow(len(self))
        return flows, known >= 0

    def _coded(self, column: Any, names: StringTable) -> I32:
        """(n,) texts by their codes in a table; -1 for a new one when too many five-tuples wait."""
        coded = column.dictionary_encode()
        texts = coded.dictionary.to_pylist()
        known = names.known(texts)
        if len(known) < len(texts):
            new = [text for text in texts if text not in known]
            known |= {text: names.code(text) for text in new[: max(MOST_EARLY - self.waiting, 0)]}
        codes = np.array([known.get(text, -1) for text in texts], np.int32)
        return np.asarray(codes[coded.indices.to_numpy()])

    def _known(self, layer: I32, src: I32, dst: I32, sport: I32, dport: I32) -> I64:
        """Numbers of the five-tuples of some traceroutes; -1 when there are too many unknown."""
        flows, known = self._code(layer, src, dst, sport, dport, add=False)
        if known.all():
            return flows
        add = known | (np.cumsum(~known) + self.waiting <= MOST_EARLY)
        columns = (column[add] for column in (layer, src, dst, sport, dport))
        flows[add] = self._code(*columns)[0]
        return flows

    def _take(self, flow: int, hops: list[str | None]) -> bool:
        """Read a traceroute by hand: the fabric is not given, or a hop is silent or unlisted."""
        if self._tors.now[0, flow] <= _UNPLACED and not self._routes.given:
            self._early[flow] = hops  # only its path knows which hops are access switches
            return False
        return self._read(flow, hops)

    def _read(self, flow: int, hops: list[str | None]) -> bool:
        first, last = (self._routes.asw(tor) for tor in self._tors.now[:, flow].tolist())
        route = self._routes.read(hops, first, last)
        return route is not None and self._set(np.array([flow]), np.array([route], np.int32).T)

    def _set(self, flows: I64, routes: I32) -> bool:
        """Routes (L, n) as of now; returns whether any is another than before."""
        if len(routes) > self.longest:
            wider = GrowableArray(np.int32, len(routes), fill=-1)
            wider.grow(len(self))[: self.longest] = self._hops.now
            self._hops = wider
        padded = np.full((self.longest, len(flows)), -1, np.int32)
        padded[: len(routes)] = routes
        table = self._hops.now
        changed = (table[:, flows] != padded).any(axis=0)
        table[:, flows] = padded
        self._news += flows[changed].tolist()
        return bool(changed.any())

    def _listed(self, hops: Any, flows: I64) -> I32:
        """(L, n) routes of which every hop is listed and that are complete; -1 throughout else."""
        length = pc.fill_null(pc.list_value_length(hops), 0).to_numpy(zero_copy_only=False)
        most = max(int(length.max(initial=1)), 1)
        named = hops.flatten().dictionary_encode()
        names = named.dictionary.to_pylist()
        numbers = np.array([*(self._routes.listed(name) for name in names), -1], np.int32)
        flat = numbers[pc.fill_null(named.indices, len(names)).to_numpy(zero_copy_only=False)]
        routes = np.full((most, len(flows)), -1, np.int32)
        row = np.repeat(np.arange(len(flows)), length)
        at = np.arange(len(flat)) - np.repeat(np.cumsum(length) - length, length)
        routes[at, row] = flat
        ordered = np.sort(routes, axis=0)
        twice = ((ordered[1:] == ordered[:-1]) & (ordered[1:] >= 0)).any(axis=0)
        whole = (length > 0) & ((routes >= 0).sum(axis=0) == length) & ~twice & (flows >= 0)
        first, last = self._tors.now[:, np.maximum(flows, 0)] if len(self) else np.full((2, 0), -1)
        end = routes[np.maximum(length - 1, 0), np.arange(len(flows))]
        whole &= ((first < 0) | (first == routes[0])) & ((last < 0) | (last == end))
        routes[:, ~whole] = -1
        return routes
