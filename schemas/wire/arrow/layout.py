"""Layout of an Arrow stream: where the numbers are in which two messages of one writer differ.

An agent's messages differ in their values only: the metadata of two is equal but for the numbers of
rows, nulls and bytes. So the metadata of one message is walked, and that of the others is compared
with it, many at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from schemas.limits import LIMITS, Limits
from schemas.wire.arrow import columns
from schemas.wire.arrow.frames import field_position, walk

I64 = npt.NDArray[np.int64]
Bool = npt.NDArray[np.bool_]

_I32: Final = Struct("<i").unpack_from
_U32: Final = Struct("<I").unpack_from
_U16: Final = Struct("<H").unpack_from
#: Continuation mark, and length of the metadata.
HEADER: Final = Struct("<ii")
_END: Final = b"\xff\xff\xff\xff\x00\x00\x00\x00"
_WIDTHS: Final = {pa.int32(): 4, pa.int64(): 8, pa.float64(): 8}
MOST_METADATA: Final = 64 * 1024  # of a schema or batch that is compared [B]


class Column(NamedTuple):
    """A column of known name.

    position  among all columns; first: number of its first buffer
    width     of a value [B]; 0: texts
    """

    position: int
    name: str
    type: pa.DataType
    first: int
    width: int


class Layout(NamedTuple):
    """Where the numbers of a batch's frame are; positions from its start [B].

    schema    bytes of the schema's frame, with which every message begins
    known     columns of known names; columns, buffers: number of all columns and of their buffers
    size      length of the frame without its body
    fixed     (bytes,) which bytes are equal in all messages
    template  (bytes,) the frame
    body_at, rows_at, nodes_at, buffers_at  positions of the body's length, the number of rows, and
              the vectors of (rows, nulls) of each column and of (start, length) of each buffer
    """

    schema: bytes
    known: list[Column]
    columns: int
    buffers: int
    size: int
    fixed: Bool
    template: npt.NDArray[np.uint8]
    body_at: int
    rows_at: int
    nodes_at: int
    buffers_at: int

    def same(self, other: Layout) -> bool:
        """Whether the same messages have both layouts."""
        return self.size == other.size and np.array_equal(
            np.where(self.fixed, self.template, 0), np.where(other.fixed, other.template, 0)
        )


class Numbers(NamedTuple):
    """The numbers of several messages.

    rows            (messages,)
    nulls           (messages, columns)
    starts, lengths (messages, buffers) of the buffers, in the message and from its start [B]
    """

    rows: I64
    nulls: I64
    starts: I64
    lengths: I64

    def select(self, some: Bool | slice) -> Numbers:
        """Those of some of the messages."""
        return Numbers(*(values[some] for values in self))


def is_plain(schema: bytes, plans: columns.Plans, limits: Limits) -> bool:
    """Whether messages of a schema may have a layout."""
    try:
        plan = plans.of(schema, limits)
        kinds = plan.schema.types
        plain = all(pa.types.is_string(kind) or kind in _WIDTHS for kind in kinds)
        return plan.wrong is None and plan.keep != [] and plain and _little_endian(schema)
    except Exception:  # of any type, for corrupt bytes: reading it by itself says what is wrong
        return False


def layout_of(raw: bytes, plans: columns.Plans, limits: Limits = LIMITS) -> Layout | None:
    """The layout of a message, None when it is not plain.

    plans  of the columns that are read
    """
    try:
        frames = walk(raw, limits)
        if len(frames.batches) != 1 or frames.dictionaries:
            return None
        start = frames.schema[1]
        if frames.batches[0][0] != start or start != HEADER.size + HEADER.unpack_from(raw)[1]:
            return None
        if not is_plain(raw[:start], plans, limits):
            return None
        return _layout(raw, start, plans.of(raw[:start], limits))
    except Exception:  # of any type, for corrupt bytes: reading it by itself says what is wrong
        return None


def _layout(raw: bytes, start: int, plan: columns.Plan) -> Layout | None:
    kinds = plan.schema.types
    text = [pa.types.is_string(kind) for kind in kinds]
    mark, length = HEADER.unpack_from(raw, start)
    size = 8 + length
    if mark != -1 or size % 8 or size > MOST_METADATA:
        return None
    read = _Read(raw, start)
    message = read.table(start + 8)
    kind, header, body = (field_position(raw, message, number) for number in (1, 2, 3))
    if not kind or not header or not body:
        return None
    read.noted.append((kind, 1))
    batch = read.table(header)
    rows, nodes, buffers = (field_position(raw, batch, number) for number in (0, 1, 2))
    if not rows or not nodes or not buffers or field_position(raw, batch, 3):
        return None
    nodes, width = read.vector(nodes)
    buffers, count = read.vector(buffers)
    first = np.cumsum([0, *(3 if each else 2 for each in text)]).tolist()
    if width != len(text) or count != first.pop():
        return None
    fixed = np.ones(size, bool)
    for at, part in ((body, 8), (rows, 8), (nodes, 16 * width), (buffers, 16 * count)):
        at -= start
        if at < 0 or at + part > size or not fixed[at : at + part].all():
            return None
        fixed[at : at + part] = False
    for at, part in read.noted:
        at -= start
        if at < 0 or at + part > size or not fixed[at : at + part].all():
            return None  # a number that is structure too: no writer does that
    keep = range(width) if plan.keep is None else plan.keep
    known = [
        Column(at, plan.schema.names[at], kinds[at], first[at], _WIDTHS.get(kinds[at], 0))
        for at in keep
    ]
    return Layout(
        raw[:start], known, width, count,
        size, fixed, np.frombuffer(raw, np.uint8, size, start).copy(),
        body - start, rows - start, nodes - start, buffers - start,
    )  # fmt: skip


def _little_endian(raw: bytes) -> bool:
    """Whether a stream's values are as they lie in memory: then its schema does not say more."""
    read = _Read(raw, 0)
    schema = read.table(field_position(raw, read.table(8), 2))
    endianness = field_position(raw, schema, 0)
    return not endianness or raw[endianness : endianness + 2] == bytes(2)


class _Read:
    """Follows the references of a flatbuffer.

    noted  (position, length) of the bytes that decided where they lead
    """

    def __init__(self, raw: bytes, start: int) -> None:
        self._raw = raw
        self.noted: list[tuple[int, int]] = [(start, 8)]

    def table(self, at: int) -> int:
        """Position of the table that is referred to at ``at``."""
        table = at + int(_U32(self._raw, at)[0])
        vtable = table - int(_I32(self._raw, table)[0])
        self.noted += [(at, 4), (table, 4), (vtable, max(4, int(_U16(self._raw, vtable)[0])))]
        return table

    def vector(self, at: int) -> tuple[int, int]:
        """(position of the first entry, number of entries) of a vector."""
        first = at + int(_U32(self._raw, at)[0])
        self.noted += [(at, 4), (first, 4)]
        return first + 4, int(_U32(self._raw, first)[0])


def numbers_of(
    raws: Sequence[bytes], layout: Layout, limits: Limits = LIMITS
) -> tuple[Numbers, Bool]:
    """The numbers of messages, and which of the messages have this layout."""
    first = len(layout.schema)
    heads = b"".join([raw[first : first + layout.size].ljust(layout.size) for raw in raws])
    head = np.frombuffer(heads, np.uint8).reshape(len(raws), layout.size)
    regular: Bool = (head[:, layout.fixed] == layout.template[layout.fixed]).all(axis=1)

    def vector(at: int, count: int) -> I64:
        part = np.ascontiguousarray(head[:, at : at + 8 * count])
        return part.view("<i8").reshape(len(raws), count)

    size = np.array([len(raw) for raw in raws], np.int64)
    begin = first + layout.size
    length, rows = vector(layout.body_at, 1)[:, 0], vector(layout.rows_at, 1)[:, 0]
    nodes = vector(layout.nodes_at, 2 * layout.columns)
    buffers = vector(layout.buffers_at, 2 * layout.buffers)
    starts, lengths, nulls = buffers[:, ::2], buffers[:, 1::2], nodes[:, 1::2]
    # No sum or product may overflow, so each number is bounded before it is used.
    regular &= (length >= 0) & (length <= size - begin) & (rows > 0)
    regular &= (rows <= limits.rows) & (rows <= size // limits.least_bytes)
    regular &= (nodes[:, ::2] == rows[:, None]).all(axis=1)
    regular &= ((nulls >= 0) & (nulls <= rows[:, None])).all(axis=1)
    bound = length[:, None]
    regular &= ((starts >= 0) & (starts <= bound) & (starts % 8 == 0)).all(axis=1)
    regular &= ((lengths >= 0) & (lengths <= bound)).all(axis=1)
    regular &= (np.where(regular[:, None], starts + lengths, 0) <= bound).all(axis=1)
    regular &= np.where(regular[:, None], lengths, 0).sum(axis=1) <= length
    for index in np.flatnonzero(regular & (begin + length < size)).tolist():
        regular[index] = raws[index].startswith(_END, begin + int(length[index]))
    return Numbers(rows, nulls, starts + begin, lengths), regular
