"""skh.windows: what the windower sends to the localizer and to the sink, as Arrow chunks.

Five kinds of message share the topic (header ``kind``):

pane          counts of one closed second per five-tuple path
window        latency features of one closed 30 s window per five-tuple path
routes        hops of traceroutes that closed with a pane
heartbeats    agent health, forwarded
punctuation   {partition, watermark, idle}: event time has advanced, with or without records

A chunk describes its paths in full (dictionary-encoded, so a name is written once per chunk): a
message is understood without any other. Columns are found by name, so that releases live side by
side (``decode``): a column that is added goes to ``DEFAULTS``, and none is renamed or retyped.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

import msgspec
import pyarrow as pa

from schemas.compiled.codes import compacted
from schemas.limits import LIMITS, Limits
from schemas.wire.arrow import columns as arrow_columns
from schemas.wire.arrow.frames import walk
from schemas.wire.decoded import one_line

Kind = Literal["pane", "window", "routes", "heartbeats", "punctuation"]


def _is_number(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind))


#: Texts that identify a path and place it in the fabric, in the order of the wire.
PATH_STRINGS: Final = (
    "fabric", "layer", "task_type",
    "src_node_id", "src_ip", "src_real_ip", "src_node_sn", "src_asw", "src_dsw", "src_pod",
    "dst_node_id", "dst_ip", "dst_real_ip", "dst_node_sn", "dst_asw", "dst_dsw", "dst_pod",
    "src_tenant_id", "dst_tenant_id",
)  # fmt: skip
_NAME: Final = pa.dictionary(pa.int32(), pa.string())
PATH_FIELDS: Final = [
    pa.field("path_id", pa.uint64()),
    *(pa.field(name, _NAME) for name in PATH_STRINGS),
    pa.field("src_port", pa.int32()),
    pa.field("dst_port", pa.int32()),
]
#: records: ping records counted; sent, lost, refused: probes [count]. A refused probe was answered
#: by the peer's kernel: the network delivered it, so it is not lost. rtt_*: over answered probes.
COUNT_FIELDS: Final = [
    pa.field("records", pa.uint32()),
    pa.field("sent", pa.uint32()),
    pa.field("lost", pa.uint32()),
    pa.field("refused", pa.uint32()),
    pa.field("rtt_count", pa.uint32()),
    pa.field("rtt_mean_us", pa.float32()),
]
FEATURE_FIELDS: Final = [
    pa.field(f"rtt_{name}_us", pa.float32()) for name in ("p25", "p50", "p75", "min", "std", "max")
]
PANE: Final = pa.schema([*PATH_FIELDS, *COUNT_FIELDS])
WINDOW: Final = pa.schema([*PATH_FIELDS, *COUNT_FIELDS, *FEATURE_FIELDS])
ROUTES: Final = pa.schema(
    [
        pa.field("fabric", pa.string()),
        pa.field("layer", pa.string()),
        pa.field("src_ip", pa.string()),
        pa.field("dst_ip", pa.string()),
        pa.field("src_port", pa.int32()),
        pa.field("dst_port", pa.int32()),
        pa.field("hops", pa.list_(pa.string())),  # null for a silent hop
    ]
)
HEARTBEATS: Final = pa.schema(
    [
        pa.field("fabric", pa.string()),
        pa.field("node_sn", pa.string()),
        pa.field("time", pa.int64()),
        pa.field("alive", pa.bool_()),
        pa.field("cpu_steal", pa.float32()),
        pa.field("scheduling_delay_us", pa.float32()),
    ]
)
#: Columns that the first release did not write -> what they hold in its chunks.
DEFAULTS: Final[dict[str, str | float | None]] = {"dst_tenant_id": ""}
_SCHEMAS: Final = {"pane": PANE, "window": WINDOW, "routes": ROUTES, "heartbeats": HEARTBEATS}
#: Positions and names of the columns that hold texts.
_TEXTS: Final = {
    kind: [(at, field.name) for at, field in enumerate(schema) if not _is_number(field.type)]
    for kind, schema in _SCHEMAS.items()
}
MAX_CHUNK_BYTES: Final = 512 * 1024
_CHUNK_ROWS: Final = 4096
_OVERHEAD_BYTES: Final = 16 * 1024  # schema and frames of a stream, upper bound
_SMALL_BYTES: Final = 4 * 1024  # a smaller dictionary is not worth compacting
_END_S: Final = 2**32  # year 2106, the end of ClickHouse's DateTime
#: Columns in which the localizer allows no null.
_NOT_NULL: Final = frozenset({
    *(field.name for field in (*PATH_FIELDS, *COUNT_FIELDS[:-1])),
    "fabric", "node_sn", "time", "alive", "layer", "src_ip", "dst_ip", "hops",
})  # fmt: skip


_IGNORED: Final = b"ignored"  # in the metadata of a decoded chunk: names, with newlines


class WindowsError(ValueError):
    """A message on skh.windows is not one that this release reads."""


class Header(NamedTuple):
    """The Kafka headers of a message on skh.windows.

    start_s, end_s  the pane or window is [start_s, end_s) [s since the epoch]
    partition       of skh.pings whose records were counted
    epoch           rises with each assignment of that partition to a worker
    chunk, chunks   index of this chunk, 0..chunks-1, and number of chunks of the pane
    watermark_ms    event-time watermark of the partition when this was written [ms since the epoch]
    idle            the partition has no live source
    """

    kind: Kind
    fabric: str
    start_s: int = 0
    end_s: int = 0
    partition: int = 0
    epoch: int = 0
    chunk: int = 0
    chunks: int = 1
    watermark_ms: int = 0
    idle: bool = False

    def to_kafka(self) -> list[tuple[str, bytes]]:
        """Kafka headers, all text."""
        return [
            (name, str(int(value) if isinstance(value, bool) else value).encode())
            for name, value in self._asdict().items()
        ]

    @classmethod
    def from_kafka(cls, headers: dict[str, bytes]) -> Header:
        """Inverse of to_kafka; raises WindowsError when a header is missing or not a number."""
        try:
            text = {name: headers[name].decode() for name in cls._fields}
            kind = text.pop("kind")
            fabric = text.pop("fabric")
            numbers = {name: int(value) for name, value in text.items()}
        except (KeyError, ValueError) as why:
            what = str(why)[:200]
            raise WindowsError(f"skh.windows: bad header {what}; was it written by us?") from why
        if kind not in (*_SCHEMAS, "punctuation"):
            raise WindowsError(f"skh.windows: kind {kind[:60]!r} is not known to this release")
        idle = bool(numbers.pop("idle"))
        header = cls(kind=kind, fabric=fabric, idle=idle, **numbers)  # type: ignore[arg-type]  # kind was checked
        if (name := header._invalid_field()) is not None:
            raise WindowsError(f"skh.windows: bad header {name}: no pane or window has this")
        return header

    def _invalid_field(self) -> str | None:
        """Name of the first field whose value no writer sends, or None."""
        valid = {
            "fabric": len(self.fabric.encode()) <= LIMITS.name_bytes,
            "start_s": 0 <= self.start_s < _END_S,
            "end_s": self.start_s <= self.end_s < _END_S,
            "partition": 0 <= self.partition < 2**31,
            "epoch": 0 <= self.epoch < 2**63,
            "chunks": 0 < self.chunks <= LIMITS.chunks,
            "chunk": 0 <= self.chunk < self.chunks,
            "watermark_ms": 0 <= self.watermark_ms < 1000 * _END_S,
        }
        return next((name for name, is_valid in valid.items() if not is_valid), None)


def encode(batch: pa.RecordBatch) -> bytes:
    """One uncompressed Arrow IPC stream (Kafka compresses)."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue().to_pybytes())


def decode(kind: Kind, raw: bytes, limits: Limits = LIMITS) -> pa.RecordBatch:
    """Rows of a chunk in this release's columns, validated in full; raises WindowsError.

    Columns that a later release has added are left out, and named by ``ignored``; one that a former
    release did not write yet has its default. A column of the first release that is missing, and
    any of another type, is an error: the chunk would be misread.
    """
    try:
        frames = walk(raw, limits)
        if frames.rows > limits.chunk_rows:
            raise WindowsError(f"skh.windows: a chunk of {frames.rows} rows")
        with pa.ipc.open_stream(pa.py_buffer(raw)) as reader:
            batch = reader.read_next_batch()
        if batch.schema != _SCHEMAS[kind]:
            batch = _in_this_release(kind, batch)
        batch.validate(full=True)
        _check_texts(kind, batch, limits.may_expand_to(len(raw)), limits)
    except WindowsError:
        raise
    except Exception as why:  # Arrow raises errors of any type for corrupt bytes
        raise WindowsError(f"skh.windows: corrupt {kind} chunk: {one_line(why)}") from why
    return batch


def ignored(batch: pa.RecordBatch) -> list[str]:
    """Columns of a decoded chunk that this release does not know."""
    names = (batch.schema.metadata or {}).get(_IGNORED)
    return names.decode().split("\n") if names else []


def _in_this_release(kind: Kind, batch: pa.RecordBatch) -> pa.RecordBatch:
    """The chunk of another release in the columns of this one."""
    wanted = _SCHEMAS[kind]
    columns = []
    for field in wanted:
        found = batch.schema.get_all_field_indices(field.name)
        if not found and field.name in DEFAULTS:
            columns.append(_repeated(DEFAULTS[field.name], field.type, batch.num_rows))
            continue
        if len(found) != 1:
            raise WindowsError(
                f"skh.windows: columns of this {kind} chunk are not this release's: "
                f"{len(found)} of {field.name}"
            )
        column = batch.column(found[0])
        if column.type != field.type:
            raise WindowsError(
                f"skh.windows: columns of this {kind} chunk are not this release's: {field.name} "
                f"is {str(column.type)[:60]}, not {field.type}"
            )
        columns.append(column)
    unknown = sorted(set(batch.schema.names) - set(wanted.names))
    schema = wanted.with_metadata({_IGNORED: "\n".join(unknown)}) if unknown else wanted
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _repeated(value: str | float | None, kind: pa.DataType, rows: int) -> pa.Array:
    if not pa.types.is_dictionary(kind):
        return pa.repeat(pa.scalar(value, kind), rows)
    zeros = pa.repeat(pa.scalar(0, kind.index_type), rows)
    return pa.DictionaryArray.from_arrays(zeros, pa.array([value], kind.value_type))


def encode_chunks(batch: pa.RecordBatch) -> list[bytes]:
    """The batch as one or more chunks of at most MAX_CHUNK_BYTES, in order.

    Rows with names of usual length take about 100 B. Where names are long, chunks hold fewer rows,
    and only the names that their own rows use. A batch without rows is one chunk without rows.
    """
    step = _rows_within(batch)
    return [
        raw
        for start in range(0, max(batch.num_rows, 1), step)
        for raw in _encode_within(batch.slice(start, step))
    ]


def _rows_within(batch: pa.RecordBatch) -> int:
    """Rows of a chunk that has all names of the batch, so that none is encoded more than once.

    Where names take much of it, as many as a chunk may have: its names are then reduced.
    """
    names, width = 0, 0
    for column in batch.columns:
        if pa.types.is_dictionary(column.type):
            names += column.dictionary.nbytes
            width += column.type.index_type.bit_width // 8
        elif pa.types.is_primitive(column.type):
            width += max(1, column.type.bit_width // 8)
        else:
            return _CHUNK_ROWS
    left = MAX_CHUNK_BYTES - _OVERHEAD_BYTES - names
    if 4 * left < 3 * MAX_CHUNK_BYTES or not width:
        return _CHUNK_ROWS
    return min(_CHUNK_ROWS, left // width)


def _encode_within(batch: pa.RecordBatch) -> list[bytes]:
    if batch.nbytes > MAX_CHUNK_BYTES - _OVERHEAD_BYTES:
        batch = _compact(batch)  # only now: it costs more than it saves where names are few
    raw = encode(batch)
    if len(raw) <= MAX_CHUNK_BYTES or batch.num_rows <= 1:
        return [raw]
    half = batch.num_rows // 2
    return [*_encode_within(batch.slice(0, half)), *_encode_within(batch.slice(half))]


def _compact(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The same rows; large dictionaries reduced to the names that the rows use."""
    columns = []
    for column in batch.columns:
        if pa.types.is_dictionary(column.type) and column.dictionary.nbytes > _SMALL_BYTES:
            codes = column.indices.to_numpy(zero_copy_only=False)
            places, used = compacted(codes, len(column.dictionary))
            names = column.dictionary.take(pa.array(used))
            column = pa.DictionaryArray.from_arrays(places, names)
        columns.append(column)
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)


def _check_texts(kind: Kind, batch: pa.RecordBatch, most: int, limits: Limits) -> None:
    """Bound the size of a chunk's texts once decoded, and the length of each name."""
    for index, name in _TEXTS[kind]:
        column = batch.column(index)
        values = column
        if dictionary := isinstance(column, pa.DictionaryArray):
            values = column.dictionary
        elif isinstance(column, pa.ListArray):
            values = column.flatten()
        lengths = arrow_columns.text_lengths(values)
        if dictionary:
            most -= arrow_columns.decoded_bytes(column, lengths)
        if most < 0:
            raise WindowsError(f"skh.windows: names of this {kind} chunk expand too much: {name}")
        if len(lengths) and int(lengths.max()) > limits.name_bytes:
            raise WindowsError(f"skh.windows: {name} is longer than {limits.name_bytes} B")


def check_whole(kind: Kind, batch: pa.RecordBatch) -> None:
    """Check what the localizer relies on: no nulls, no more probes lost than sent.

    Raises WindowsError.
    """
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if name in _NOT_NULL and column.null_count:
            raise WindowsError(f"skh.windows: {name} is null in this {kind} chunk")
    if kind not in ("pane", "window") or not batch.num_rows:
        return
    sent = batch.column("sent").to_numpy()
    for name in ("lost", "refused"):
        if (batch.column(name).to_numpy() > sent).any():
            raise WindowsError(f"skh.windows: more probes {name} than sent in this {kind} chunk")


class _Body(msgspec.Struct):
    """The field of a punctuation that readers use; further fields are ignored."""

    skewed: dict[str, float] = {}


_body_decoder: Final = msgspec.json.Decoder(_Body)


def check_body(raw: bytes, limits: Limits = LIMITS) -> None:
    """Check the body of a punctuation, which is empty or JSON; raises WindowsError."""
    if len(raw) > limits.punctuation_bytes:
        raise WindowsError(f"skh.windows: a punctuation of {len(raw)} B")
    if not raw:
        return
    try:
        body = _body_decoder.decode(raw)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as why:
        raise WindowsError(f"skh.windows: bad punctuation: {one_line(why)}") from why
    if any(len(name) > limits.name_bytes for name in body.skewed):
        raise WindowsError(f"skh.windows: a host's name is longer than {limits.name_bytes} B")
