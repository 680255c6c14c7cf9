"""Records -> one message: an Arrow stream, or NDJSON.

Columns without a value are left out. Strings are plain: Kafka's compression removes the repetition.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, Protocol

import msgspec
import nanoarrow as na
from nanoarrow.ipc import StreamWriter

from probers.publishing.encoding.arrow_batch import CODES, END_OF_STREAM, batch_message
from probers.publishing.record import Record
from schemas import topics
from schemas.compiled import native
from schemas.documents.ping import COLUMNS, EXTRA_STATS, Column


class Encode(Protocol):
    """Makes one message of records; ``common``: for each of them what else belongs to it (a
    record's own values win), or nothing."""

    def __call__(self, records: Sequence[Record], common: Sequence[Record] = ()) -> bytes: ...


_ARROW_TYPES: Final = {
    "string": na.string(),
    "float64": na.float64(),
    "int64": na.int64(),
    "int32": na.int32(),
}
RECORD_COLUMNS: Final = (*COLUMNS, *EXTRA_STATS)
_TO_JSON: Final = msgspec.json.Encoder()


class ArrowEncoder:
    """Makes Arrow IPC streams with one batch each; a column that no record fills is left out."""

    def __init__(self, columns: Sequence[Column] = RECORD_COLUMNS) -> None:
        self._columns = [(column.name, column.type) for column in columns]
        self._index = {name: number for number, (name, _) in enumerate(self._columns)}
        self._types = "".join(CODES.get(kind, "s") for _, kind in self._columns)

    def __call__(self, records: Sequence[Record], common: Sequence[Record] = ()) -> bytes:
        if native.module is None or native.why_not():
            filled, batch = self._batch(_merged(records, common))
        else:
            filled, batch = native.module.arrow_batch(
                self._index, self._types, list(records), list(common)
            )
        fields = tuple([self._columns[number] for number in filled])
        return b"".join((_schema_message(fields), batch, END_OF_STREAM))

    def _batch(self, records: Sequence[Record]) -> tuple[list[int], bytes]:
        """Numbers of the columns with values, and their message."""
        known = set().union(*records)
        gets = [record.get for record in records]
        filled, columns = [], []
        for number, (name, kind) in enumerate(self._columns):
            if name not in known:
                continue
            values = [get(name) for get in gets]
            if values.count(None) < len(values):
                filled.append(number)
                columns.append((kind, values))
        return filled, batch_message(columns, len(records))


to_arrow: Final = ArrowEncoder()


@lru_cache(maxsize=64)
def _schema_message(fields: tuple[tuple[str, str], ...]) -> bytes:
    """The first message of a stream, as nanoarrow writes it before a batch without rows."""
    schema = na.struct({name: _ARROW_TYPES[type_name] for name, type_name in fields})
    out = io.BytesIO()
    with StreamWriter.from_writable(out) as writer:
        writer.write_array(na.c_array([], schema))
    raw = out.getvalue()
    return raw[: 8 + int.from_bytes(raw[4:8], "little")]


def to_ndjson(records: Sequence[Record], common: Sequence[Record] = ()) -> bytes:
    """One JSON object per line; the keys of extra_stats are JSON text in ``extra_stats``."""
    every = _merged(records, common)
    return b"".join(_TO_JSON.encode(_nested(record)) + b"\n" for record in every)


def _merged(records: Sequence[Record], common: Sequence[Record]) -> Sequence[Record]:
    if not common:
        return records
    return [{**shared, **record} for shared, record in zip(common, records, strict=True)]


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
