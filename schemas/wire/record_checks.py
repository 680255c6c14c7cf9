"""The rules of a ping record, applied to whole Arrow columns: casts, lengths, values, routes."""

from __future__ import annotations

import json
from typing import Final

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from schemas.compiled import native
from schemas.documents import ping
from schemas.limits import LIMITS, Limits
from schemas.wire.arrow.columns import as_naive, text_lengths
from schemas.wire.row_errors import RowErrors

_CAST_EACH: Final = 32
_TRACEROUTE: Final = "TRACEROUTE"
_TEXTS: Final = ("route", "extra_stats")
_route_decoder: Final = msgspec.json.Decoder(list[str | None])

_ONE_OF: Final = {"task_type": ping.TASK_TYPES, "agent_type": ping.LAYERS, "dial": ping.DIALS}
_FAILED: Final = tuple(each for each in ping.DIALS if each != "success")
_ALLOWED: Final = {name: tuple(map(str.encode, texts)) for name, texts in _ONE_OF.items()}
#: The reason of a loss_rate out of range: what follows the value.
NOT_A_SHARE: Final = "is not a share (0..1); divide percent by 100"
_IN_RANGE: Final[dict[str, tuple[float, float, str]]] = {
    "ping_time": (1, 2**63 - 1, "is not ns since the epoch"),
    "src_port": (0, 65_535, "is not a port (0..65535)"),
    "dst_port": (0, 65_535, "is not a port (0..65535)"),
    "dscp": (0, 63, "is not a DSCP (0..63)"),
    "loss_rate": (0.0, 1.0, NOT_A_SHARE),
    "latency": (0.0, 3.6e9, "is not a round trip in us (0..1 h)"),
    "sent": (0, 1_000_000, "is not a count of probes"),
    "lost": (0, 1_000_000, "is not a count of probes"),
}
_WIDTHS: Final = {pa.int32(): "i", pa.int64(): "q", pa.float64(): "d"}


def cast(column: pa.Array, target: pa.DataType, name: str, errors: RowErrors) -> pa.Array:
    """The column in the record's type. Empty text is null; a value that does not fit marks its row.

    column  plain or nested, as ``arrow.columns`` and the text formats give it
    """
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if column.type == target:
        return column
    if pa.types.is_null(column.type):
        return pa.nulls(len(column), target)
    if pa.types.is_string(target) and (
        pa.types.is_nested(column.type) or pa.types.is_boolean(column.type)
    ):
        # Producers may send route and extra_stats as arrays and objects rather than as text.
        values = column.to_pylist()
        texts = [None if v is None else json.dumps(v, default=str) for v in values]
        return pa.array(texts, target)
    column = as_naive(column)
    if pa.types.is_timestamp(column.type) and pa.types.is_int64(target):
        column = column.cast(pa.timestamp("ns"))  # the record's times are ns since the epoch
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        column = pc.utf8_trim_whitespace(column.cast(pa.string()))
        if not pa.types.is_string(target):
            column = pc.if_else(pc.equal(column, ""), pa.scalar(None, pa.string()), column)
    parts = _cast_parts(column, 0, len(column), target, name, errors)
    return parts[0] if len(parts) == 1 else pa.concat_arrays(parts)


def _cast_parts(
    column: pa.Array, first: int, end: int, target: pa.DataType, name: str, errors: RowErrors
) -> list[pa.Array]:
    """Halve a range that does not fit, so that few values are cast one by one."""
    try:
        return [column[first:end].cast(target)]
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        if end - first <= _CAST_EACH:
            return [_cast_each(column, first, end, target, name, errors)]
    half = (first + end) // 2
    return [
        *_cast_parts(column, first, half, target, name, errors),
        *_cast_parts(column, half, end, target, name, errors),
    ]


def _cast_each(
    column: pa.Array, first: int, end: int, target: pa.DataType, name: str, errors: RowErrors
) -> pa.Array:
    out: list[object] = []
    wrong = np.zeros(len(column), bool)
    for row in range(first, end):
        fitted: object = None
        try:
            value = column[row].as_py()
            if value is not None:
                fitted = pa.scalar(value).cast(target).as_py()
        except (pa.ArrowException, ArithmeticError, ValueError, TypeError, LookupError):
            wrong[row] = True
        out.append(fitted)
    errors.add_where(wrong, name, "{value} is not " + _article(target), column)
    return pa.array(out, target)


def _article(target: pa.DataType) -> str:
    if pa.types.is_floating(target):
        return "a number"
    if pa.types.is_integer(target):
        return f"a whole number ({target})"
    return "text"


def without_unread(latency: pa.Array, dial: pa.Array | None) -> pa.Array:
    """A column of latencies, null where a record has none because its dial is not success.

    latency, dial  as the message has them, before they are cast; None: it has no dial
    What stands there is not read: -1, NaN or NA of a probe without an answer must not make a dead
    letter of it, or a file of losses looks healthy. A dial that is not known changes nothing.
    """
    if dial is None or latency.null_count == len(latency):
        return latency
    try:
        dial = dial.cast(pa.string())
    except pa.ArrowException:
        return latency  # ``cast`` says of each row what is wrong with it
    if pc.equal(dial, "success").true_count == len(dial):
        return latency
    folded = pc.utf8_lower(pc.utf8_trim_whitespace(dial))
    failed = pc.is_in(folded, value_set=pa.array(_FAILED))
    if pa.types.is_dictionary(latency.type):
        latency = latency.dictionary_decode()
    return pc.if_else(failed, pa.scalar(None, latency.type), latency)


def are_valid(columns: dict[str, pa.Array], limits: Limits = LIMITS) -> bool:
    """Whether no value breaks a rule of ``check_lengths`` or ``check_values``.

    False: they are to look, because some value does, or without the compiled helper. Columns are
    those that they get.
    """
    helper = native.used()
    stats = columns.get("extra_stats")
    if helper is None or (stats is not None and stats.null_count < len(stats)):
        return False  # what is unpacked becomes columns too
    texts, numbers = [], []
    for name, values in columns.items():
        valid, first, *rest = values.buffers()
        if not len(values):
            return False
        required = name in ping.REQUIRED
        if rest:
            most = limits.text_bytes if name in _TEXTS else limits.name_bytes
            data, allowed = rest[0] or b"", _ALLOWED.get(name)
            texts.append((valid, first, data, values.offset, required, most, allowed))
        elif name in _IN_RANGE:
            low, high, _ = _IN_RANGE[name]
            kind = _WIDTHS[values.type]
            numbers.append((valid, first, values.offset, required, kind, low, high))
    rows = len(columns["ping_time"])
    return bool(helper.rows_are_valid(rows, texts, numbers))


def check_lengths(
    columns: dict[str, pa.Array], errors: RowErrors, limits: Limits = LIMITS
) -> dict[str, pa.Array]:
    """Mark rows with a text over its limit; returns the columns with null in its place."""
    out = {}
    for name, values in columns.items():
        out[name] = values
        if not pa.types.is_string(values.type) or not len(values):
            continue
        most = limits.text_bytes if name in _TEXTS else limits.name_bytes
        lengths = text_lengths(values)
        if int(lengths.max()) <= most:
            continue
        long = pa.array(lengths > most)
        errors.add_where(pc.and_(long, values.is_valid()), name, f"longer than {most} B", values)
        out[name] = pc.if_else(long, pa.scalar(None, pa.string()), values)
    return out


def check_values(columns: dict[str, pa.Array], errors: RowErrors) -> None:
    """Mark the rows with a value that its column must not have; texts of a fixed set are folded."""
    for name in ping.REQUIRED:
        values = columns[name]
        empty = pc.is_null(values)
        if pa.types.is_string(values.type):
            empty = pc.or_kleene(empty, pc.equal(values, "")).fill_null(True)
        if empty.true_count:
            errors.add_where(empty, name, "is required and missing", values)
    for name, allowed in _ONE_OF.items():
        columns[name] = _one_of(columns[name], allowed, name, errors)
    for name, (low, high, reason) in _IN_RANGE.items():
        _check_range(columns, name, low, high, errors, reason)


def check_rows(columns: dict[str, pa.Array], errors: RowErrors, limits: Limits = LIMITS) -> None:
    """Mark the rows whose columns contradict each other, and those with an invalid route."""
    if "sent" in columns and "lost" in columns:
        more = pc.greater(columns["lost"], columns["sent"]).fill_null(False)
        if more.true_count:
            errors.add_where(more, "lost", "{value} is more than was sent", columns["lost"])
    if "route" in columns:
        _check_routes(columns["route"], columns["task_type"], errors, limits)


def _check_routes(route: pa.Array, task_type: pa.Array, errors: RowErrors, limits: Limits) -> None:
    """A traceroute's route is an array of names; other records' routes are not read."""
    traced = pc.and_kleene(pc.equal(task_type, _TRACEROUTE), route.is_valid()).fill_null(False)
    if not traced.true_count:
        return
    rows = np.flatnonzero(traced.to_numpy(zero_copy_only=False) & ~errors.bad)
    texts = route.take(pa.array(rows)).dictionary_encode()  # many rows have the same route
    reasons = [_wrong_route(text, limits) for text in texts.dictionary.to_pylist()]
    if any(reasons):
        for row, code in zip(rows.tolist(), texts.indices.to_pylist(), strict=True):
            if (reason := reasons[code]) is not None:
                errors.add(row, "route", reason)


def _wrong_route(text: str, limits: Limits) -> str | None:
    if text.strip() in ("", "null"):
        return None
    try:
        hops = _route_decoder.decode(text)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as why:
        return f"not a JSON array of hop names: {' '.join(str(why).split())[:200]}"
    if len(hops) > limits.hops:
        return f"{len(hops)} hops; a route has {limits.hops} at the most"
    if len(text) > limits.name_bytes and any(len(hop or "") > limits.name_bytes for hop in hops):
        return f"a hop's name is longer than {limits.name_bytes} B"
    return None


def _one_of(values: pa.Array, allowed: tuple[str, ...], name: str, errors: RowErrors) -> pa.Array:
    known = pa.array(allowed)
    unknown = pc.and_(pc.invert(pc.is_in(values, value_set=known)), pc.is_valid(values))
    if not unknown.true_count:
        return values
    # Case is ignored (RDMA_Ping); any other difference marks the row.
    fold = pc.utf8_lower if allowed[0].islower() else pc.utf8_upper
    folded = fold(values)
    unknown = pc.and_(pc.invert(pc.is_in(folded, value_set=known)), pc.is_valid(values))
    errors.add_where(unknown, name, "{value} is unknown; known: " + ", ".join(allowed), values)
    return folded


def _check_range(
    columns: dict[str, pa.Array], name: str, low: float, high: float, errors: RowErrors, reason: str
) -> None:
    values = columns.get(name)
    if values is None or values.null_count == len(values):
        return
    # NaN compares false with everything: invert what is inside the range.
    inside = pc.and_(pc.greater_equal(values, low), pc.less_equal(values, high))
    outside = pc.invert(inside.fill_null(True))
    if outside.true_count:
        errors.add_where(outside, name, "{value} " + reason, values)
