"""Batches of the sink, without a broker and a database."""

from __future__ import annotations

import msgspec
import pytest
from builders.streams.sink_messages import (
    ANOMALY,
    COVERAGE,
    INCIDENT,
    RECORD,
    message,
    ndjson,
    window,
)
from hypothesis import given
from hypothesis import strategies as st

from schemas import topics
from schemas.documents import coverage
from schemas.documents.incident import encode
from schemas.wire.rejects import Reject
from streams import dead_letters
from streams.sink.batch import Batcher, Message
from streams.sink.dead_letters import DeadLetter
from streams.sink.parameters import Limits
from streams.sink.rows import Place


def test_records_of_many_messages_become_one_table_that_knows_its_offsets() -> None:
    batcher = Batcher()
    batcher.add(ndjson(RECORD, RECORD, offset=3), 0.0)
    batcher.add(ndjson({**RECORD, "dscp": 26}, offset=4), 0.0)
    batch = batcher.collect()
    table = batch.tables["pings"]
    assert table["source_offset"].to_pylist() == [3, 3, 4]
    assert table["latency_ns"].to_pylist() == [16183] * 3
    assert table["dscp"].to_pylist() == [None, None, 26]
    assert batch.offsets == {("skh.pings", 0): 5}


def test_coverage_becomes_a_row_and_a_tombstone_none() -> None:
    batcher = Batcher()
    batcher.add(message("skh.coverage", coverage.encode(COVERAGE)), 0.0)
    batcher.add(message("skh.coverage", b"", offset=1), 0.0)
    (row,) = batcher.collect().tables["coverage"].to_pylist()
    assert row["at"].isoformat() == "2026-01-01T00:01:00+00:00"
    assert row["uncovered_names"] == COVERAGE.uncovered_names


def test_a_latency_beyond_the_column_stays_at_its_end() -> None:
    batcher = Batcher()
    batcher.add(ndjson({**RECORD, "latency": 9e6}), 0.0)
    assert batcher.collect().tables["pings"]["latency_ns"].to_pylist() == [2**32 - 1]


def test_a_bad_record_costs_its_row_and_is_stored_with_line_and_column() -> None:
    batcher = Batcher()
    batcher.add(ndjson(RECORD, {**RECORD, "loss_rate": 7}), 0.0)
    batch = batcher.collect()
    assert batch.tables["pings"].num_rows == 1
    (letter,) = batch.tables["dead_letters"].to_pylist()
    assert (letter["line"], letter["column"]) == (2, "loss_rate")
    assert batch.letters == [], "streams.ingest publishes what is wrong with pings"
    assert batcher.read.dead_letters == {"skh.pings": 1}


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (message("skh.windows", b"x"), "bad header"),
        (window(kind="nonsense"), "not known"),
        (window()._replace(value=b"\xff\xff\xff\xff\x10"), "corrupt"),
        (message("skh.incidents", b"{}"), "incident_id"),
        (message("skh.incidents", b"\xff"), "incident"),
        (message("skh.incidents", b"[" * 100_000), "incident"),
        (message("skh.anomalies", encode(INCIDENT)), "path_id"),
        (message("skh.coverage", b"{}"), "fabric"),
        (
            message("skh.coverage", coverage.encode(msgspec.structs.replace(COVERAGE, paths=-1))),
            "paths",
        ),
    ],
)
def test_a_malformed_message_is_published_as_a_dead_letter(bad: Message, reason: str) -> None:
    batcher = Batcher()
    batcher.add(bad, 0.0)
    batch = batcher.collect()
    (letter,) = batch.letters
    assert reason in letter.reason
    assert letter.raw == bad.value
    assert batch.tables == {}
    assert batch.offsets == {(bad.place.topic, 0): 1}, "its offset is committed all the same"


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"opened_at": "yesterday"}, "opened_at"),
        ({"opened_at": "2026-01-01T00:00:00"}, "opened_at"),
        ({"opened_at": "0001-01-01T00:00:00+23:59"}, "opened_at"),
        ({"version": -1}, "version"),
        ({"paths_bad": 2**40}, "paths_bad"),
        ({"incident_id": ""}, "incident_id"),
    ],
)
def test_an_incident_with_an_impossible_value_names_the_field(
    change: dict[str, object], field: str
) -> None:
    batcher = Batcher()
    document = msgspec.json.encode(msgspec.structs.asdict(INCIDENT) | change)
    batcher.add(message("skh.incidents", document), 0.0)
    assert field in batcher.collect().letters[0].reason


def test_only_windows_of_the_windows_topic_are_stored_and_all_offsets_move() -> None:
    batcher = Batcher()
    for offset, kind in enumerate(["window", "pane", "routes", "heartbeats", "punctuation"]):
        batcher.add(window(kind, offset=offset), 0.0)
    batch = batcher.collect()
    assert batch.tables["path_windows"].num_rows == 1
    assert batch.offsets == {("skh.windows", 0): 5}


def test_an_anomaly_keeps_the_path_id_of_its_pings() -> None:
    batcher = Batcher()
    batcher.add(message("skh.anomalies", encode(ANOMALY)), 0.0)
    assert batcher.collect().tables["anomalies"]["path_id"].to_pylist() == [0xFF]


def test_the_document_of_an_incident_is_the_message_itself() -> None:
    batcher = Batcher()
    batcher.add(message("skh.incidents", encode(INCIDENT)), 0.0)
    assert batcher.collect().tables["incidents"]["document"].to_pylist() == [encode(INCIDENT)]


def test_gaps_in_offsets_are_counted_but_not_those_of_compaction() -> None:
    batcher = Batcher()
    batcher.expect("skh.pings", 0, 10)
    batcher.add(ndjson(RECORD, offset=13), 0.0)
    batcher.add(ndjson(RECORD, offset=20), 0.0)
    for offset in (0, 9):
        batcher.add(message("skh.incidents", encode(INCIDENT), offset), 0.0)
    assert batcher.read.missing == {"skh.pings": 3 + 6}


@pytest.mark.parametrize(
    ("limits", "at_s", "due"),
    [
        (Limits(rows=2, bytes=10**9, age_s=9), 0.0, True),
        (Limits(rows=3, bytes=10**9, age_s=9), 0.0, False),
        (Limits(rows=3, bytes=100, age_s=9), 0.0, True),
        (Limits(rows=3, bytes=10**9, age_s=9), 9.0, True),
    ],
)
def test_a_batch_is_due_by_rows_bytes_or_age(limits: Limits, at_s: float, due: bool) -> None:
    batcher = Batcher(limits)
    assert not batcher.due(1e9), "an empty batch never is"
    batcher.add(ndjson(RECORD, RECORD), 0.0)
    assert batcher.due(at_s) is due


def test_an_incident_is_due_at_once() -> None:
    batcher = Batcher()
    batcher.add(message("skh.incidents", encode(INCIDENT)), 0.0)
    assert batcher.due(0.0)


def test_a_revoked_batch_is_discarded() -> None:
    batcher = Batcher()
    batcher.add(ndjson(RECORD), 0.0)
    batcher.discard()
    assert batcher.collect().offsets == {}


_header_text = st.dictionaries(
    st.sampled_from(["reason", "topic", "partition", "offset", "line", "column"]),
    st.binary(max_size=20) | st.integers().map(lambda number: str(number).encode()),
)


@given(headers=_header_text, raw=st.binary(max_size=50))
def test_whatever_lies_on_the_dead_letter_topic_is_stored(
    headers: dict[str, bytes], raw: bytes
) -> None:
    batcher = Batcher()
    batcher.add(Message(Place("skh.dead-letter", 0, 7), raw, headers), 0.0)
    assert batcher.collect().tables["dead_letters"]["raw"].to_pylist() == [raw]


def test_a_dead_letter_survives_its_headers() -> None:
    out = dead_letters.row("skh.pings", 2, 99, Reject(2, "dial", "why", b"raw"))
    letter = DeadLetter.from_kafka(dict(out.headers), out.value, Place("skh.dead-letter", 0, 1))
    assert letter == DeadLetter(Place("skh.pings", 2, 99), "why", b"raw", 3, "dial")


@given(
    topic=st.sampled_from(["skh.pings", "skh.windows", "skh.anomalies", "skh.incidents"]),
    value=st.binary(max_size=200),
    content_type=st.sampled_from([topics.ARROW, topics.NDJSON, topics.CSV, topics.JSON, "?"]),
)
def test_no_bytes_crash_the_sink(topic: str, value: bytes, content_type: str) -> None:
    batcher = Batcher()
    batcher.add(message(topic, value, content_type=content_type), 0.0)
    assert batcher.collect().offsets == {(topic, 0): 1}
