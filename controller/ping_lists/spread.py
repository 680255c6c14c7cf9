"""Which members of a ring are paired: at fixed distances, so that all have as many peers. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
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
