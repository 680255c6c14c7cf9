"""Frames of Arrow streams: the helper reads what Python takes, and leaves to it what it refuses."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest
from builders.schemas.compiled_helper import compiled, in_python

from schemas.limits import LIMITS
from schemas.wire.arrow.frames import FrameError, Frames, walk


def stream(rows: int = 3, *, batches: int = 1, names: int = 2, compressed: bool = False) -> bytes:
    """Record batches of a number, a text, and some columns with dictionaries."""
    columns = {"n": pa.array(range(rows)), "text": pa.array([f"t{i}" for i in range(rows)])}
    columns |= {f"d{i}": columns["text"].dictionary_encode() for i in range(names)}
    batch = pa.RecordBatch.from_pydict(columns)
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="lz4" if compressed else None)
    with pa.ipc.new_stream(sink, batch.schema, options=options) as writer:
        for _ in range(batches):
            writer.write_batch(batch)
    return bytes(sink.getvalue().to_pybytes())


def in_python_alone(raw: bytes) -> Frames | None:
    with in_python():
        try:
            return walk(raw)
        except FrameError:
            return None


TAKEN = [
    stream(), stream(0), stream(names=0), stream(batches=3, names=0), stream(2000), stream()[:-8],
]  # fmt: skip


@pytest.mark.parametrize("raw", TAKEN)
def test_frames_are_those_that_python_finds(raw: bytes) -> None:
    found = compiled().arrow_frames(raw, LIMITS.arrow_frames)
    assert Frames(*found) == in_python_alone(raw) == walk(raw)


@pytest.mark.parametrize(
    "raw", [b"", b"\0" * 8, b"no arrow", stream()[8:], stream(compressed=True)]
)
def test_what_python_refuses_is_not_read(raw: bytes) -> None:
    assert in_python_alone(raw) is None
    assert compiled().arrow_frames(raw, LIMITS.arrow_frames) is None
    with pytest.raises(FrameError):
        walk(raw)


def test_more_frames_than_allowed_are_not_read() -> None:
    raw = stream(batches=3, names=0)  # with the schema four
    assert compiled().arrow_frames(raw, 4) is not None
    assert compiled().arrow_frames(raw, 3) is None


def test_damaged_streams_are_read_exactly_where_python_reads_them() -> None:
    rng, taken = random.Random(1), 0
    for _ in range(4000):
        raw = bytearray(rng.choice(TAKEN[:4]))
        for _ in range(rng.randint(1, 3)):
            if rng.random() < 0.5:
                raw[rng.randrange(len(raw))] = rng.choice([0, 1, 4, 127, 128, 255])
            else:
                del raw[rng.randrange(len(raw)) :]
                raw += bytes(rng.randrange(3))
            if not raw:
                break
        expected = in_python_alone(bytes(raw))
        found = compiled().arrow_frames(bytes(raw), LIMITS.arrow_frames)
        assert (None if found is None else Frames(*found)) == expected
        taken += expected is not None
    assert 400 < taken < 3600, "both are tried"
