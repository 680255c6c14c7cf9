"""A message of skh.throughput -> its samples as arrays, where they are its sender's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from schemas import topics
from schemas.documents.throughput import COLUMNS
from schemas.limits import LIMITS
from schemas.signing.headers import FOREIGN_RECORD, Refused
from schemas.wire.arrow.columns import Plans
from schemas.wire.arrow.stream import parse_arrow
from schemas.wire.decoded import CodecError, one_line
from streams.admission.admission import Admission
from streams.kafka.messages import InMessage

I64 = NDArray[np.int64]

_plans: Final = Plans(dict.fromkeys(column.name for column in COLUMNS))


class ThroughputRows(NamedTuple):
    """K samples of rnics; columns as in ``schemas.documents.throughput``."""

    fabric: Sequence[str]
    node_sn: Sequence[str]
    real_ip: Sequence[str]
    time: I64
    tx_bytes: I64
    rx_bytes: I64


class _Row(msgspec.Struct, frozen=True):
    """A line of NDJSON."""

    fabric: str
    node_sn: str
    real_ip: str
    time: int
    tx_bytes: int
    rx_bytes: int


_lines: Final = msgspec.json.Decoder(_Row)


def admitted(admission: Admission, message: InMessage, partition: int) -> ThroughputRows:
    """The samples of a message, all of which must be of the host that signed it.

    The controller and the sink use it on the same messages. Raises Refused, CodecError.
    """
    claim = admission.claim(topics.THROUGHPUT.name, message, partition)
    rows = decode(message.value, message.header(topics.CONTENT_TYPE))
    if claim is not None and (
        claim.client or {claim.sender} != set(rows.node_sn) or {claim.fabric} != set(rows.fabric)
    ):
        admission.refused[FOREIGN_RECORD] += 1
        raise Refused(FOREIGN_RECORD, f"samples of another host from {claim}")
    return rows


def decode(raw: bytes, content_type: str) -> ThroughputRows:
    """The samples of a message; raises CodecError, since a sender that is wrong once is broken."""
    if len(raw) > LIMITS.message_bytes:
        raise CodecError(f"message of {len(raw)} B is over the limit of {LIMITS.message_bytes} B")
    kind = content_type[:256].partition(";")[0].strip().lower()
    if kind == topics.ARROW:
        rows = _of_arrow(parse_arrow(raw, plans=_plans).batch)
    elif kind == topics.NDJSON:
        rows = _of_lines(raw)
    else:
        raise CodecError(f"content-type {kind!r}; send {topics.ARROW} or {topics.NDJSON}")
    if min(rows.tx_bytes.min(initial=0), rows.rx_bytes.min(initial=0)) < 0:
        raise CodecError("negative bytes; send bytes of a second, not counters that wrap")
    return rows


def _of_arrow(batch: pa.RecordBatch) -> ThroughputRows:
    found = {}
    for wanted in COLUMNS:
        at = batch.schema.get_field_index(wanted.name)
        if at < 0:
            raise CodecError(f"no column {wanted.name}, or two")
        column = batch.column(at)
        number = wanted.type != "string"
        right = pa.types.is_integer if number else pa.types.is_string
        if not right(column.type) or column.null_count:
            raise CodecError(f"column {wanted.name} of type {column.type} or with nulls")
        try:
            found[wanted.name] = (
                column.cast(pa.int64()).to_numpy(zero_copy_only=False)
                if number
                else column.to_pylist()
            )
        except (pa.ArrowException, UnicodeDecodeError) as why:
            raise CodecError(f"column {wanted.name}: {one_line(why)}") from why
    return ThroughputRows(**found)


def _of_lines(raw: bytes) -> ThroughputRows:
    if raw.count(b"\n") > LIMITS.rows:
        raise CodecError(f"message holds more than {LIMITS.rows} rows; split it")
    try:
        rows = _lines.decode_lines(raw)
        fabric, node_sn, real_ip, *numbers = (
            [getattr(row, column.name) for row in rows] for column in COLUMNS
        )
        return ThroughputRows(
            fabric, node_sn, real_ip, *(np.array(each, np.int64) for each in numbers)
        )
    except (msgspec.MsgspecError, UnicodeDecodeError, OverflowError, RecursionError) as why:
        raise CodecError(f"no sample: {one_line(why)}") from why
