"""Ping lists and traceroutes -> how many five-tuples of each source host cross each link. Pure.

Of a traced five-tuple the links are known. An untraced one crosses the links between its ToRs with
the shares of ECMP; request and reply are hashed independently. Every five-tuple crosses the links
of its two rnics for certain.

What the localizer names rests on known routes. Agents trace all of the underlay, so that expected
crossings count; the overlay is never traced, so that its probes count for a link only where they
cross it for certain.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array, csr_array

from controller.coverage.pieces import Pieces
from schemas.documents.topology import Topology

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]

#: Source and destination address, source and destination port.
FiveTuple = tuple[str, str, int, int]
#: Five-tuple -> the switches that it crosses, in order.
Routes = Mapping[FiveTuple, Sequence[str]]


class Probed(NamedTuple):
    """An entry of a list: five-tuples that one endpoint probes.

    src_rnic, dst_rnic  underlay addresses; src_ip, dst_ip the probe's own
    """

    node_sn: str
    src_rnic: str
    dst_rnic: str
    src_ip: str
    dst_ip: str
    src_ports: Sequence[int]
    dst_port: int
    layer: str
    interval_s: float


class Crossings(NamedTuple):
    """Links, source hosts, and what crosses: one row per link and host that share a five-tuple.

    links        component ids
    hosts        node_sn of all source hosts
    known        (L,) five-tuples that cross the link for certain [count]
    link, host   (R,) indices
    five_tuples  (R,) that cross the link, in expectation [count]
    unseen       (R,) ln of the probability that none of them crosses
    rate         (R,) of probes that cross the link, in expectation [1/s]
    once, twice  (R,) as in ``power.Seen``, of one second
    """

    links: list[str]
    hosts: list[str]
    known: F64
    link: I64
    host: I64
    five_tuples: F64
    unseen: F64
    rate: F64
    once: F64
    twice: F64


def entries(document: Mapping[str, object]) -> Iterator[Probed]:
    """The entries of a list, as ``PingLists.document`` makes it."""
    own, targets = document["endpoints"], document["targets"]
    if not isinstance(own, list) or not isinstance(targets, list):
        raise TypeError("a ping list has lists of endpoints and of targets")
    rnic = {each["ip"]: each["real_ip"] for each in own}
    interval_s = document["interval_s"]
    for each in targets:
        yield Probed(
            str(document["node_sn"]), rnic[each["src_ip"]], each["real_ip"], each["src_ip"],
            each["ip"], each["src_ports"], each["port"], each["layer"],
            float(interval_s) if isinstance(interval_s, int | float) else 1.0,
        )  # fmt: skip


def crossings(
    topology: Topology, lists: Iterable[Probed], routes: Routes | None = None
) -> Crossings:
    """Count what the lists cross.

    routes  complete traceroutes of the underlay; of replies too, by the reply's own five-tuple
    Entries whose rnics the topology lacks are left out.
    """
    return _Counter(topology, routes or {}).count(lists)


class _Counter:
    """Five-tuples and probes a second, by source host and piece."""

    def __init__(self, topology: Topology, routes: Routes) -> None:
        self._pieces = Pieces(topology)
        self._routes = routes
        self._hosts: dict[str, int] = {}
        self._traceable: defaultdict[tuple[int, int], list[float]] = defaultdict(_nothing)
        self._untraceable: defaultdict[tuple[int, int], list[float]] = defaultdict(_nothing)

    def count(self, lists: Iterable[Probed]) -> Crossings:
        between: defaultdict[tuple[int, str, str, bool], list[float]] = defaultdict(_nothing)
        for each in lists:
            ends = self._pieces.tor_pairs(each.src_rnic, each.dst_rnic)
            if not ends:
                continue
            host = self._hosts.setdefault(each.node_sn, len(self._hosts))
            ports = len(each.src_ports)
            for rnic in {each.src_rnic, each.dst_rnic}:
                piece = self._pieces.rnic(rnic)
                _add(self._traceable[host, piece], ports, ports / each.interval_s)
            if all(a == b for a, b, _ in ends):
                continue
            if each.layer == "underlay" and self._routes:
                ports = sum(not self._traced(each, port, host) for port in each.src_ports)
            for a, b, share in ends:
                if ports and a != b:
                    key = host, a, b, each.layer == "underlay"
                    _add(between[key], share * ports, share * ports / each.interval_s)
        for (host, a, b, traceable), (count, rate) in between.items():
            for piece in self._pieces.between(a, b):
                rows = self._traceable if traceable else self._untraceable
                _add(rows[host, piece], count, rate)
        return self._crossings()

    def _traced(self, each: Probed, port: int, host: int) -> bool:
        """Count one five-tuple by its routes; False where neither direction is known."""
        request = self._routes.get((each.src_ip, each.dst_ip, port, each.dst_port))
        reply = self._routes.get((each.dst_ip, each.src_ip, each.dst_port, port))
        if request is None and reply is None:
            return False
        _add(self._traceable[host, self._pieces.traced(request, reply)], 1, 1 / each.interval_s)
        return True

    def _crossings(self) -> Crossings:
        """Sums over the pieces that hold a link: products of sparse matrices."""
        links, hosts = self._pieces.links, list(self._hosts)
        first, at, request, reply = self._pieces.shares()
        shape = len(first) - 1, len(hosts)

        def of_links(values: F64) -> csr_array:
            """(L, P) from a value for each link of each piece."""
            by_piece = csr_array((values, at, first), shape=(shape[0], len(links)))
            return by_piece.T.tocsr()

        def of_hosts(rows: Mapping[tuple[int, int], list[float]], column: int) -> csr_array:
            """(P, H) five-tuples, or probes a second."""
            host, piece = np.array(list(rows), np.int64).reshape(-1, 2).T
            values = [each[column] for each in rows.values()]
            return coo_array((np.array(values, float), (piece, host)), shape=shape).tocsr()

        (ours, our_rate), (others, other_rate) = (
            (of_hosts(rows, 0), of_hosts(rows, 1)) for rows in (self._traceable, self._untraceable)
        )
        either = 1.0 - (1.0 - request) * (1.0 - reply)
        certain = (request == 1.0).astype(float) + (reply == 1.0)
        both = request * reply
        count, rate = ours + others, our_rate + other_rate
        crossed = (of_links(either) @ count).tocsr()
        crossed.sort_indices()
        link = np.repeat(np.arange(len(links)), np.diff(crossed.indptr))
        host = crossed.indices.astype(np.int64)
        keys = link * len(hosts) + host

        def same_rows(product: csr_array) -> F64:
            """(R,) values of a product at the rows of ``crossed``, of which it may lack some."""
            product.sort_indices()
            rows = np.repeat(np.arange(len(links)), np.diff(product.indptr))
            out = np.zeros(len(keys))
            out[np.searchsorted(keys, rows * len(hosts) + product.indices)] = product.data
            return out

        unseen = np.log1p(-either, out=np.full(len(at), -np.inf), where=either < 1.0)
        once = of_links(request + reply - 2 * both) @ our_rate
        once_others = of_links(1.0 * (certain == 1)) @ other_rate
        twice = of_links(both) @ our_rate
        twice_others = of_links(1.0 * (certain == 2)) @ other_rate
        return Crossings(
            links, hosts, np.asarray((of_links(1.0 * (either == 1.0)) @ count).sum(axis=1)).ravel(),
            link, host, crossed.data, same_rows(of_links(unseen) @ count),
            same_rows(of_links(either) @ rate), same_rows(once) + same_rows(once_others),
            same_rows(twice) + same_rows(twice_others),
        )  # fmt: skip


def _nothing() -> list[float]:
    """No five-tuples, no probes a second."""
    return [0.0, 0.0]


def _add(total: list[float], count: float, rate: float) -> None:
    total[0] += count
    total[1] += rate
