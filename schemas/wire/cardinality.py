"""How many sources, fabrics and seconds one message may speak of: each costs every reader more."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from schemas.limits import Limits
from schemas.wire.bad_rows import Faults

I64 = npt.NDArray[np.int64]
_SECOND = 1_000_000_000
_SOURCE = ("src_node_sn", "src_real_ip", "src_ip")  # the first that a record has names its host


def beyond_limits(
    batch: pa.RecordBatch, faults: Faults, start: I64, size: I64, limits: Limits
) -> None:
    """Mark the rows that name one source, fabric or second too many for their message.

    batch        rows of several messages, typed as records
    start, size  (messages,) first row and number of rows of each
    """
    names = batch.schema.names
    seconds = batch.column("ping_time")
    times = seconds.fill_null(0).to_numpy(zero_copy_only=False) // _SECOND
    fabrics = _codes(batch, "src_idc") if "src_idc" in names else None
    sources: I64 | None = None
    for place in np.flatnonzero(size > min(limits.fabrics, limits.seconds, limits.sources)):
        rows = slice(int(start[place]), int(start[place] + size[place]))
        ours = times[rows]
        if size[place] > limits.seconds and ours.max() - ours.min() >= limits.seconds:
            _mark(ours, rows, limits.seconds, "ping_time", "seconds", batch, faults)
        if fabrics is not None and int(fabrics.max()) >= limits.fabrics:
            _mark(fabrics[rows], rows, limits.fabrics, "src_idc", "fabrics", batch, faults)
        if size[place] > limits.sources:
            if sources is None:
                sources = _codes(batch, next(name for name in _SOURCE if name in names))
            _mark(sources[rows], rows, limits.sources, "src_ip", "source hosts", batch, faults)


def _codes(batch: pa.RecordBatch, name: str) -> I64:
    """(rows,) number of each row's text, counted from 0 in order of appearance."""
    encoded = batch.column(name).fill_null("").dictionary_encode()
    codes: I64 = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return codes


def _mark(
    values: I64, rows: slice, most: int, column: str, what: str, batch: pa.RecordBatch,
    faults: Faults,
) -> None:  # fmt: skip
    """Rows whose value is not among the first ``most`` distinct ones of the good rows."""
    good = ~faults.bad[rows]
    distinct, first = np.unique(values[good], return_index=True)
    if len(distinct) <= most:
        return
    among = distinct[np.argsort(first)[:most]]
    mask = np.zeros(len(faults.bad), bool)
    mask[rows] = good & ~np.isin(values, among)
    rule = f"{{value}} is one too many: a message may name {most} {what}"
    faults.add_where(mask, column, rule, batch.column(column))
