"""Chunks of skh.windows: what the helper is certain of, Python finds valid, and reads the same."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from builders.schemas.compiled_helper import compiled, in_python
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.limits import LIMITS, Limits
from schemas.wire import window_chunks
from schemas.wire.window_chunks import PANE, WINDOW, Kind, WindowsError
from schemas.wire.windows.checks import is_certain

SCHEMAS: dict[Kind, pa.Schema] = {"pane": PANE, "window": WINDOW}
NAMES = ["f1", "underlay", "", "10.0.0.1", "rack-7/node-11"]


def chunk(kind: Kind, rows: int, names: list[str] = NAMES, seed: int = 0) -> bytes:
    """Rows of paths with some names, as the windower writes them."""
    rng, columns = np.random.default_rng(seed), []
    for field in SCHEMAS[kind]:
        if pa.types.is_dictionary(field.type):
            codes = pa.array(rng.integers(0, len(names), rows).astype(np.int32))
            columns.append(pa.DictionaryArray.from_arrays(codes, pa.array(names, pa.string())))
        else:
            number = 9 if field.name == "sent" else rng.integers(0, 9, rows)
            columns.append(pa.array(np.full(rows, number)).cast(field.type))
    return window_chunks.encode(pa.RecordBatch.from_arrays(columns, schema=SCHEMAS[kind]))


def in_python_alone(kind: Kind, raw: bytes, limits: Limits = LIMITS) -> pa.RecordBatch | None:
    with in_python():
        try:
            return window_chunks.read(kind, raw, limits)
        except WindowsError:
            return None


@pytest.mark.parametrize("kind", ["pane", "window"])
@pytest.mark.parametrize("rows", [0, 1, 7, 4096])
def test_what_the_windower_writes_is_certain(kind: Kind, rows: int) -> None:
    compiled()
    raw = chunk(kind, rows)
    assert is_certain(kind, raw, LIMITS)
    assert is_certain(kind, raw[:-8], LIMITS), "the mark of the end may be missing"
    assert window_chunks.read(kind, raw).equals(in_python_alone(kind, raw))


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        chunk("window", 3),
        chunk("pane", 3, ["stra\u00dfe"]),  # valid, but rare: left to Python
        chunk("pane", 3, ["n" * (LIMITS.name_bytes + 1)]),
        chunk("pane", 3)[:-16],
        chunk("pane", LIMITS.chunk_rows + 1),
    ],
)
def test_anything_else_is_not_certain(raw: bytes) -> None:
    compiled()
    assert not is_certain("pane", raw, LIMITS)


def test_names_may_expand_as_much_as_python_allows() -> None:
    compiled()
    raw = chunk("pane", 4096, ["n" * 4000, "m"], seed=1)
    for allowed in range(15_500_000, 310_000_000, 1_000_000):
        limits = replace(LIMITS, expanded_free=allowed, expanded_ratio=0, expanded_bytes=2**40)
        expected = in_python_alone("pane", raw, limits) is not None
        assert is_certain("pane", raw, limits) == expected, allowed


@given(
    kind=st.sampled_from(["pane", "window"]),
    rows=st.integers(0, 40),
    seed=st.integers(0, 2**32),
    names=st.lists(st.text(max_size=30), min_size=1, max_size=9),
)
@settings(deadline=None, max_examples=100)
def test_rows_are_those_that_python_reads(
    kind: Kind, rows: int, seed: int, names: list[str]
) -> None:
    compiled()
    raw = chunk(kind, rows, names, seed)
    assert is_certain(kind, raw, LIMITS) == all(each.isascii() for each in names)
    assert window_chunks.read(kind, raw).equals(in_python_alone(kind, raw))


def test_of_damaged_chunks_none_is_certain_that_python_refuses() -> None:
    compiled()
    rng, certain, refused = random.Random(2), 0, 0
    whole = [chunk("pane", rows, seed=rows) for rows in (0, 1, 5, 64)]
    for _ in range(6000):
        raw = bytearray(rng.choice(whole))
        for _ in range(rng.randint(1, 2)):
            at = rng.randrange(len(raw)) // 4 * 4
            if rng.random() < 0.9:  # lengths and positions are small numbers
                value = rng.choice([0, 1, 2, 8, 64, 255, 2**31 - 1])
                raw[at : at + 4] = value.to_bytes(4, "little")
            else:
                del raw[at:]
                raw = raw or bytearray(4)
        expected = in_python_alone("pane", bytes(raw))
        refused += expected is None
        if is_certain("pane", bytes(raw), LIMITS):
            certain += 1
            try:
                found = window_chunks.read("pane", bytes(raw))
            except WindowsError:  # more probes lost than sent: both say so
                found = None
            assert (found is None) == (expected is None)
            if found is not None and expected is not None:  # a number may be NaN by now
                assert window_chunks.encode(found) == window_chunks.encode(expected)
    assert certain > 500
    assert refused > 500
