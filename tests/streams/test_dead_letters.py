"""Dead letters: few and small whatever a message holds, and the counts still add up."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pyarrow as pa
import pytest
from builders.schemas.record_formats import encode_csv
from builders.streams.ping_records import START_S, content_type, message, ping, table

from schemas import topics
from schemas.wire import codecs
from schemas.wire.rejects import Reject
from store import migrate
from store.client import Store, open_store
from streams import dead_letters
from streams.kafka.messages import InMessage, OutMessage
from streams.sink.batch import Batcher, Message
from streams.sink.dead_letters import DeadLetter
from streams.sink.rows import Place
from streams.windowing.partition import PartitionWorker

BAD_ROW = {**ping(), "dial": "perhaps", "src_zone_id": "z" * 4000, "dst_zone_id": "z" * 4000}


def arrow(rows: int) -> bytes:
    """Bad records with wide columns."""
    return codecs.encode_arrow(table([BAD_ROW] * rows))


MANY = {
    "rows without columns": (b"{}\n" * 65_536, topics.NDJSON, 65_536),
    "lines that are none": (b"x\n" * 65_536, topics.NDJSON, 65_536),
    "wide rows": (arrow(400), topics.ARROW, 400),
    "a message of 2 MB that is none": (b"x" * 2_000_000, topics.ARROW, 1),
    "a content-type of 400 kB": (b"x", "t" * 400_000, 1),
    "a column of 100 kB": (
        encode_csv(codecs.conform(table([ping()])).batch).partition(b"\n")[0]
        + b"," + b"c" * 100_000 + b"\n" + b"," * 100 + b"\n",
        topics.CSV, 1,
    ),
    "a reason of many lines": (b'{"dial":"a\\nb\\u2028c"}\n' * 20, topics.NDJSON, 20),
}  # fmt: skip


def headers(out: OutMessage) -> dict[str, str]:
    return {name: value.decode() for name, value in out.headers}


def take_in(raw: bytes, kind: str) -> tuple[PartitionWorker, list[OutMessage]]:
    worker = PartitionWorker(0, epoch=1)
    out = worker.step([InMessage(7, START_S * 1000, raw, content_type(kind))])
    return worker, [each for each in out if each.topic == topics.DEAD_LETTER.name]


@pytest.mark.parametrize("name", MANY)
def test_letters_of_a_message_are_few_and_small_and_count_every_row(name: str) -> None:
    raw, kind, rows = MANY[name]
    worker, letters = take_in(raw, kind)
    assert worker.counts.records == worker.counts.dead_lettered == rows
    assert sum(int(headers(each)["count"]) for each in letters) == rows
    assert len(letters) <= 17
    assert sum(len(each.value) for each in letters) <= dead_letters.DEFAULT.raw_bytes
    for each in letters:
        assert sum(len(key) + len(value) for key, value in each.headers) < 4096
        reason = headers(each)["reason"]
        assert len(reason) <= 500
        assert len(reason.splitlines()) == 1
        assert reason.isprintable()


def test_the_summary_names_the_reasons_and_how_often_each_was() -> None:
    rows = [ping(), *[{**ping(), "dial": f"d{n}"} for n in range(40)]]
    rows += [{**ping(), "src_port": 70_000 + n} for n in range(9)]
    worker, letters = take_in(codecs.encode_arrow(table(rows)), topics.ARROW)
    last = headers(letters[-1])
    assert (last["line"], last["column"], last["count"]) == ("18", "", "33")
    assert last["reason"].startswith("and 33 more rows of this message from this one on: 24 x dial")
    assert "9 x src_port: a value is not a port" in last["reason"]
    assert [headers(each)["line"] for each in letters[:-1]] == [str(n) for n in range(2, 18)]
    assert worker.counts.dead_lettered == 49
    assert worker.counts.held == 1


def test_an_excerpt_says_how_long_the_row_was() -> None:
    _, letters = take_in(arrow(1), topics.ARROW)
    (letter,) = letters
    assert len(letter.value) == 4096
    assert int(headers(letter)["bytes"]) > 8000


@pytest.mark.parametrize("name", MANY)
@pytest.mark.parametrize("beside", [0, 3])
def test_the_sink_finds_the_same_letters_under_the_same_keys(name: str, beside: int) -> None:
    raw, kind, _ = MANY[name]
    worker = PartitionWorker(0, epoch=1)
    batcher = Batcher()
    good = message(0, [ping()]).value
    published = []
    for offset, (value, its_kind) in enumerate([(good, topics.ARROW)] * beside + [(raw, kind)]):
        published += worker.step([InMessage(offset, START_S * 1000, value, content_type(its_kind))])
        place = Place(topics.PINGS.name, 0, offset)
        batcher.add(Message(place, value, content_type(its_kind)), 0.0)
    letters = [o for o in published if o.topic == topics.DEAD_LETTER.name]
    found = batcher.collect().tables["dead_letters"].to_pylist()
    at = Place(topics.DEAD_LETTER.name, 0, 0)
    read = [DeadLetter.from_kafka(dict(o.headers), o.value, at) for o in letters]
    assert [tuple(row.values()) for row in found] == [
        (*each.place, each.line, each.column, each.reason, each.raw, each.records) for each in read
    ]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(f"chdb:{tmp_path / 'store'}")
    yield opened
    opened.close()


def test_the_database_counts_records_and_keeps_each_letter_once(store: Store) -> None:
    migrate.migrate(store)
    raw, kind, rows = MANY["rows without columns"]
    place = Place(topics.PINGS.name, 0, 7)
    _, letters = take_in(raw, kind)
    batcher = Batcher()
    batcher.add(Message(place, raw, content_type(kind)), 0.0)
    for offset, each in enumerate(letters):
        batcher.add(Message(Place(each.topic, 0, offset), each.value, dict(each.headers)), 0.0)
    store.insert("dead_letters", batcher.collect().tables["dead_letters"])
    said = store.rows("SELECT count() AS letters, sum(count) AS records FROM dead_letters FINAL")
    assert said == [{"letters": 17, "records": rows}]


def test_letters_from_before_the_count_speak_of_one_record(store: Store) -> None:
    known = migrate.load()
    before = [each for each in known if each.number < 10]
    migrate.migrate(store, before)
    old = pa.table({"topic": pa.array(["skh.pings"]), "offset": pa.array([5])})
    store.insert("dead_letters", old)
    assert [each.file for each in migrate.migrate(store, known)] == [
        each.file for each in known if each.number >= 10
    ]
    assert store.rows("SELECT count FROM dead_letters") == [{"count": 1}]


def test_a_foreign_dead_letter_with_giant_headers_is_cut() -> None:
    raw = {"reason": b"r" * 10**6, "topic": b"t" * 10**6, "offset": b"5", "count": b"-3"}
    letter = DeadLetter.from_kafka(raw, b"", Place("skh.dead-letter", 0, 1))
    assert (len(letter.reason), len(letter.place.topic), letter.records) == (4096, 4096, 1)


def test_reasons_are_one_printable_line() -> None:
    out = dead_letters.row("t", 0, 1, Reject(0, "c\n" * 200, "a\r\nb\0\u2028" * 500, b""))
    found = headers(out)
    assert found["reason"].isprintable()
    assert len(found["reason"]) <= 500
    assert len(found["column"]) <= 100


def test_a_bad_route_is_the_same_letter_for_ingest_and_sink() -> None:
    rows = [ping(), {**ping(), "task_type": "TRACEROUTE", "route": "[1"}]
    raws = [msgspec.json.encode(rows), codecs.encode_arrow(table(rows))]
    for raw, kind in zip(raws, (topics.JSON, topics.ARROW), strict=True):
        _, letters = take_in(raw, kind)
        batcher = Batcher()
        batcher.add(Message(Place(topics.PINGS.name, 0, 7), raw, content_type(kind)), 0.0)
        (row,) = batcher.collect().tables["dead_letters"].to_pylist()
        (letter,) = letters
        assert (row["line"], row["column"]) == (2, "route")
        assert headers(letter)["line"] == "2"
