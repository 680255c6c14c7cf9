"""Keys are numbered in order of arrival, whatever is dropped between."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from localizer.fabric.key_index import KeyIndex


@given(st.lists(st.lists(st.integers(0, 50), max_size=30), max_size=8), st.integers(0, 3))
@settings(deadline=None)
def test_keys_are_numbered_in_order_of_arrival(batches: list[list[int]], drop: int) -> None:
    index, known = KeyIndex(), dict[int, int]()
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
