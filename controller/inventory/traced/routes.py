"""Traceroutes, and what their hops are in a topology document. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple, TypeVar

from schemas.documents.topology import Topology

Key = TypeVar("Key")
Link = tuple[str, str]  # of two switches, in order of their names


class FiveTuple(NamedTuple):
    """What ECMP hashes; the protocol is that of the probes."""

    src_ip: str
    dst_ip: str
    src_port: int
    dst_port: int


class Trace(NamedTuple):
    """One traceroute.

    src_rnic, dst_rnic  addresses of the rnics at both ends, empty where the record names none
    hops                names in order, None for a silent one
    complete            the destination answered
    """

    five_tuple: FiveTuple
    src_rnic: str
    dst_rnic: str
    hops: tuple[str | None, ...]
    complete: bool

    def __str__(self) -> str:
        a, b = self.five_tuple, self.hops
        route = ", ".join(hop or "?" for hop in b)
        return f"{a.src_ip}:{a.src_port} to {a.dst_ip}:{a.dst_port} by {route}"


@dataclass(slots=True)
class Evidence:
    """Traceroutes that show something: how many, of which five-tuples, and the first of them."""

    example: Trace
    traces: int = 0
    five_tuples: set[FiveTuple] = field(default_factory=set)

    def add(self, trace: Trace) -> None:
        """Add one more."""
        self.traces += 1
        self.five_tuples.add(trace.five_tuple)


class Observed:
    """What some traceroutes show, in the names of a document.

    links     links between switches of the document
    at        (rnic, switch): the rnic's first or last hop
    unknown   hops that are neither a switch nor an address of one
    between   such a hop -> the known switches on either side of it
    strangers rnics that the document does not have
    whole     (first, last switch) -> five-tuples whose route is known from end to end
    """

    def __init__(self, topology: Topology) -> None:
        self._switch = {hop: s.id for s in topology.switches for hop in (s.id, *s.addresses)}
        self._rnics = {rnic.real_ip for host in topology.hosts for rnic in host.rnics}
        self.traces = 0
        self.links: dict[Link, Evidence] = {}
        self.at: dict[tuple[str, str], Evidence] = {}
        self.unknown: dict[str, Evidence] = {}
        self.between: dict[str, set[tuple[str | None, str | None]]] = {}
        self.strangers: dict[str, Evidence] = {}
        self.whole: dict[Link, set[FiveTuple]] = {}

    def add(self, traces: Iterable[Trace]) -> None:
        """Read some traceroutes."""
        for trace in traces:
            hops = _between_ends(trace)
            if not hops:
                continue
            self.traces += 1
            for rnic in (trace.src_rnic, trace.dst_rnic):
                if rnic and rnic not in self._rnics:
                    _note(self.strangers, rnic, trace)
            known = [self._switch.get(hop) if hop else None for hop in hops]
            self._read_unknown(trace, hops, known)
            for a, b in pairwise(known):
                if a and b and a != b:
                    _note(self.links, (min(a, b), max(a, b)), trace)
            if known[0]:
                self._place(trace.src_rnic, known[0], trace)
            if known[-1] and trace.complete:
                self._place(trace.dst_rnic, known[-1], trace)
                if known[0] and None not in known:
                    self.whole.setdefault((known[0], known[-1]), set()).add(trace.five_tuple)

    def _place(self, rnic: str, switch: str, trace: Trace) -> None:
        if rnic in self._rnics:
            _note(self.at, (rnic, switch), trace)

    def _read_unknown(
        self, trace: Trace, hops: tuple[str | None, ...], known: list[str | None]
    ) -> None:
        for n, (hop, switch) in enumerate(zip(hops, known, strict=True)):
            if hop is not None and switch is None:
                _note(self.unknown, hop, trace)
                before = known[n - 1] if n else None
                after = known[n + 1] if n + 1 < len(known) else None
                self.between.setdefault(hop, set()).add((before, after))


def _between_ends(trace: Trace) -> tuple[str | None, ...]:
    """The hops without the ends themselves, which some tools list."""
    ends = {trace.five_tuple.src_ip, trace.five_tuple.dst_ip, trace.src_rnic, trace.dst_rnic}
    hops = trace.hops
    while hops and hops[0] in ends:
        hops = hops[1:]
    while hops and hops[-1] in ends:
        hops = hops[:-1]
    return hops


def _note(of: dict[Key, Evidence], key: Key, trace: Trace) -> None:
    if key not in of:
        of[key] = Evidence(trace)
    of[key].add(trace)


def links_of(topology: Topology) -> Iterator[Link]:
    """Links between switches, each once."""
    yield from dict.fromkeys((min(a, b), max(a, b)) for a, b in topology.links if a != b)
