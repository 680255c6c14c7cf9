"""The pairs of a job: a ring on each rail that members join and leave, or its skeleton.

A member keeps its place while others come and go, so that an event changes the lists of its own
peers only. A ring that is full grows to twice its size, one that is nearly empty shrinks, and all
places are dealt anew: amortized, a member that joins or leaves costs its own peers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Literal, NamedTuple

from controller.ping_lists.jobs.spread import peers_of

Phase = Literal["preload", "activation", "skeleton"]


class JobPhase(NamedTuple):
    """What a job's lists are made of, for people.

    phase       preload: no container is ready; activation: the rail lists, as containers become
                ready; skeleton: only pairs that carry traffic
    reason      why it is not, or no longer, the skeleton
    containers, ready  that are not gone, and that are ready [count]
    pairs       pairs of endpoints in the job's lists, active or not [count]
    generation  rises when the members change: a skeleton of an older one is out of date
    """

    phase: Phase
    reason: str
    containers: int
    ready: int
    pairs: int
    active: int
    generation: int


class Membership(NamedTuple):
    """Who is in a job; costs nothing to ask.

    generation  as in JobPhase
    allowed     whether a skeleton may be used
    """

    containers: int
    ready: int
    generation: int
    allowed: bool


class Ring:
    """Places on a ring, some of them free. least: its size at least; limit: peers of a place."""

    def __init__(self, least: int, limit: int) -> None:
        self._least, self._limit = max(least, 1), limit
        self._places: list[str | None] = []
        self._place_of: dict[str, int] = {}
        self._free: list[int] = []
        self._lay_out(self._least)

    def __contains__(self, ip: str) -> bool:
        return ip in self._place_of

    @property
    def full(self) -> bool:
        """Whether a member that joins needs a larger ring."""
        return not self._free

    @property
    def sparse(self) -> bool:
        """Whether so few members are left that a smaller ring pairs them better."""
        size = len(self._places)
        return size > self._least and len(self._place_of) < size // 4

    def resize(self, least: int) -> None:
        """Set the size that the ring has at least, and deal all places anew."""
        self._least = max(least, 1)
        self._lay_out(max(self._least, len(self._place_of)))

    def grow(self) -> None:
        """Deal the places of a ring of twice the size."""
        self._lay_out(2 * len(self._places))

    def shrink(self) -> None:
        """Deal the places of a ring of half the size."""
        self._lay_out(max(self._least, len(self._places) // 2))

    def join(self, ip: str) -> None:
        """Take the first free place; grow a full ring before."""
        place = heappop(self._free)
        self._places[place] = ip
        self._place_of[ip] = place

    def leave(self, ip: str) -> None:
        """Free the member's place."""
        place = self._place_of.pop(ip)
        self._places[place] = None
        heappush(self._free, place)

    def place(self, ip: str) -> int:
        """The member's place."""
        return self._place_of[ip]

    def peers(self, ip: str) -> list[str]:
        """The members with which a member is paired."""
        at = peers_of(self._place_of[ip], len(self._places), self._limit)
        return [peer for peer in (self._places[place] for place in at) if peer is not None]

    def pairs(self) -> Iterator[tuple[str, str]]:
        """All pairs, each once."""
        for ip, place in self._place_of.items():
            for peer in self.peers(ip):
                if place < self._place_of[peer]:
                    yield ip, peer

    def _lay_out(self, size: int) -> None:
        members = sorted(self._place_of, key=self._place_of.__getitem__)
        self._places = [None] * size
        self._place_of.clear()
        self._free = list(range(size))
        for ip in members:
            self.join(ip)


@dataclass(slots=True)
class JobRings:
    """A job: its members' endpoints on rings, and its skeleton where there is one.

    size      containers when it is complete, 0 if unknown; allowed: a skeleton may be used
    skeleton  pairs of endpoint addresses; None: the rings hold
    """

    limit: int
    size: int = 0
    allowed: bool = True
    reason: str = "not inferred yet"
    generation: int = 0
    skeleton: frozenset[tuple[str, str]] | None = None
    rings: dict[int, Ring] = field(default_factory=dict)
    containers: set[str] = field(default_factory=set)
    ready: int = 0

    @property
    def least(self) -> int:
        """Size of a ring at least: that of the complete job, or one in which all are peers."""
        return self.size or self.limit + 1

    def resize(self, size: int) -> None:
        """The size when complete, 0 if unknown; places are dealt anew."""
        self.size = size
        for ring in self.rings.values():
            ring.resize(self.least)

    def ring(self, rail: int) -> Ring:
        """The ring of a rail, made when its first member joins."""
        if rail not in self.rings:
            self.rings[rail] = Ring(self.least, self.limit)
        return self.rings[rail]

    def pairs(self) -> Iterator[tuple[str, str]]:
        """The pairs that hold: of the skeleton or of the rings."""
        if self.skeleton is not None:
            yield from sorted(self.skeleton)
            return
        for ring in self.rings.values():
            yield from ring.pairs()

    def membership(self) -> Membership:
        """Who is in the job."""
        return Membership(len(self.containers), self.ready, self.generation, self.allowed)

    def phase(self, pairs: int, active: int) -> JobPhase:
        """What the lists are made of; pairs: of endpoints on different hosts."""
        phase: Phase = "skeleton" if self.skeleton is not None else "activation"
        if not self.ready:
            phase = "preload"
        return JobPhase(
            phase, self.reason, len(self.containers), self.ready, pairs, active, self.generation
        )  # fmt: skip
