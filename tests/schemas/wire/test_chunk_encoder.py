"""Chunks of batches in turn: the bytes that Arrow writes for each by itself."""

from __future__ import annotations

from itertools import accumulate

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.wire.window_chunks import MAX_CHUNK_BYTES, PANE, ROUTES, WINDOW, encode_chunks
from schemas.wire.windows import encoding
from schemas.wire.windows.encoding import ChunkEncoder


def batch_of(
    schema: pa.Schema, rows: int, names: list[str], seed: int, *, null: bool = False
) -> pa.RecordBatch:
    """Any values; each name is used by some row, or by none."""
    random = np.random.default_rng(seed)
    columns = []
    for field in schema:
        if pa.types.is_dictionary(field.type):
            places = pa.array(random.integers(0, len(names), rows).astype(np.int32))
            columns.append(pa.DictionaryArray.from_arrays(places, pa.array(names)))
        else:
            values = random.integers(0, 2**31, rows).astype(field.type.to_pandas_dtype())
            missing = random.random(rows) < 0.5 if null else None
            columns.append(pa.array(values, field.type, mask=missing))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


names = st.sampled_from([["a"], ["a", "b"], ["b", "a"], [f"host-{n:05d}" for n in range(300)]])


@given(
    st.lists(
        st.tuples(
            st.sampled_from([PANE, WINDOW]), st.sampled_from([0, 1, 5, 4001, 9001, 9002]), names,
            st.booleans(), st.sampled_from([0, 1, 3]),
        ),
        max_size=8,
    )
)  # fmt: skip
@settings(deadline=None, max_examples=40)
def test_chunks_are_those_of_each_batch_by_itself(
    batches: list[tuple[pa.Schema, int, list[str], bool, int]],
) -> None:
    encoder = ChunkEncoder()
    for seed, (schema, rows, texts, null, skipped) in enumerate(batches):
        batch = batch_of(schema, rows, texts, seed, null=null and rows == 5).slice(skipped)
        chunks = encoder.encode(batch)
        assert chunks == as_arrow_writes_them(batch, chunks)


def as_arrow_writes_them(batch: pa.RecordBatch, chunks: list[bytes]) -> list[bytes]:
    """Chunks of as many rows, each a stream of its own."""
    rows = [pa.ipc.open_stream(chunk).read_next_batch().num_rows for chunk in chunks]
    assert sum(rows) == batch.num_rows
    starts = accumulate(rows, initial=0)
    return [encoding.encode(batch.slice(start, n)) for start, n in zip(starts, rows, strict=False)]


def test_names_that_must_be_reduced_are_those_of_each_chunk() -> None:
    long = [f"{n:05d}".rjust(200, "n") for n in range(900)]
    encoder = ChunkEncoder()
    for seed, rows in enumerate([3000, 3000, 3000, 3000]):
        few = long if seed % 2 else [*long[:-1], "last"]
        for _ in range(2):
            batch = batch_of(PANE, rows, few, seed)
            chunks = encoder.encode(batch)
            assert chunks == encode_chunks(batch)
            assert max(map(len, chunks)) <= MAX_CHUNK_BYTES


def test_batches_of_other_columns_are_encoded_as_they_are() -> None:
    texts = [["a", "b"]] * 4
    numbers = [[1, 2]] * 2
    hops = [[["asw1", None], []]]
    columns = zip([*texts, *numbers, *hops], ROUTES, strict=True)
    routes = pa.RecordBatch.from_arrays(
        [pa.array(values, field.type) for values, field in columns], schema=ROUTES
    )
    encoder = ChunkEncoder()
    for _ in range(3):
        assert encoder.encode(routes) == encode_chunks(routes)


def test_arrow_encodes_the_names_of_the_first_chunk_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sizes, encode = [], encoding.encode

    def counted(batch: pa.RecordBatch) -> bytes:
        sizes.append(batch.num_rows)
        return encode(batch)

    monkeypatch.setattr(encoding, "encode", counted)
    encoder = ChunkEncoder()
    batches = [batch_of(WINDOW, 9000, ["a", "b"], seed) for seed in range(5)]
    chunks = [encoder.encode(batch) for batch in batches]
    full = len(chunks[0]) - 1
    assert len(sizes) == 1, "all other chunks have the same names"
    assert [len(each) for each in chunks] == [full + 1] * 5
    parts = [batch.slice(at, sizes[0]) for batch in batches for at in range(0, 9000, sizes[0])]
    assert [raw for each in chunks for raw in each] == [encode(part) for part in parts]
