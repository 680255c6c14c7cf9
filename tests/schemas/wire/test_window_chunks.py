"""Messages of skh.windows: headers and chunks survive the wire, and only ours are read."""

from __future__ import annotations

import contextlib
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.wire import window_chunks
from schemas.wire.window_chunks import Header, WindowsError
from schemas.wire.windows import encoding

NAMES = (
    pa.array(["f1", "underlay"]).dictionary_encode().cast(pa.dictionary(pa.int32(), pa.string()))
)
SCHEMAS = {
    "pane": window_chunks.PANE,
    "window": window_chunks.WINDOW,
    "routes": window_chunks.ROUTES,
    "heartbeats": window_chunks.HEARTBEATS,
}
KINDS: list[window_chunks.Kind] = ["pane", "window", "routes", "heartbeats"]


def rows(kind: str) -> pa.RecordBatch:
    """Two rows of a kind."""
    columns = []
    for field in SCHEMAS[kind]:
        if pa.types.is_dictionary(field.type):
            columns.append(NAMES)
        elif pa.types.is_list(field.type):
            columns.append(pa.array([["asw1", None], []], field.type))
        elif pa.types.is_string(field.type):
            columns.append(pa.array(["a", "b"]))
        else:
            columns.append(pa.array([1, 0]).cast(field.type))
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMAS[kind])


seconds = st.integers(0, 2**31 - 1)


@given(
    st.builds(
        Header,
        kind=st.sampled_from([*KINDS, "punctuation"]),
        fabric=st.text(st.characters(codec="utf-8")),
        start_s=seconds,
        end_s=seconds.map(lambda s: s + 2**31),
        partition=st.integers(0, 1000),
        epoch=st.integers(0, 2**62),
        chunk=st.integers(0, 98),
        chunks=st.just(99),
        watermark_ms=st.integers(0, 2**41),
        idle=st.booleans(),
        returning=st.booleans(),
    )
)
@settings(deadline=None, max_examples=60)
def test_a_header_survives_kafka(header: Header) -> None:
    again = Header.from_kafka(dict(header.to_kafka()))
    assert again == header
    assert isinstance(again.idle, bool)
    assert isinstance(again.returning, bool)


def test_a_header_that_a_former_release_does_not_write_has_its_default() -> None:
    header = Header("punctuation", "f1", idle=True)
    headers = {name: raw for name, raw in header.to_kafka() if name != "returning"}
    assert Header.from_kafka(headers) == header


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"kind": b"rumour"}, "kind 'rumour' is not known to this release"),
        ({"start_s": b"noon"}, "bad header"),
        ({"epoch": b""}, "bad header"),
        ({"fabric": b"\xff"}, "bad header"),
        ({"idle": b"yes"}, "bad header"),
        ({"chunk": None}, "bad header 'chunk'"),
        ({"kind": None}, "bad header 'kind'"),
    ],
)
def test_a_header_that_is_missing_or_malformed_is_refused(
    change: dict[str, Any], what: str
) -> None:
    headers = {**dict(Header("pane", "f1").to_kafka()), **change}
    with pytest.raises(WindowsError, match=what):
        Header.from_kafka({name: value for name, value in headers.items() if value is not None})


def test_unknown_headers_are_ignored() -> None:
    headers = dict(Header("pane", "f1").to_kafka())
    assert Header.from_kafka({**headers, "traceparent": b"00-ab"}) == Header("pane", "f1")


@pytest.mark.parametrize("kind", KINDS)
def test_a_chunk_survives_the_wire(kind: window_chunks.Kind) -> None:
    assert window_chunks.decode(kind, window_chunks.encode(rows(kind))).equals(rows(kind))


@pytest.mark.parametrize("kind", KINDS)
def test_a_chunk_of_another_kind_or_release_is_refused(kind: window_chunks.Kind) -> None:
    other = KINDS[KINDS.index(kind) - 1]
    with pytest.raises(WindowsError, match="columns of this"):
        window_chunks.decode(kind, window_chunks.encode(rows(other)))


@pytest.mark.parametrize(
    "raw", [b"", b"{}", b"\xff" * 64, window_chunks.encode(rows("pane"))[:-200]]
)
def test_a_corrupt_chunk_is_refused(raw: bytes) -> None:
    with pytest.raises(WindowsError, match="corrupt pane chunk"):
        window_chunks.decode("pane", raw)


@pytest.mark.parametrize("kind", KINDS)
def test_a_flipped_byte_in_a_chunk_is_at_most_a_windows_error(kind: window_chunks.Kind) -> None:
    good = window_chunks.encode(rows(kind))
    for at in range(0, len(good), 1 if len(good) < 4000 else 2):
        raw = bytearray(good)
        raw[at] ^= 0xFF
        with contextlib.suppress(WindowsError):
            window_chunks.decode(kind, bytes(raw)).validate(full=True)


def pane_of(names: pa.Array) -> pa.RecordBatch:
    """A pane with a row for each name, which stands in every text column."""
    columns = [
        names.dictionary_encode() if pa.types.is_dictionary(field.type) else
        pa.array(range(len(names))).cast(field.type)
        for field in window_chunks.PANE
    ]  # fmt: skip
    return pa.RecordBatch.from_arrays(columns, schema=window_chunks.PANE)


@pytest.mark.parametrize("length", [20, 65, 4096])
def test_a_pane_is_split_into_chunks_below_the_limit_without_losing_rows(length: int) -> None:
    rows_of_pane = 10_000 if length < 1000 else 200
    pane = pane_of(pa.array([f"{n:05d}".rjust(length, "n") for n in range(rows_of_pane)]))
    chunks = window_chunks.encode_chunks(pane)
    assert max(map(len, chunks)) <= window_chunks.MAX_CHUNK_BYTES
    parts = [window_chunks.decode("pane", chunk) for chunk in chunks]
    again = pa.Table.from_batches(parts).to_pylist()
    assert again == pane.to_pylist()


def test_chunks_of_few_names_are_encoded_once_and_full(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes, encode = [], encoding.encode

    def counted(batch: pa.RecordBatch) -> bytes:
        sizes.append(batch.num_rows)
        return encode(batch)

    monkeypatch.setattr(encoding, "encode", counted)
    pane = pane_of(pa.array([f"host-{n % 100:05d}" for n in range(9000)]))
    chunks = window_chunks.encode_chunks(pane)
    rows = [window_chunks.decode("pane", raw).num_rows for raw in chunks]
    assert sum(rows) == 9000
    assert sizes == rows[:1], "all other chunks have the names of the first one"
    assert all(len(raw) > 0.9 * window_chunks.MAX_CHUNK_BYTES for raw in chunks[:-1])
    assert max(map(len, chunks)) <= window_chunks.MAX_CHUNK_BYTES


def test_a_chunk_of_a_large_pane_has_only_the_names_that_its_rows_use() -> None:
    pane = pane_of(pa.array([f"host-{n:05d}" for n in range(9000)]))
    chunks = window_chunks.encode_chunks(pane)
    assert max(map(len, chunks)) <= window_chunks.MAX_CHUNK_BYTES
    batch = window_chunks.decode("pane", chunks[0])
    assert len(batch.column("src_node_sn").dictionary) == batch.num_rows < pane.num_rows


def test_an_empty_pane_is_one_empty_chunk() -> None:
    (chunk,) = window_chunks.encode_chunks(rows("pane").slice(0, 0))
    assert window_chunks.decode("pane", chunk).num_rows == 0


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("end_s", 10**30), ("end_s", 2**32), ("end_s", -1), ("start_s", 7), ("chunks", 10**9),
        ("chunks", 0), ("chunk", 5), ("chunk", -1), ("partition", -1), ("epoch", 10**30),
        ("watermark_ms", 10**30), ("watermark_ms", -1), ("fabric", "f" * 4097),
    ],
)  # fmt: skip
def test_a_windows_header_with_an_impossible_value_is_refused(field: str, value: Any) -> None:
    header = Header("pane", "f1", 5, 6)._replace(**{field: value})
    with pytest.raises(WindowsError, match=f"bad header {field}|bad header end_s"):
        Header.from_kafka(dict(header.to_kafka()))


@pytest.mark.parametrize(
    "body",
    [
        b"{", b"\xff", b"5", b"[]", b'{"skewed":5}', b'{"skewed":{"h":"x"}}', b"[" * 10**5,
        b'{"skewed":{"h":1e999}}', b'{"x":' + b"[" * 10**5, b'{"x":"' + b"x" * 2**20 + b'"}',
        b'{"skewed":{"' + b"h" * 5000 + b'":1}}',
    ],
)  # fmt: skip
def test_an_invalid_punctuation_body_is_refused(body: bytes) -> None:
    with pytest.raises(WindowsError, match=r"skh\.windows"):
        window_chunks.check_body(body)
    window_chunks.check_body(b'{"partition":0,"skewed":{"h1":3600.0},"counts":{}}')
    window_chunks.check_body(b"")


def test_a_chunk_with_a_null_count_is_refused() -> None:
    row = {"path_id": 5, "sent": 3, "lost": 1}
    with pytest.raises(WindowsError, match="is null in this pane chunk"):
        window_chunks.check_whole("pane", pa.RecordBatch.from_pylist([row], window_chunks.PANE))
