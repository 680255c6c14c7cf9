"""Keys are numbered in order of arrival, whatever is dropped between."""

from __future__ import annotations

import numpy as np
import pytest
from builders.schemas.compiled_helper import compiled, in_python
from hypothesis import given, settings
from hypothesis import strategies as st

from localizer.fabric.key_index import KeyIndex

keys = st.lists(st.lists(st.integers(0, 50) | st.integers(0, 2**64 - 1), max_size=30), max_size=8)


@given(keys, st.integers(0, 3))
@settings(deadline=None)
def test_keys_are_numbered_in_order_of_arrival(batches: list[list[int]], drop: int) -> None:
    check(KeyIndex(), batches, drop)
    with in_python():
        check(KeyIndex(), batches, drop)


def check(index: KeyIndex, batches: list[list[int]], drop: int) -> None:
    known = dict[int, int]()
    for batch in batches:
        codes, new = index.code(np.array(batch, np.uint64))
        fresh = [k for k in dict.fromkeys(batch) if k not in known]
        known |= {key: len(known) + n for n, key in enumerate(fresh)}
        assert codes.tolist() == [known[key] for key in batch]
        assert [batch[at] for at in new.tolist()] == fresh
    kept = np.arange(len(known)) % 4 != drop
    index.retain(kept)
    left = [key for key, code in known.items() if kept[code]]
    found = index.find(np.array(list(known), np.uint64))
    assert found.tolist() == [left.index(k) if k in left else -1 for k in known]
    assert len(index) == len(left)
    codes, new = index.code(np.array([*known], np.uint64))  # those that were dropped are new again
    assert sorted(codes.tolist()) == [*range(len(known))]
    assert len(new) == len(known) - len(left)


def test_many_keys_are_numbered_alike_by_the_helper_and_in_python() -> None:
    compiled()
    fast, random = KeyIndex(), np.random.default_rng(1)
    with in_python():
        plain = KeyIndex()
    for size in (0, 1, 70_000, 20_000, 5):
        some = random.integers(0, 60_000, size).astype(np.uint64) << np.uint64(32)
        for one, other in zip(fast.code(some), plain.code(some), strict=True):
            np.testing.assert_array_equal(one, other)
        kept = random.random(len(plain)) < 0.8
        for index in (fast, plain):
            index.retain(kept)
        some = random.integers(0, 60_000, 1000).astype(np.uint64) << np.uint64(32)
        np.testing.assert_array_equal(fast.find(some), plain.find(some))


def test_misuse_is_an_exception() -> None:
    codes = compiled().KeyCodes()
    eight = np.zeros(8, np.uint64)
    for arguments in ((b"1234567", bytearray(8)), (eight, bytearray(8)), (eight, bytes(64))):
        with pytest.raises((ValueError, BufferError)):
            codes.find(*arguments)
    with pytest.raises(ValueError, match="buffer"):
        codes.code(eight, np.zeros(8, np.int64), np.zeros(7, np.int64))
    with pytest.raises(ValueError, match="buffer"):
        codes.retain(np.ones(1, bool))
    assert len(codes) == 0
