"""What makes a row a ping record: casts and row checks over Arrow columns, with reasons."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from schemas import ping


class Faults:
    """Which rows are bad and why; a row keeps its first reason."""

    def __init__(self, rows: int) -> None:
        self.bad: npt.NDArray[np.bool_] = np.zeros(rows, bool)
        self._why: dict[int, tuple[str, str]] = {}

    def add(self, row: int, column: str, reason: str) -> None:
        if not self.bad[row]:
            self.bad[row] = True
            self._why[row] = (column, f"{column}: {reason}")

    def add_where(self, mask: pa.Array, column: str, reason: str, values: pa.Array) -> None:
        """Mark the rows where mask is true; ``reason`` may quote ``{value}``."""
        for row in np.flatnonzero(mask.to_numpy(zero_copy_only=False)):
            self.add(int(row), column, reason.format(value=_show(values[int(row)].as_py())))

    def any(self) -> bool:
        return bool(self._why)

    def items(self) -> Iterable[tuple[int, tuple[str, str]]]:
        return self._why.items()


def _show(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def cast(column: pa.Array, target: pa.DataType, name: str, faults: Faults) -> pa.Array:
    """The column in the record's type; empty text is null; what does not fit marks its row."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if column.type == target:
        return column
    if pa.types.is_null(column.type):
        return pa.nulls(len(column), target)
    if pa.types.is_string(target) and (
        pa.types.is_nested(column.type) or pa.types.is_boolean(column.type)
    ):
        # JSON producers may send route and extra_stats as arrays and objects rather than as text.
        import json

        values = column.to_pylist()
        texts = [None if v is None else json.dumps(v, default=str) for v in values]
        return pa.array(texts, target)
    if pa.types.is_timestamp(column.type) and pa.types.is_int64(target):
        column = column.cast(pa.timestamp("ns"))  # the record's times are ns since the epoch
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        column = pc.utf8_trim_whitespace(column.cast(pa.string()))
        if not pa.types.is_string(target):
            column = pc.if_else(pc.equal(column, ""), pa.scalar(None, pa.string()), column)
    try:
        return column.cast(target)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return _cast_each(column, target, name, faults)


def _cast_each(column: pa.Array, target: pa.DataType, name: str, faults: Faults) -> pa.Array:
    out: list[object] = []
    for row, value in enumerate(column.to_pylist()):
        fitted: object = None
        if value is not None:
            try:
                fitted = pa.scalar(value).cast(target).as_py()
            except (pa.ArrowException, OverflowError):
                faults.add(row, name, f"{_show(value)} is not {_article(target)}")
        out.append(fitted)
    return pa.array(out, target)


def _article(target: pa.DataType) -> str:
    if pa.types.is_floating(target):
        return "a number"
    if pa.types.is_integer(target):
        return f"a whole number ({target})"
    return "text"


def check_rows(columns: dict[str, pa.Array], faults: Faults) -> None:
    """Apply the record's rules; repairs what the rules allow (latency without success is null)."""
    for name in ping.REQUIRED:
        values = columns[name]
        empty = pc.is_null(values)
        if pa.types.is_string(values.type):
            empty = pc.or_kleene(empty, pc.equal(values, "")).fill_null(True)
        if empty.true_count:
            faults.add_where(empty, name, "is required and missing", values)
    for name, allowed in (
        ("task_type", ping.TASK_TYPES),
        ("agent_type", ping.LAYERS),
        ("dial", ping.DIALS),
    ):
        columns[name] = _one_of(columns[name], allowed, name, faults)
    _check_range(columns, "ping_time", 1, 2**63 - 1, faults, "is not ns since the epoch")
    for port in ("src_port", "dst_port"):
        _check_range(columns, port, 0, 65_535, faults, "is not a port (0..65535)")
    _check_range(columns, "dscp", 0, 63, faults, "is not a DSCP (0..63)")
    _check_range(columns, "loss_rate", 0.0, 1.0, faults, "is not a share (0..1)")
    _check_range(columns, "latency", 0.0, 3.6e9, faults, "is not a round trip in us (0..1 h)")
    _check_range(columns, "sent", 0, 1_000_000, faults, "is not a count of probes")
    _check_range(columns, "lost", 0, 1_000_000, faults, "is not a count of probes")
    if "sent" in columns and "lost" in columns:
        more = pc.greater(columns["lost"], columns["sent"]).fill_null(False)
        if more.true_count:
            faults.add_where(more, "lost", "{value} is more than was sent", columns["lost"])
    if "latency" in columns and columns["latency"].null_count < len(columns["latency"]):
        answered = pc.equal(columns["dial"], "success").fill_null(False)
        if answered.true_count < len(answered):
            nothing = pa.scalar(None, pa.float64())
            columns["latency"] = pc.if_else(answered, columns["latency"], nothing)


def _one_of(values: pa.Array, allowed: tuple[str, ...], name: str, faults: Faults) -> pa.Array:
    known = pa.array(allowed)
    unknown = pc.and_(pc.invert(pc.is_in(values, value_set=known)), pc.is_valid(values))
    if not unknown.true_count:
        return values
    # Case is forgiven (RDMA_Ping); anything else names the row.
    fold = pc.utf8_lower if allowed[0].islower() else pc.utf8_upper
    folded = fold(values)
    unknown = pc.and_(pc.invert(pc.is_in(folded, value_set=known)), pc.is_valid(values))
    faults.add_where(unknown, name, "{value} is unknown; known: " + ", ".join(allowed), values)
    return folded


def _check_range(
    columns: dict[str, pa.Array], name: str, low: float, high: float, faults: Faults, reason: str
) -> None:
    values = columns.get(name)
    if values is None or values.null_count == len(values):
        return
    # NaN compares false with everything, so ask what is inside the range rather than outside.
    inside = pc.and_(pc.greater_equal(values, low), pc.less_equal(values, high))
    outside = pc.invert(inside.fill_null(True))
    if outside.true_count:
        faults.add_where(outside, name, "{value} " + reason, values)
