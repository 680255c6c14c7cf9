"""skh.windows: what the windower sends to the localizer and to the sink, as Arrow chunks.

Five kinds of message share the topic (header ``kind``):

pane          counts of one closed second per five-tuple path
window        latency features of one closed 30 s window per five-tuple path
routes        hops of traceroutes that closed with a pane
heartbeats    agent health, forwarded
punctuation   {partition, watermark, idle}: event time has advanced, with or without records

A chunk describes its paths in full (dictionary-encoded, so a name is written once per chunk): a
message is understood without any other. Columns are found by name, so that releases live side by
side (``decode``): a column that is added goes to ``DEFAULTS``, and none is renamed or retyped.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from schemas.limits import LIMITS, Limits
from schemas.wire.arrow.frames import walk
from schemas.wire.decoded import one_line
from schemas.wire.windows.checks import (
    check_body,
    check_probes,
    check_texts,
    check_whole,
    is_certain,
)
from schemas.wire.windows.columns import (
    COUNT_FIELDS,
    DEFAULTS,
    FEATURE_FIELDS,
    HEARTBEATS,
    PANE,
    PATH_FIELDS,
    PATH_STRINGS,
    ROUTES,
    SCHEMAS,
    WINDOW,
)
from schemas.wire.windows.encoding import MAX_CHUNK_BYTES, ChunkEncoder, encode, encode_chunks
from schemas.wire.windows.header import Header, Kind, WindowsError

__all__ = [
    "COUNT_FIELDS", "DEFAULTS", "FEATURE_FIELDS", "HEARTBEATS", "MAX_CHUNK_BYTES", "PANE",
    "PATH_FIELDS", "PATH_STRINGS", "ROUTES", "WINDOW", "ChunkEncoder", "Header", "Kind",
    "WindowsError", "check_body", "check_whole", "decode", "encode", "encode_chunks", "ignored",
    "read",
]  # fmt: skip

_IGNORED: Final = b"ignored"  # in the metadata of a decoded chunk: names, with newlines


def decode(kind: Kind, raw: bytes, limits: Limits = LIMITS) -> pa.RecordBatch:
    """Rows of a chunk in this release's columns, validated in full; raises WindowsError.

    Columns that a later release has added are left out, and named by ``ignored``; one that a former
    release did not write yet has its default. A column of the first release that is missing, and
    any of another type, is an error: the chunk would be misread.
    """
    return _decoded(kind, raw, limits)[0]


def read(kind: Kind, raw: bytes, limits: Limits = LIMITS) -> pa.RecordBatch:
    """``decode``, and what the localizer relies on: ``check_whole``; raises WindowsError."""
    batch, certain = _decoded(kind, raw, limits)
    if certain:  # no value is null
        check_probes(kind, batch)
    else:
        check_whole(kind, batch)
    return batch


def _decoded(kind: Kind, raw: bytes, limits: Limits) -> tuple[pa.RecordBatch, bool]:
    """See ``decode``; and whether ``is_certain`` holds of it."""
    try:
        if is_certain(kind, raw, limits):
            return _first_batch(raw), True
        frames = walk(raw, limits)
        if frames.rows > limits.chunk_rows:
            raise WindowsError(f"skh.windows: a chunk of {frames.rows} rows")
        batch = _first_batch(raw)
        if batch.schema != SCHEMAS[kind]:
            batch = _in_this_release(kind, batch)
        batch.validate(full=True)
        check_texts(kind, batch, limits.may_expand_to(len(raw)), limits)
    except WindowsError:
        raise
    except Exception as why:  # Arrow raises errors of any type for corrupt bytes
        raise WindowsError(f"skh.windows: corrupt {kind} chunk: {one_line(why)}") from why
    return batch, False


def _first_batch(raw: bytes) -> pa.RecordBatch:
    with pa.ipc.open_stream(pa.py_buffer(raw)) as reader:
        return reader.read_next_batch()


def ignored(batch: pa.RecordBatch) -> list[str]:
    """Columns of a decoded chunk that this release does not know."""
    names = (batch.schema.metadata or {}).get(_IGNORED)
    return names.decode().split("\n") if names else []


def _in_this_release(kind: Kind, batch: pa.RecordBatch) -> pa.RecordBatch:
    """The chunk of another release in the columns of this one."""
    wanted = SCHEMAS[kind]
    columns = []
    for field in wanted:
        found = batch.schema.get_all_field_indices(field.name)
        if not found and field.name in DEFAULTS:
            columns.append(_repeated(DEFAULTS[field.name], field.type, batch.num_rows))
            continue
        if len(found) != 1:
            raise WindowsError(
                f"skh.windows: columns of this {kind} chunk are not this release's: "
                f"{len(found)} of {field.name}"
            )
        column = batch.column(found[0])
        if column.type != field.type:
            raise WindowsError(
                f"skh.windows: columns of this {kind} chunk are not this release's: {field.name} "
                f"is {str(column.type)[:60]}, not {field.type}"
            )
        columns.append(column)
    unknown = sorted(set(batch.schema.names) - set(wanted.names))
    schema = wanted.with_metadata({_IGNORED: "\n".join(unknown)}) if unknown else wanted
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _repeated(value: str | float | None, kind: pa.DataType, rows: int) -> pa.Array:
    if not pa.types.is_dictionary(kind):
        return pa.repeat(pa.scalar(value, kind), rows)
    zeros = pa.repeat(pa.scalar(0, kind.index_type), rows)
    return pa.DictionaryArray.from_arrays(zeros, pa.array([value], kind.value_type))
