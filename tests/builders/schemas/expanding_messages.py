"""Small messages that expand to much memory, many rows, columns or dead letters."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, Final

import pyarrow as pa

from builders.schemas.record_formats import BARE, csv, ndjson
from schemas import topics
from schemas.wire import window_chunks
from schemas.wire.arrow import frames

ROWS: Final = 65_536


def stream(columns: dict[str, pa.Array], *, batches: int = 1, **options: Any) -> bytes:
    """An Arrow stream of the columns, with whatever options a writer has."""
    batch = pa.RecordBatch.from_arrays(list(columns.values()), list(columns))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        for _ in range(batches):
            writer.write_batch(batch)
    return bytes(sink.getvalue().to_pybytes())


def constant(value: Any, rows: int = ROWS) -> pa.Array:
    """One value, named by every row."""
    return pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int8()), pa.array([value]))


def records(rows: int = ROWS, **columns: pa.Array) -> dict[str, pa.Array]:
    """Columns of equal records."""
    return {name: constant(value, rows) for name, value in BARE.items()} | columns


def dictionary(compression: str | None = None) -> bytes:
    """60,000 B in every row: 3.9 GB as plain text."""
    return stream(records(src_zone_id=constant("z" * 60_000)), compression=compression)


def compressed() -> bytes:
    """16 columns of 64 MB of zeros in some ten kilobytes: 1 GB."""
    text = pa.array(["\0" * (4 * 1024 * 1024)] * 16)
    names = ("asw", "dsw", "pod", "zone_id", "region_id", "logic_site", "cluster_id", "tenant_id")
    wide = {f"{end}_{name}": text for end in ("src", "dst") for name in names}
    return stream(records(16) | wide, compression="zstd")


def views() -> bytes:
    """65,536 views of the same megabyte: 64 GB as plain text."""
    text = pa.array(["v" * 2**20]).cast(pa.string_view())
    view = struct.pack("<i4sii", 2**20, b"vvvv", 0, 0)
    buffers = [None, pa.py_buffer(view * ROWS), text.buffers()[2]]
    return stream(records(src_zone_id=pa.Array.from_buffers(pa.string_view(), ROWS, buffers)))


def run_ends() -> bytes:
    """One run of 65,536 texts of 60,000 B."""
    text = pa.array(["x" * 60_000])
    return stream({"src_ip": pa.RunEndEncodedArray.from_arrays(pa.array([ROWS], pa.int32()), text)})


def overlapping(columns: int = 44, text_bytes: int = 1024 * 1024) -> bytes:
    """Every column is the same megabyte of the body."""
    names = [f"src_{n}" for n in range(columns)]
    names[:4] = ["src_zone_id", "dst_zone_id", "src_pod", "dst_pod"]
    raw = bytearray(stream({name: pa.array(["x" * text_bytes]) for name in names}))
    start, _ = frames.walk(bytes(raw)).batches[0]
    root = start + 8
    table = root + struct.unpack_from("<I", raw, root)[0]
    slot = frames.field_position
    header = slot(raw, table, 2)
    header += struct.unpack_from("<I", raw, header)[0]
    vector = slot(raw, header, 2)
    vector += struct.unpack_from("<I", raw, vector)[0] + 4
    first = raw[vector : vector + 48]  # validity, offsets, data of the first column
    for column in range(columns):
        raw[vector + 48 * column : vector + 48 * (column + 1)] = first
    place, length = struct.unpack_from("<qq", raw, vector + 32)
    body = -(-(place + length) // 8) * 8
    struct.pack_into("<q", raw, slot(raw, table, 3), body)
    metadata = struct.unpack_from("<i", raw, start + 4)[0]
    return bytes(raw[: start + 8 + metadata + body])


def beyond_counting() -> bytes:
    """A million million rows, which take no bytes."""
    raw = stream({"dial": pa.nulls(ROWS)})
    return raw.replace(struct.pack("<q", ROWS), struct.pack("<q", 2**40))


def list_of_nothing() -> bytes:
    """A list of a thousand million nulls, which take no bytes."""
    nothing = pa.ListArray.from_arrays(pa.array([0, 2**30], pa.int32()), pa.nulls(2**30))
    return stream(records(1, route=nothing))


def deltas(count: int = 400) -> bytes:
    """Each batch brings a dictionary that is 32 kB longer."""
    kind = pa.dictionary(pa.int32(), pa.string())
    schema = pa.schema([("src_zone_id", kind)])
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(emit_dictionary_deltas=True)
    with pa.ipc.new_stream(sink, schema, options=options) as writer:
        texts: list[str] = []
        for number in range(count):
            texts.append(f"{number:05d}" * 6500)
            rows = pa.DictionaryArray.from_arrays(pa.array([number], pa.int32()), pa.array(texts))
            writer.write_batch(pa.RecordBatch.from_arrays([rows], schema=schema))
    return bytes(sink.getvalue().to_pybytes())


def objects(inner: bytes) -> bytes:
    """NDJSON rows of 240 B whose latency is what ``inner`` repeats."""
    row = ndjson({**BARE, "latency": 0}).replace(b': 0, "', b': 0, "').rstrip(b"}")
    row = row[: row.rindex(b"0")] + b"[" + inner * (80 // len(inner)) + b"1]}"
    return b"\n".join([row] * (ROWS - 1))


HEADER = csv(BARE).split(b"\n")[0]
KEYS = b"{" + b",".join(b'"k%d":1' % number for number in range(100_000)) + b"}"

#: name -> (content-type, message). Made when asked for: some take a while.
MESSAGES: Final[dict[str, tuple[str, Callable[[], bytes]]]] = {
    "dictionary": (topics.ARROW, dictionary),
    "dictionary, compressed": (topics.ARROW, lambda: dictionary("zstd")),
    "compressed bodies": (topics.ARROW, compressed),
    "rows of nothing": (topics.ARROW, lambda: stream({"dial": pa.nulls(ROWS)})),
    "rows beyond counting": (topics.ARROW, beyond_counting),
    "views of one text": (topics.ARROW, views),
    "run ends": (topics.ARROW, run_ends),
    "overlapping buffers": (topics.ARROW, overlapping),
    "list of nothing": (topics.ARROW, list_of_nothing),
    "dictionary deltas": (topics.ARROW, deltas),
    "columns without end": (
        topics.ARROW,
        lambda: stream({f"c{n}": pa.nulls(0) for n in range(100_000)}),
    ),
    "batches without rows": (
        topics.ARROW,
        lambda: stream({"dial": pa.array([], pa.string())}, batches=50_000),
    ),
    "array of digits": (topics.JSON, lambda: b"[" + b"1," * 8_000_000 + b"1]"),
    "array of 65,536 digits": (topics.JSON, lambda: b"[" + b"1," * (ROWS - 1) + b"1]"),
    "array of one object": (topics.JSON, lambda: b"[" + KEYS + b"]"),
    "tower": (topics.JSON, lambda: b"[" * 1_000_000),
    "lines of digits": (topics.NDJSON, lambda: b"1\n" * ROWS),
    "lines of empty objects": (topics.NDJSON, lambda: b"{}\n" * ROWS),
    "newlines": (topics.NDJSON, lambda: b"\n" * 16_000_000),
    "a string of 16 MB": (topics.NDJSON, lambda: b'{"dial":"' + b"x" * 16_000_000 + b'"}'),
    "100,000 keys": (topics.NDJSON, lambda: KEYS),
    "100,000 keys within": (topics.NDJSON, lambda: b'{"latency":' + KEYS + b"}"),
    "lists of lists": (topics.NDJSON, lambda: objects(b"[],")),
    "lists of numbers": (topics.NDJSON, lambda: objects(b"1.5,")),
    "digits without end": (topics.NDJSON, lambda: b'{"latency":' + b"9" * 15_000_000 + b"}"),
    "header of 100,000 columns": (
        topics.CSV,
        lambda: HEADER + b"".join(b",c%d" % n for n in range(100_000)) + b"\n",
    ),
    "header without end": (topics.CSV, lambda: HEADER + b"," + b"x" * 15_000_000),
    "a field of 200,000 B in the header": (topics.CSV, lambda: HEADER + b"," + b"x" * 200_000),
    "a carriage return in the header": (topics.CSV, lambda: HEADER + b",a\rb\n1,2\n"),
    "lines of commas": (topics.CSV, lambda: HEADER + b"\n,,,,," * ROWS),
    "lines of text": (topics.CSV, lambda: HEADER + b"\nx" * ROWS),
    "a content-type of 400 kB": ("x" * 400_000, lambda: b"x"),
    "a content-type of lines": ("x\n\0" * 1000, lambda: b"x"),
}


def chunk(kind: str) -> bytes:
    """A chunk of skh.windows whose names expand to 64 GB."""
    schema = window_chunks.PANE if kind == "pane" else window_chunks.WINDOW
    columns = [
        pa.DictionaryArray.from_arrays(pa.array([0] * 16_000, pa.int32()), pa.array(["x" * 4000]))
        if pa.types.is_dictionary(field.type)
        else pa.array([1] * 16_000).cast(field.type)
        for field in schema
    ]
    batch = pa.RecordBatch.from_arrays(columns, schema=schema)
    return window_chunks.encode(batch)
