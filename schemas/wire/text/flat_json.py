"""NDJSON messages of flat rows -> columns of all of them, by compiled code.

Nearly all producers write such rows. Others are left to ``json_rows``, which reads row by row, and
says of each that is bad what is wrong with it; both give the same records.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from schemas.compiled import native
from schemas.documents import ping
from schemas.limits import LIMITS, Limits
from schemas.wire.decoded import Parsed
from schemas.wire.ping_columns import TYPES

_NAMES: Final = tuple(name.encode() for name in (*TYPES, *ping.ALIASES))
_CODES: Final[dict[pa.DataType, str]] = {
    pa.string(): "s", pa.float64(): "d", pa.int64(): "q", pa.int32(): "i",
}  # fmt: skip
#: Older spellings are left to ``json_rows``: of two columns for one, the first counts there.
_TYPES: Final = "".join(map(_CODES.__getitem__, TYPES.values())) + "x" * len(ping.ALIASES)
_KINDS: Final = tuple(TYPES.items())
#: Rows take more than this on average, or columns would take many times a message's bytes [B].
_LEAST_ROW: Final = 96
#: Messages that are read together [B]: more are no faster. A block of a file has half of it.
_TOGETHER: Final = 8 * 1024 * 1024


class Flat(NamedTuple):
    """Rows of several messages.

    read   (messages,) whether its rows are in the batch
    rows   (messages read,) rows of each [count]
    batch  (rows,) columns that have a value, in the record's types, not yet checked
    """

    read: npt.NDArray[np.bool_]
    rows: npt.NDArray[np.int64]
    batch: pa.RecordBatch


def groups(
    messages: Sequence[tuple[int, bytes]], limits: Limits = LIMITS
) -> Iterator[tuple[list[int], list[bytes]]]:
    """Messages that may be read together, of all (index, payload); none without compiled code."""
    if native.used() is None:
        return
    indices: list[int] = []
    raws: list[bytes] = []
    size = 0
    for index, raw in messages:
        if not 0 < len(raw) <= min(_TOGETHER, limits.message_bytes):
            continue
        if size + len(raw) > _TOGETHER:
            yield indices, raws
            indices, raws, size = [], [], 0
        indices.append(index)
        raws.append(raw)
        size += len(raw)
    if raws:
        yield indices, raws


def read(raws: list[bytes], limits: Limits = LIMITS) -> Flat:
    """Read messages of ``groups``; of those that are of another form, nothing is read."""
    helper = native.used()
    if helper is None:
        raise RuntimeError("there is no compiled code: read rows one by one")
    longest = min(limits.line_bytes, limits.commas)  # a shorter line has not too many commas
    most = limits.rows, _LEAST_ROW, longest, limits.brackets
    sizes, columns = helper.flat_json(raws, _NAMES, _TYPES, most)
    rows = np.array(sizes, np.int64)
    is_read = rows >= 0
    count = int(rows[is_read].sum())
    found = {_KINDS[each[0]][0]: _column(count, *each) for each in columns}
    batch = pa.RecordBatch.from_arrays(list(found.values()), list(found))
    return Flat(is_read, rows[is_read], batch)


def parse(raw: bytes, limits: Limits = LIMITS) -> Parsed | None:
    """Rows of one message, not yet checked as records; None: it is of another form."""
    for _, raws in groups([(0, raw)], limits):
        flat = read(raws, limits)
        if flat.read.all():
            return Parsed(flat.batch, np.arange(flat.rows[0]), raw.split(b"\n"))
    return None


def _column(
    rows: int, number: int, valid: bytes | None, values: bytes, texts: bytes | None
) -> pa.Array:
    buffers: list[Any] = [None if valid is None else pa.py_buffer(valid), pa.py_buffer(values)]
    if texts is not None:
        buffers.append(pa.py_buffer(texts))
    return pa.Array.from_buffers(_KINDS[number][1], rows, buffers)
