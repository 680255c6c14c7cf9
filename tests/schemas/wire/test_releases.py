"""What each release has written is read by this one, and what a later one may add is handled as
docs/deploy.md says (Upgrades)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest
from builders.schemas.documents import EXAMPLES
from builders.schemas.record_formats import FULL, read
from builders.schemas.release_files import RELEASES, SCHEMAS, chunk, files, later, version
from builders.streams.sink_messages import COVERAGE

from schemas import topics
from schemas.documents.decoding import DocumentError, decode
from schemas.wire import codecs, window_chunks
from schemas.wire.window_chunks import Header, WindowsError

DOCUMENTS: dict[str, msgspec.Struct] = {**EXAMPLES, "coverage": COVERAGE}
#: Readers of other programs, and of what agents of any version report.
OPEN = ("anomaly", "coverage", "heartbeat", "incident")
CLOSED = sorted(DOCUMENTS.keys() - set(OPEN))
releases = pytest.mark.parametrize("release", sorted(RELEASES.iterdir()), ids=lambda p: p.name)


def holds(found: Any, wanted: Any) -> bool:
    """Whether all of ``wanted`` is in ``found``, which may have more fields."""
    if isinstance(wanted, dict):
        return all(name in found and holds(found[name], each) for name, each in wanted.items())
    if isinstance(wanted, list):
        return len(found) == len(wanted) and all(map(holds, found, wanted))
    return bool(found == wanted)


def test_this_version_has_its_files_and_the_writers_still_write_them() -> None:
    """A change of these is a change that other versions meet: see to both directions."""
    stored = {path.name: path.read_bytes() for path in (RELEASES / version()).iterdir()}
    written = files()
    assert stored.keys() == written.keys()
    for name, raw in written.items():
        assert content(name, raw) == content(name, stored[name]), name


def content(name: str, raw: bytes) -> Any:
    """Arrow leaves its writers open where they pad and align."""
    return pa.ipc.open_stream(raw).read_all() if name.endswith(".arrow") else raw


@releases
def test_a_document_of_a_release_is_read_without_loss(release: Path) -> None:
    paths = sorted(release.glob("document.*.json"))
    assert len(paths) >= 8
    for path in paths:
        raw = path.read_bytes()
        kind = type(DOCUMENTS[path.name.split(".")[1]])
        again = json.loads(msgspec.json.encode(msgspec.json.decode(raw, type=kind)))
        assert holds(again, json.loads(raw)), path.name


@releases
@pytest.mark.parametrize("name", ["records.arrow", "records.ndjson"])
def test_records_of_a_release_are_read_without_loss(release: Path, name: str) -> None:
    kind = topics.ARROW if name.endswith(".arrow") else topics.NDJSON
    decoded = codecs.decode((release / name).read_bytes(), kind)
    assert not len(decoded.rejects)
    wanted = json.loads((release / "records.rows.json").read_bytes())
    assert holds(decoded.batch.to_pylist(), wanted)


@releases
@pytest.mark.parametrize("kind", SCHEMAS)
def test_a_chunk_of_a_release_is_read_without_loss(release: Path, kind: window_chunks.Kind) -> None:
    batch = window_chunks.decode(kind, (release / f"windows.{kind}.arrow").read_bytes())
    wanted = json.loads((release / f"windows.{kind}.rows.json").read_bytes())
    assert holds(batch.to_pylist(), wanted)


@releases
def test_headers_of_a_chunk_of_a_release_are_read(release: Path) -> None:
    text = json.loads((release / "windows.headers.json").read_bytes())
    header = Header.from_kafka({name: value.encode() for name, value in text.items()})
    again = {name: value.decode() for name, value in header.to_kafka()}
    assert holds(again, text)


def of_the_future(name: str) -> bytes:
    fields = json.loads(msgspec.json.encode(DOCUMENTS[name]))
    return json.dumps({**fields, "of_the_future": {"deep": [1]}}).encode()


@pytest.mark.parametrize("name", OPEN)
def test_a_field_of_a_later_release_is_ignored_where_programs_and_agents_write(name: str) -> None:
    document = DOCUMENTS[name]
    assert decode(of_the_future(name), type(document)) == document


@pytest.mark.parametrize("name", CLOSED)
def test_a_field_of_a_later_release_is_refused_where_it_may_be_misspelt(name: str) -> None:
    with pytest.raises(DocumentError, match="unknown field 'of_the_future'"):
        decode(of_the_future(name), type(DOCUMENTS[name]))


@pytest.mark.parametrize("kind", [topics.ARROW, topics.NDJSON, topics.JSON])
def test_a_column_of_a_later_release_costs_no_record(kind: str) -> None:
    decoded = read(kind, {**FULL, "of_the_future": "x"})
    assert not len(decoded.rejects)
    assert holds(decoded.batch.to_pylist(), [FULL])


@pytest.mark.parametrize("kind", SCHEMAS)
def test_a_column_of_a_later_release_costs_no_chunk_and_is_named(kind: window_chunks.Kind) -> None:
    batch = chunk(kind)
    found = window_chunks.decode(kind, window_chunks.encode(later(batch)))
    assert found.equals(batch)
    assert window_chunks.ignored(found) == ["deep_of_the_future", "of_the_future"]
    own = window_chunks.decode(kind, window_chunks.encode(batch))
    assert window_chunks.ignored(own) == []


@pytest.mark.parametrize("kind", SCHEMAS)
def test_a_column_that_a_chunk_lacks_has_its_default_or_was_in_the_first_release(
    kind: window_chunks.Kind,
) -> None:
    batch = chunk(kind)
    for name in batch.schema.names:
        kept = batch.select([each for each in batch.schema.names if each != name])
        if name in window_chunks.DEFAULTS:
            found = window_chunks.decode(kind, window_chunks.encode(kept))
            assert found.schema == batch.schema
            assert found.column(name).to_pylist() == [window_chunks.DEFAULTS[name]] * 2
            continue
        with pytest.raises(WindowsError, match=f"are not this release's: 0 of {name}"):
            window_chunks.decode(kind, window_chunks.encode(kept))


def test_a_chunk_with_a_column_of_another_type_or_twice_is_refused_and_not_misread() -> None:
    batch = chunk("pane")
    at = batch.schema.get_field_index("sent")
    seconds = batch.set_column(at, "sent", batch.column(at).cast(pa.float64()))
    with pytest.raises(WindowsError, match="sent is double, not uint32"):
        window_chunks.decode("pane", window_chunks.encode(seconds))
    twice = pa.RecordBatch.from_arrays(
        [*batch.columns, batch.column(at)], names=[*batch.schema.names, "sent"]
    )
    with pytest.raises(WindowsError, match="2 of sent"):
        window_chunks.decode("pane", window_chunks.encode(twice))


def test_a_header_of_a_later_release_is_ignored_and_a_kind_refused() -> None:
    headers = dict(Header("pane", "f1").to_kafka())
    assert Header.from_kafka({**headers, "of_the_future": b"1"}) == Header("pane", "f1")
    with pytest.raises(WindowsError, match="is not known to this release"):
        Header.from_kafka({**headers, "kind": b"of_the_future"})
