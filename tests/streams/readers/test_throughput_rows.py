"""Messages of skh.throughput: what is read, and what is refused with its reason."""

from __future__ import annotations

import msgspec
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas import topics
from schemas.wire.decoded import CodecError
from streams.readers.throughput_rows import ThroughputRows, decode
from testbed.simulator.publish import encode

ROWS = [
    {"fabric": "f1", "node_sn": "h1", "real_ip": f"10.0.0.{rail}", "time": 10**18 + second,
     "tx_bytes": 7 * second, "rx_bytes": 9 * second}
    for rail in range(2)
    for second in range(3)
]  # fmt: skip
ARROW = encode(pa.RecordBatch.from_pylist(ROWS))
LINES = b"\n".join(map(msgspec.json.encode, ROWS))


def plain(rows: ThroughputRows) -> list[dict[str, object]]:
    names = ThroughputRows._fields
    columns = [list(rows[:3][at]) if at < 3 else rows[at].tolist() for at in range(len(names))]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


@pytest.mark.parametrize(
    ("raw", "kind"), [(ARROW, topics.ARROW), (LINES, topics.NDJSON), (LINES + b"\n", topics.NDJSON)]
)
def test_arrow_and_ndjson_give_the_same_samples(raw: bytes, kind: str) -> None:
    assert plain(decode(raw, kind)) == ROWS


def arrow(**changed: pa.Array | None) -> bytes:
    batch = pa.RecordBatch.from_pylist(ROWS)
    columns = {name: batch.column(name) for name in batch.schema.names} | changed
    kept = {name: column for name, column in columns.items() if column is not None}
    return encode(pa.RecordBatch.from_pydict(kept))


@pytest.mark.parametrize(
    ("raw", "kind", "why"),
    [
        (b"", topics.ARROW, "corrupt Arrow"),
        (ARROW[:-40], topics.ARROW, "corrupt Arrow"),
        (arrow(time=None), topics.ARROW, "no column time"),
        (arrow(time=pa.array([1.5] * 6)), topics.ARROW, "column time of type double"),
        (arrow(node_sn=pa.array([None] * 6, pa.string())), topics.ARROW, "with nulls"),
        (arrow(tx_bytes=pa.array([-1] * 6)), topics.ARROW, "negative bytes"),
        (b"{}", topics.NDJSON, "no sample"),
        (LINES.replace(b'"rx_bytes":0', b'"rx_bytes":' + b"9" * 30), topics.NDJSON, "no sample"),
        (LINES, "text/csv", "content-type"),
    ],
)
def test_what_is_no_throughput_is_refused_in_one_line(raw: bytes, kind: str, why: str) -> None:
    with pytest.raises(CodecError, match=why) as error:
        decode(raw, kind)
    assert "\n" not in str(error.value)


@given(st.binary(max_size=200), st.sampled_from([topics.ARROW, topics.NDJSON]))
def test_no_bytes_raise_anything_else(raw: bytes, kind: str) -> None:
    try:
        decode(raw, kind)
    except CodecError:
        return
    assert not raw.strip() or kind == topics.NDJSON
