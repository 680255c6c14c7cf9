"""One record batch as an Arrow IPC message, from columns of Python values. No I/O.

nanoarrow builds an array for each column, which takes four times as long as all else about a small
message. Layout: https://arrow.apache.org/docs/format/Columnar.html#encapsulated-message-format and
``format/Message.fbs`` there; the metadata is a FlatBuffer of fixed shape, but for its two vectors.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Sequence
from itertools import accumulate
from typing import Any, Final

#: Codes of ``array`` for numbers; all others are strings.
CODES: Final = {"float64": "d", "int64": "q", "int32": "i"}
END_OF_STREAM: Final = struct.pack("<Ii", 0xFFFFFFFF, 0)
_VERSION_5, _RECORD_BATCH = 4, 3
#: Message: root offset, vtable (version, header type, header, body length), table; then
#: RecordBatch: vtable (length, nodes, buffers), table, and the count of the nodes that follow.
_METADATA: Final = struct.Struct("<I 6H iIqhBx 5H2x iIqI I")
_HEADER: Final = struct.Struct("<Ii")
_PAIR: Final = struct.Struct("<qq")  # a node: length, nulls; a buffer: offset, length
_COUNT: Final = struct.Struct("<4xI")  # 4 bytes fill up to the alignment of its pairs
_NODES_AT: Final = _METADATA.size
_BUFFERS_OFFSET_AT: Final = 64


def batch_message(columns: Sequence[tuple[str, list[Any]]], length: int) -> bytes:
    """The message of one batch.

    columns  type (string, or one of CODES) and values, ``length`` of them each, None: null
    Raises TypeError for a value of another type, OverflowError for one out of range.
    """
    nodes, body = [], _Body()
    for kind, values in columns:
        nulls = values.count(None)
        nodes.append(_PAIR.pack(length, nulls))
        body.add(_validity(values) if nulls else b"")
        code = CODES.get(kind)
        if nulls:
            filler = "" if code is None else 0
            values = [filler if value is None else value for value in values]
        if code is not None:
            body.add(array(code, values).tobytes())
            continue
        text = "".join(values)
        raw = text.encode()
        if len(raw) != len(text):  # offsets are in bytes
            values = [value.encode() for value in values]
        body.add(array("i", accumulate(map(len, values), initial=0)).tobytes())
        body.add(raw)
    metadata = b"".join(
        (
            _METADATA.pack(
                16, 12, 20, 16, 18, 4, 8, 12, 28, body.size, _VERSION_5, _RECORD_BATCH,
                10, 20, 8, 4, 16, 12, 16, length, _NODES_AT + 16 * len(nodes) + 4
                - _BUFFERS_OFFSET_AT, len(nodes),
            ),
            *nodes, _COUNT.pack(len(body.buffers)), *body.buffers,
        )
    )  # fmt: skip
    return b"".join((_HEADER.pack(0xFFFFFFFF, len(metadata)), metadata, *body.parts))


class _Body:
    """Buffers one after another, each on a multiple of eight bytes."""

    def __init__(self) -> None:
        self.buffers: list[bytes] = []
        self.parts: list[bytes] = []
        self.size = 0

    def add(self, raw: bytes) -> None:
        self.buffers.append(_PAIR.pack(self.size, len(raw)))
        fill = -len(raw) % 8
        self.parts += (raw, bytes(fill))
        self.size += len(raw) + fill


def _validity(values: list[Any]) -> bytes:
    """A bit for each value, the first one the lowest; 0: null."""
    bits = sum(1 << place for place, value in enumerate(values) if value is not None)
    return bits.to_bytes((len(values) + 7) // 8, "little")
