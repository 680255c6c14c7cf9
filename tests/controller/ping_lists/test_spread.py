"""Pairs on a ring, and which pairs are left out where there are too many."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.ping_lists.jobs.spread import distances, pairs, peers_of, thinned

_NUMBERS = st.integers(0, 15)
_PAIRS = st.sets(st.tuples(_NUMBERS, _NUMBERS).filter(lambda pair: pair[0] < pair[1]))


@pytest.mark.parametrize("size", [1, 2, 3, 7, 16, 100])
@pytest.mark.parametrize("limit", [1, 2, 5, 16])
def test_places_of_a_ring_are_paired_symmetrically_and_within_the_limit(
    size: int, limit: int
) -> None:
    for place in range(size):
        peers = peers_of(place, size, limit)
        assert len(peers) <= max(limit, 2)
        assert place not in peers
        assert all(place in peers_of(peer, size, limit) for peer in peers)
    found = list(pairs(list(range(size)), limit))
    assert len(found) == len({frozenset(pair) for pair in found})
    assert distances(size, limit)[:1] in ((), (1,))


@given(
    st.sets(
        st.tuples(st.integers(0, 15), st.integers(0, 15)).filter(lambda pair: pair[0] < pair[1])
    ),
    st.integers(1, 8),
)
def test_thinned_pairs_keep_the_limit_and_leave_none_out_that_would_still_fit(
    numbers: set[tuple[int, int]], limit: int
) -> None:
    wanted = {(f"m{a:02}", f"m{b:02}") for a, b in numbers}
    kept = set(thinned(wanted, limit, {f"m{n:02}": n for n in range(16)}))
    count = Counter(member for pair in kept for member in pair)
    assert kept <= wanted
    assert max(count.values(), default=0) <= limit
    assert all(count[a] >= limit or count[b] >= limit for a, b in wanted - kept)
