"""Arrow streams of one layout -> their columns as one batch, without opening each of them.

Every column is put together from its parts in all bodies. Streams are read here when they are as
plain as agents write them; all others are left to ``stream``, which also finds what is wrong with
them. What is read here is what ``stream`` would have read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from schemas.compiled import native
from schemas.wire.arrow.layout import Bool, Numbers
from schemas.wire.arrow.layouts import Group


class IrregularError(ValueError):
    """At least one of the messages must be read by itself."""


class Buffers(NamedTuple):
    """Of a column of all messages, as Arrow holds it.

    valid    bitmap; None: there is no null
    offsets  (rows + 1,) int32 of the texts; None: values of equal width
    ascii    whether ``data``, if it holds texts, is ASCII
    """

    valid: bytes | None
    offsets: bytes | npt.NDArray[np.int32] | None
    data: bytes
    ascii: bool


def join(alike: Group) -> pa.RecordBatch:
    """Columns of known names of messages of one layout, in their order.

    Raises IrregularError when a value in at least one of them is not valid.
    """
    layout, numbers = alike.layout, alike.numbers
    whole, missing = int(numbers.rows.sum()), numbers.nulls.sum(axis=0).tolist()
    helper = native.used()
    joined = _in_python(alike) if helper is None else _compiled(helper, alike)
    arrays = []
    for (position, _, kind, _, _), column in zip(layout.known, joined, strict=True):
        parts = [part for part in (column.offsets, column.data) if part is not None]
        buffers = [None if column.valid is None else pa.py_buffer(column.valid)]
        buffers += map(pa.py_buffer, parts)
        array = pa.Array.from_buffers(kind, whole, buffers, null_count=missing[position])
        if not column.ascii:
            try:
                array.validate(full=True)
            except pa.ArrowInvalid as why:
                raise IrregularError from why
        arrays.append(array)
    return pa.RecordBatch.from_arrays(arrays, [each.name for each in layout.known])


def _compiled(helper: ModuleType, alike: Group) -> list[Buffers]:
    numbers = [*map(np.ascontiguousarray, alike.numbers)]
    wanted = np.array([(each.position, each.first, each.width) for each in alike.layout.known])
    joined = helper.join_columns(alike.raws, *numbers, wanted)
    if joined is None:
        raise IrregularError
    return [Buffers(*each) for each in joined]


def _in_python(alike: Group) -> Iterator[Buffers]:
    layout, _, raws, numbers = alike
    rows, starts = numbers.rows.tolist(), numbers.starts.T.tolist()
    texts = _texts(raws, [each.first for each in layout.known if not each.width], numbers)
    for position, _, _, at, width in layout.known:
        valid = None
        if numbers.nulls[:, position].any():
            ends = (numbers.starts[:, at] + numbers.lengths[:, at]).tolist()
            bits = [raw[a:b] for raw, a, b in zip(raws, starts[at], ends, strict=True)]
            valid = _validity(bits, rows, numbers.nulls[:, position].tolist())
        if not width:
            offsets, data = next(texts)
            yield Buffers(valid, offsets, data, data.isascii())
            continue
        if (numbers.lengths[:, at + 1] < numbers.rows * width).any():
            raise IrregularError
        parts = [
            raw[a : a + n * width] for raw, a, n in zip(raws, starts[at + 1], rows, strict=True)
        ]
        yield Buffers(valid, None, b"".join(parts), ascii=True)


def _texts(
    raws: Sequence[bytes], first: list[int], numbers: Numbers
) -> Iterator[tuple[npt.NDArray[np.int32], bytes]]:
    """For each column of texts, offsets (rows + 1,) into the texts of all messages, and these.

    first  (columns,) number of the first buffer of each
    """
    if not first:
        return
    rows, at = numbers.rows, np.array(first) + 1
    if (numbers.lengths[:, at] < 4 * (rows + 1)[:, None]).any():
        raise IrregularError
    begin = numbers.starts[:, at].T
    parts = [
        raw[a:b]
        for some, until in zip(begin.tolist(), (begin + 4 * (rows + 1)).tolist(), strict=True)
        for raw, a, b in zip(raws, some, until, strict=True)
    ]
    offsets = np.frombuffer(b"".join(parts), "<i4").reshape(len(first), -1)
    last = np.cumsum(rows + 1) - 1
    sizes = offsets[:, last].astype(np.int64)
    if (
        offsets.min() < 0
        or offsets[:, last - rows].any()
        or (sizes > numbers.lengths[:, at + 1].T).any()
    ):
        raise IrregularError
    within = np.arange(int(rows.sum())) + np.repeat(np.arange(len(rows)), rows)
    size = np.diff(offsets, axis=1).take(within, axis=1)
    if size.min() < 0:
        raise IrregularError
    joined = np.zeros((len(first), size.shape[1] + 1), np.int32)
    np.cumsum(size, axis=1, out=joined[:, 1:])
    begin = numbers.starts[:, at + 1].T
    for column, some, until in zip(joined, begin.tolist(), (begin + sizes).tolist(), strict=True):
        yield column, b"".join([raw[a:b] for raw, a, b in zip(raws, some, until, strict=True)])


def _validity(parts: list[bytes], rows: list[int], nulls: list[int]) -> bytes:
    """One bitmap of those of all messages; raises IrregularError where nulls are not as said."""
    if min(rows) == max(rows):
        valid = _bits(parts, rows[0], nulls)
    else:
        each = zip(parts, rows, nulls, strict=True)
        valid = np.concatenate([_bits([part], count, [missing]) for part, count, missing in each])
    return np.packbits(valid, bitorder="little").tobytes()


def _bits(parts: list[bytes], rows: int, nulls: list[int]) -> Bool:
    """The same for messages of equal length, one byte a row."""
    width = (rows + 7) // 8
    full = b"\xff" * width  # a column without nulls needs no bitmap
    raw = b"".join(
        [part[:width] if missing else full for part, missing in zip(parts, nulls, strict=True)]
    )
    if len(raw) != width * len(parts):
        raise IrregularError
    table = np.frombuffer(raw, np.uint8).reshape(len(parts), width)
    bits = np.unpackbits(table, axis=1, count=rows, bitorder="little")
    if (rows - bits.sum(axis=1, dtype=np.int64) != nulls).any():
        raise IrregularError
    return bits.reshape(-1).view(bool)
