"""Records -> one message: an Arrow stream, or NDJSON.

Columns without a value are left out. Strings are plain: Kafka's compression removes the repetition.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final

import msgspec
import nanoarrow as na
from nanoarrow.ipc import StreamWriter

from probers.publishing.encoding.arrow_batch import END_OF_STREAM, batch_message
from probers.publishing.record import Record
from schemas import topics
from schemas.documents.ping import COLUMNS, EXTRA_STATS, Column

Encode = Callable[[Sequence[Record]], bytes]

_ARROW_TYPES: Final = {
    "string": na.string(),
    "float64": na.float64(),
    "int64": na.int64(),
    "int32": na.int32(),
}
RECORD_COLUMNS: Final = (*COLUMNS, *EXTRA_STATS)
_TO_JSON: Final = msgspec.json.Encoder()


def to_arrow(records: Sequence[Record], columns: Sequence[Column] = RECORD_COLUMNS) -> bytes:
    """An Arrow IPC stream with one batch; a column that no record fills is left out."""
    known = set().union(*records)
    gets = [record.get for record in records]
    fields, filled = [], []
    for name, type_name, *_ in columns:
        if name not in known:
            continue
        values = [get(name) for get in gets]
        if values.count(None) < len(values):
            fields.append((name, type_name))
            filled.append((type_name, values))
    batch = batch_message(filled, len(records))
    return b"".join((_schema_message(tuple(fields)), batch, END_OF_STREAM))


@lru_cache(maxsize=64)
def _schema_message(fields: tuple[tuple[str, str], ...]) -> bytes:
    """The first message of a stream, as nanoarrow writes it before a batch without rows."""
    schema = na.struct({name: _ARROW_TYPES[type_name] for name, type_name in fields})
    out = io.BytesIO()
    with StreamWriter.from_writable(out) as writer:
        writer.write_array(na.c_array([], schema))
    raw = out.getvalue()
    return raw[: 8 + int.from_bytes(raw[4:8], "little")]


def to_ndjson(records: Sequence[Record]) -> bytes:
    """One JSON object per line; the keys of extra_stats are JSON text in ``extra_stats``."""
    return b"".join(_TO_JSON.encode(_nested(record)) + b"\n" for record in records)


ENCODINGS: Final[dict[str, tuple[str, Encode]]] = {
    "arrow": (topics.ARROW, to_arrow),
    "ndjson": (topics.NDJSON, to_ndjson),
}
_EXTRA_NAMES: Final = tuple(column.name for column in EXTRA_STATS)


def _nested(record: Record) -> dict[str, object]:
    row: dict[str, object] = {name: value for name, value in record.items() if value is not None}
    extra = {name: row.pop(name) for name in _EXTRA_NAMES if name in row}
    if extra:
        row["extra_stats"] = _TO_JSON.encode(extra).decode()
    return row
