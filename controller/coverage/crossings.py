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
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from controller.ping_lists.ecmp import Hop, SwitchPaths
from schemas.component_ids import TIER_KIND, component, link
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


class Ways(NamedTuple):
    """Links (K,), rising, and the share of requests and of replies that crosses each."""

    at: I64
    request: F64
    reply: F64


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
    def __init__(self, topology: Topology, routes: Routes) -> None:
        self._paths = SwitchPaths(topology)
        self._routes = routes
        kinds = {switch.id: TIER_KIND[switch.tier] for switch in topology.switches}
        self._tor = {r.real_ip: r.asw for host in topology.hosts for r in host.rnics}
        names = {name: component(kind, name) for name, kind in kinds.items()}
        ids = [
            link(component("rnic", ip), names[asw]) for ip, asw in self._tor.items() if asw
        ]  # fmt: skip
        self._of_rnic = {ip: at for at, ip in enumerate(ip for ip, asw in self._tor.items() if asw)}
        self._of_hop: dict[Hop, int] = {}
        for a, b in topology.links:
            self._of_hop[a, b] = self._of_hop[b, a] = len(ids)
            ids.append(link(names[a], names[b]))
        self._links = ids
        self._known = np.zeros(len(ids))
        self._expected: dict[tuple[str, str], Ways] = {}
        self._rows: list[tuple[I64, int, list[F64]]] = []

    def count(self, lists: Iterable[Probed]) -> Crossings:
        hosts: dict[str, int] = {}
        between: defaultdict[tuple[int, str, str, bool], list[float]] = defaultdict(_nothing)
        certain: defaultdict[tuple[int, int], list[float]] = defaultdict(_nothing)
        for each in lists:
            a, b = self._tor.get(each.src_rnic, ""), self._tor.get(each.dst_rnic, "")
            if not a or not b:
                continue
            host = hosts.setdefault(each.node_sn, len(hosts))
            ports = len(each.src_ports)
            for rnic in {each.src_rnic, each.dst_rnic}:
                _add(certain[host, self._of_rnic[rnic]], ports, ports / each.interval_s)
            if a == b:
                continue
            untraced = sum(not self._traced(each, port, host, a, b) for port in each.src_ports)
            if untraced:
                key = host, a, b, each.layer == "underlay"
                _add(between[key], untraced, untraced / each.interval_s)
        for (host, rnic_link), (count, rate) in certain.items():
            both = Ways(np.array([rnic_link]), np.ones(1), np.ones(1))
            self._row(both, host, count, rate, traceable=True)
        for (host, a, b, traceable), (count, rate) in between.items():
            self._row(self._expectation(a, b), host, count, rate, traceable)
        return self._crossings(list(hosts))

    def _traced(self, each: Probed, port: int, host: int, a: str, b: str) -> bool:
        """Count one five-tuple by its routes; False where neither direction is known."""
        if each.layer != "underlay":
            return False
        request = self._routes.get((each.src_ip, each.dst_ip, port, each.dst_port))
        reply = self._routes.get((each.dst_ip, each.src_ip, each.dst_port, port))
        if request is None and reply is None:
            return False
        ways = _ways(self._shares(request, a, b), self._shares(reply, b, a))
        self._row(ways, host, 1, 1 / each.interval_s, traceable=True)
        return True

    def _shares(self, route: Sequence[str] | None, a: str, b: str) -> dict[int, float]:
        """Links from ToR a to ToR b -> share that crosses them; 1 on a route that is known."""
        if route is None:
            return {self._of_hop[hop]: share for hop, share in self._paths.hops(a, b).items()}
        return {self._of_hop[hop]: 1.0 for hop in pairwise(route) if hop in self._of_hop}

    def _expectation(self, a: str, b: str) -> Ways:
        """What lies between two ToRs where no route is known."""
        if (a, b) not in self._expected:
            self._expected[a, b] = _ways(self._shares(None, a, b), self._shares(None, b, a))
        return self._expected[a, b]

    def _row(self, ways: Ways, host: int, count: float, rate: float, traceable: bool) -> None:
        at, request, reply = ways
        either = 1.0 - (1.0 - request) * (1.0 - reply)
        unseen = np.log1p(-either, out=np.full(len(at), -np.inf), where=either < 1.0)
        if traceable:
            twice = request * reply
            once = request + reply - 2 * twice
        else:
            certain = (request == 1.0).astype(np.float64) + (reply == 1.0)
            once, twice = 1.0 * (certain == 1), 1.0 * (certain == 2)
        self._known[at] += count * (either == 1.0)
        columns = [count * either, count * unseen, rate * either, rate * once, rate * twice]
        self._rows.append((at, host, columns))

    def _crossings(self, hosts: list[str]) -> Crossings:
        """Sum the rows of equal link and host."""
        none = [(np.zeros(0, np.int64), 0, [np.zeros(0)] * 5)]
        at, host, columns = zip(*(self._rows or none), strict=True)
        hosts_of_rows = np.repeat(np.array(host), [len(each) for each in at])
        key, where = np.unique(
            np.concatenate(at) * max(len(hosts), 1) + hosts_of_rows, return_inverse=True
        )
        sums = [
            np.bincount(where, np.concatenate(column), len(key)).astype(np.float64)
            for column in zip(*columns, strict=True)
        ]
        return Crossings(
            self._links, hosts, self._known, *np.divmod(key, max(len(hosts), 1)), *sums
        )


def _ways(request: Mapping[int, float], reply: Mapping[int, float]) -> Ways:
    at = np.array(sorted({*request, *reply}), np.int64)
    shares = (
        np.array([min(way.get(index, 0.0), 1.0) for index in at.tolist()])
        for way in (request, reply)
    )
    return Ways(at, *shares)


def _nothing() -> list[float]:
    """No five-tuples, no probes a second."""
    return [0.0, 0.0]


def _add(total: list[float], count: float, rate: float) -> None:
    total[0] += count
    total[1] += rate
