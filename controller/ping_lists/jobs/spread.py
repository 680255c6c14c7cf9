"""Which members of a ring are paired: at fixed distances, so that all have as many peers. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import TypeVar

T = TypeVar("T")


@lru_cache(maxsize=4096)
def distances(size: int, limit: int) -> tuple[int, ...]:
    """Distances on a ring of ``size`` places at which two places are paired.

    Each place has at most ``limit`` peers, but at least its two neighbours. The distances are even
    from 1 to half of the ring, so that a component between two parts of the ring is crossed.
    """
    steps = tuple(range(1, size // 2 + 1))
    half = max(1, limit // 2)
    if len(steps) <= half:
        return steps
    return tuple(sorted({
        1 + index * (len(steps) - 1) // max(1, half - 1) for index in range(half)
    }))  # fmt: skip


def peers_of(place: int, size: int, limit: int) -> set[int]:
    """Places with which a place is paired; symmetric."""
    found = set()
    for step in distances(size, limit):
        found |= {(place + step) % size, (place - step) % size}
    return found - {place}


def pairs(members: Sequence[T], limit: int) -> Iterator[tuple[T, T]]:
    """Each pair of the ring of these members once."""
    size = len(members)
    for place, member in enumerate(members):
        for peer in peers_of(place, size, limit):
            if place < peer:
                yield member, members[peer]


def ring(members: Sequence[T]) -> Iterator[tuple[T, T]]:
    """Each pair of neighbours once."""
    yield from pairs(members, 1)


def thinned(
    wanted: Iterable[tuple[str, str]], limit: int, place: Mapping[str, int]
) -> list[tuple[str, str]]:
    """Pairs of which each member has at most ``limit``; all of them where none has more.

    place  of each member on its ring
    Of a member that has more, the pair with the next place that it is paired with comes first:
    collectives run along rings in this order. The others are drawn evenly, by a hash of the names.
    """
    every = sorted(wanted)
    peers: defaultdict[str, list[str]] = defaultdict(list)
    for a, b in every:
        peers[a].append(b)
        peers[b].append(a)
    if max(map(len, peers.values()), default=0) <= limit:
        return every
    size = max(place.values()) + 1
    after = {
        own: min(others, key=lambda peer: ((place[peer] - place[own] - 1) % size, peer))
        for own, others in peers.items()
    }

    def rank(pair: tuple[str, str]) -> tuple[bool, bytes]:
        a, b = pair
        drawn = blake2b("\0".join(pair).encode(), digest_size=8).digest()
        return after[a] != b and after[b] != a, drawn

    count: Counter[str] = Counter()
    kept = []
    for a, b in sorted(every, key=rank):
        if count[a] < limit and count[b] < limit:
            kept.append((a, b))
            count.update((a, b))
    return sorted(kept)
