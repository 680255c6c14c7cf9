"""Limits on the distinct source hosts, fabrics and seconds of one message.

Each of them costs every reader: a fabric a message of skh.windows a second, a second a pane.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from schemas.limits import Limits
from schemas.wire.row_errors import RowErrors
from schemas.wire.text_codes import text_codes

Bool = npt.NDArray[np.bool_]
I64 = npt.NDArray[np.int64]
_SECOND = 1_000_000_000
_SOURCE = ("src_node_sn", "src_real_ip", "src_ip")  # the first column present names the host


def beyond_limits(
    batch: pa.RecordBatch, errors: RowErrors, start: I64, size: I64, limits: Limits
) -> None:
    """Mark the rows whose source, fabric or second is one too many for their message.

    batch        rows of several messages, typed as records
    start, size  (messages,) first row and number of rows of each
    """
    if not len(size):
        return
    names, most = batch.schema.names, size.max()
    times = batch.column("ping_time").fill_null(0).to_numpy(zero_copy_only=False) // _SECOND

    def look(messages: Bool, values: I64, limit: int, column: str, what: str) -> None:
        for index in np.flatnonzero(messages & (size > limit)).tolist():
            rows = slice(int(start[index]), int(start[index] + size[index]))
            _mark(values[rows], rows, limit, column, what, batch, errors)

    if most > limits.seconds:
        filled = size > 0
        first = start[filled]
        span = np.zeros(len(size), np.int64)
        span[filled] = np.maximum.reduceat(times, first) - np.minimum.reduceat(times, first)
        look(span >= limits.seconds, times, limits.seconds, "ping_time", "seconds")
    every = np.ones(len(size), bool)
    if "src_idc" in names and most > limits.fabrics:
        fabrics = _codes(batch, "src_idc")
        if int(fabrics.max()) >= limits.fabrics:
            look(every, fabrics, limits.fabrics, "src_idc", "fabrics")
    if most > limits.sources:
        sources = _codes(batch, next(name for name in _SOURCE if name in names))
        look(every, sources, limits.sources, "src_ip", "source hosts")


def _codes(batch: pa.RecordBatch, name: str) -> I64:
    """(rows,) number of each row's text, counted from 0 in order of appearance."""
    codes, _ = text_codes(batch.column(name))
    return codes.astype(np.int64)


def _mark(
    values: I64, rows: slice, most: int, column: str, what: str, batch: pa.RecordBatch,
    errors: RowErrors,
) -> None:  # fmt: skip
    """Rows whose value is not among the first ``most`` distinct ones of the good rows."""
    good = ~errors.bad[rows]
    distinct, first = np.unique(values[good], return_index=True)
    if len(distinct) <= most:
        return
    allowed = distinct[np.argsort(first)[:most]]
    mask = np.zeros(len(errors.bad), bool)
    mask[rows] = good & ~np.isin(values, allowed)
    rule = f"{{value}} is one too many: a message may name {most} {what}"
    errors.add_where(mask, column, rule, batch.column(column))
