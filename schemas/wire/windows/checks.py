"""Checks of the messages on skh.windows: sizes, names, counts, the bodies of punctuations."""

from __future__ import annotations

from functools import cache
from typing import Final

import msgspec
import pyarrow as pa

from schemas.compiled import native
from schemas.limits import LIMITS, Limits
from schemas.wire.arrow import columns as arrow_columns
from schemas.wire.arrow.frames import walk
from schemas.wire.decoded import one_line
from schemas.wire.windows.columns import NOT_NULL, PANE, SCHEMAS, TEXTS
from schemas.wire.windows.header import Kind, WindowsError

#: Positions of the columns without nulls, and of sent, lost and refused of panes and windows.
_FULL: Final = {
    kind: [at for at, name in enumerate(schema.names) if name in NOT_NULL]
    for kind, schema in SCHEMAS.items()
}
_PROBES: Final = [PANE.get_field_index(name) for name in ("sent", "lost", "refused")]


def is_certain(kind: Kind, raw: bytes, limits: Limits) -> bool:
    """Whether the compiled helper finds that no check of ``decode`` fails, and no value is null.

    It knows chunks of rows with names as this release writes them. Their checks took three quarters
    of the time of decoding them; a worker that restarts decodes 50,000 of a million paths.
    """
    helper = native.used()
    if helper is None or kind not in ("pane", "window"):
        return False
    schema, widths = _layout(kind)
    return limits.arrow_frames >= len(SCHEMAS[kind]) + 2 and bool(
        helper.chunk_is_valid(
            raw, schema, widths, limits.chunk_rows, limits.name_bytes,
            limits.may_expand_to(len(raw)),
        )
    )  # fmt: skip


@cache
def _layout(kind: Kind) -> tuple[bytes, bytes]:
    """The schema's frame as this release writes it, and the width of each column [B]; 0: names."""
    schema = SCHEMAS[kind]
    sink = pa.BufferOutputStream()
    pa.ipc.new_stream(sink, schema).close()
    raw = bytes(sink.getvalue().to_pybytes())
    start, end = walk(raw).schema
    named = (pa.types.is_dictionary(field.type) for field in schema)
    widths = (0 if n else field.type.bit_width // 8 for n, field in zip(named, schema, strict=True))
    return raw[start:end], bytes(widths)


def check_texts(kind: Kind, batch: pa.RecordBatch, most: int, limits: Limits) -> None:
    """Bound the size of a chunk's texts once decoded, and the length of each name.

    most  of all texts, once decoded [B]
    Raises WindowsError.
    """
    for index, name in TEXTS[kind]:
        column = batch.column(index)
        values = column
        if dictionary := isinstance(column, pa.DictionaryArray):
            values = column.dictionary
        elif isinstance(column, pa.ListArray):
            values = column.flatten()
        lengths = arrow_columns.text_lengths(values)
        if dictionary:
            most -= arrow_columns.decoded_bytes(column, lengths)
        if most < 0:
            raise WindowsError(f"skh.windows: names of this {kind} chunk expand too much: {name}")
        if len(lengths) and int(lengths.max()) > limits.name_bytes:
            raise WindowsError(f"skh.windows: {name} is longer than {limits.name_bytes} B")


def check_whole(kind: Kind, batch: pa.RecordBatch) -> None:
    """Check what the localizer relies on: no nulls, no more probes lost than sent.

    batch  as ``decode`` gives it
    Raises WindowsError.
    """
    schema = SCHEMAS[kind]
    for at in _FULL[kind]:
        if batch.column(at).null_count:
            raise WindowsError(f"skh.windows: {schema.names[at]} is null in this {kind} chunk")
    check_probes(kind, batch)


def check_probes(kind: Kind, batch: pa.RecordBatch) -> None:
    """Check that no more probes were lost or refused than sent; raises WindowsError."""
    if kind not in ("pane", "window") or not batch.num_rows:
        return
    sent, *others = (batch.column(at).to_numpy() for at in _PROBES)
    for name, counts in zip(("lost", "refused"), others, strict=True):
        if (counts > sent).any():
            raise WindowsError(f"skh.windows: more probes {name} than sent in this {kind} chunk")


class _Body(msgspec.Struct):
    """The field of a punctuation that readers use; further fields are ignored."""

    skewed: dict[str, float] = {}


_body_decoder: Final = msgspec.json.Decoder(_Body)


def check_body(raw: bytes, limits: Limits = LIMITS) -> None:
    """Check the body of a punctuation, which is empty or JSON; raises WindowsError."""
    if len(raw) > limits.punctuation_bytes:
        raise WindowsError(f"skh.windows: a punctuation of {len(raw)} B")
    if not raw:
        return
    try:
        body = _body_decoder.decode(raw)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as why:
        raise WindowsError(f"skh.windows: bad punctuation: {one_line(why)}") from why
    if any(len(name) > limits.name_bytes for name in body.skewed):
        raise WindowsError(f"skh.windows: a host's name is longer than {limits.name_bytes} B")
