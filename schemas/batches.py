"""Many messages of ping records -> one validated batch.

Checking a batch costs nearly the same for 50 rows as for 5,000. Readers of skh.pings therefore
gather messages for some milliseconds and check them together; what is wrong is still said of the
message and row where it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from schemas import codecs, topics
from schemas.codecs import CodecError, Decoded, Reject

I64 = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Joined:
    """Good rows of several messages, and what was wrong with the others.

    batch    good rows, in the order of the messages
    message  (rows,) index of the message that each row came in
    rejects  (index of the message, the row's reject)
    errors   (index of the message, why it cannot be read at all)
    """

    batch: pa.RecordBatch
    message: I64
    rejects: list[tuple[int, Reject]]
    errors: list[tuple[int, CodecError]]


def decode_all(messages: Sequence[tuple[bytes, str]]) -> Joined:
    """Read messages, each (payload, content-type); never raises for what they hold."""
    parts: list[tuple[pa.RecordBatch, I64]] = []
    rejects: list[tuple[int, Reject]] = []
    errors: list[tuple[int, CodecError]] = []
    alike: list[tuple[int, pa.RecordBatch]] = []  # Arrow batches of one schema, not yet checked

    def check_alike() -> None:
        if alike:
            _conform(alike, parts, rejects, errors)
            alike.clear()

    for index, (raw, content_type) in enumerate(messages):
        try:
            if content_type == topics.ARROW:
                batch = codecs.read_arrow(raw)
                if alike and not alike[0][1].schema.equals(batch.schema):
                    check_alike()
                alike.append((index, batch))
                continue
            decoded = codecs.decode(raw, content_type)
        except CodecError as why:
            errors.append((index, why))
            continue
        check_alike()
        _keep(decoded, np.full(decoded.batch.num_rows, index, np.int64), parts)
        rejects += [(index, reject) for reject in decoded.rejects]
    check_alike()
    if not parts:
        return Joined(codecs.nothing(), np.empty(0, np.int64), rejects, errors)
    batch = codecs.concat([batch for batch, _ in parts])
    return Joined(batch, np.concatenate([of for _, of in parts]), rejects, errors)


def _conform(
    alike: list[tuple[int, pa.RecordBatch]],
    parts: list[tuple[pa.RecordBatch, I64]],
    rejects: list[tuple[int, Reject]],
    errors: list[tuple[int, CodecError]],
) -> None:
    """Check batches of one schema together."""
    batches = [batch for _, batch in alike]
    size = np.array([batch.num_rows for batch in batches])
    start = np.cumsum(size) - size
    of = np.repeat(np.array([index for index, _ in alike], np.int64), size)
    try:
        decoded = codecs.conform(codecs.concat(batches))
    except CodecError as why:  # of the schema, so it is true of each of them
        errors += [(index, why) for index, _ in alike]
        return
    for reject in decoded.rejects:
        at = int(np.searchsorted(start, reject.row, side="right")) - 1
        row = reject.row - int(start[at])
        rejects.append((alike[at][0], Reject(row, reject.column, reject.reason, reject.raw)))
    _keep(decoded, np.delete(of, [reject.row for reject in decoded.rejects]), parts)


def _keep(decoded: Decoded, of: I64, parts: list[tuple[pa.RecordBatch, I64]]) -> None:
    if decoded.batch.num_rows:
        parts.append((decoded.batch, of))
