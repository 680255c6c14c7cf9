"""Samples of rnics become rows, each once; messages that are not their sender's do not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pytest
from builders.streams.sink_messages import message, samples

from schemas import topics
from schemas.signing.keys import KeyRing
from schemas.signing.signature import sign
from store import migrate
from store.client import Store, open_store
from streams.admission.admission import Admission
from streams.sink.batch import Batcher, Message
from testbed.simulator.publish import encode

NEW_YEAR = 1_767_225_600  # 2026-01-01 00:00
NS = 10**9
RING = KeyRing({"k1": b"s" * 32})


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(open_store(f"chdb:{tmp_path / 'store'}")) as opened:
        migrate.migrate(opened)
        yield opened


def table(*messages: Message) -> pa.Table:
    batcher = Batcher()
    for each in messages:
        batcher.add(each, 0.0)
    batch = batcher.collect()
    assert batch.letters == []
    return batch.tables["throughput"]


def test_samples_become_rows_of_the_nearest_seconds_that_know_their_offset() -> None:
    rows = table(
        samples({}, {"time": (NEW_YEAR + 1) * NS - 5, "tx_bytes": 2**40}, offset=7),
        samples({"real_ip": "10.0.0.2"}, offset=8),
    ).to_pylist()
    assert [row["real_ip"] for row in rows] == ["10.0.0.1", "10.0.0.1", "10.0.0.2"]
    assert [row["time"].timestamp() for row in rows] == [NEW_YEAR, NEW_YEAR + 1, NEW_YEAR]
    assert [(row["tx_bytes"], row["rx_bytes"]) for row in rows] == [
        (100, 200), (2**40, 200), (100, 200),
    ]  # fmt: skip
    assert [row["source_offset"] for row in rows] == [7, 7, 8]


def test_an_arrow_message_gives_the_same_rows() -> None:
    row = {"fabric": "f1", "node_sn": "h1", "real_ip": "10.0.0.1", "time": NEW_YEAR * NS,
           "tx_bytes": 100, "rx_bytes": 200}  # fmt: skip
    raw = encode(pa.RecordBatch.from_pylist([row]))
    arrow = message("skh.throughput", raw, content_type=topics.ARROW)
    assert table(arrow).equals(table(samples({})))


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (message("skh.throughput", b"{}", content_type=topics.NDJSON), "no sample"),
        (message("skh.throughput", b"{}"), "content-type"),
        (message("skh.throughput", b"", content_type=topics.ARROW), "corrupt Arrow"),
        (samples({"tx_bytes": -1}), "negative bytes"),
        (samples({}, {"time": -NS}), "time -1000000000 of row 1"),
        (samples({"time": 2**32 * NS}), "not of our age"),
        (samples({"time": 2**63 - 1}), "not of our age"),
        (samples({"node_sn": "h" * 5000}), "node_sn of 5000 characters"),
    ],
)
def test_a_message_that_cannot_be_used_is_published_as_a_dead_letter(
    bad: Message, reason: str
) -> None:
    batcher = Batcher()
    batcher.add(bad, 0.0)
    batch = batcher.collect()
    (letter,) = batch.letters
    assert reason in letter.reason
    assert batch.tables == {}
    assert batch.offsets == {("skh.throughput", 0): 1}


def signed(message: Message, by: str = "h1") -> Message:
    """The message with the signature of a host of f1."""
    at = message.time_ms * 10**6
    key = RING.host_key("f1", by)
    headers = sign(key, "skh.throughput", topics.NDJSON, message.value, at)
    return message._replace(headers=headers, key=by.encode())


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        (signed(samples({})), None),
        (samples({}), "signature"),
        (signed(samples({}), by="h2"), "another host"),
        (signed(samples({}, {"node_sn": "h2"})), "another host"),
        (signed(samples({"fabric": "f2"})), "another host"),
    ],
)
def test_with_a_key_ring_a_host_reports_its_own_rnics_only(
    sent: Message, reason: str | None
) -> None:
    batcher = Batcher(admission=Admission(lambda: RING))
    batcher.add(sent, 0.0)
    batch = batcher.collect()
    assert ("throughput" in batch.tables) is (reason is None)
    assert [reason in each.reason for each in batch.letters] == [True] * (reason is not None)


def test_samples_that_are_stored_again_count_once(store: Store) -> None:
    rows = table(samples(*({"time": (NEW_YEAR + s) * NS} for s in range(60))))
    for _ in range(2):
        store.insert("throughput", rows)
    assert store.rows("SELECT count() AS n, sum(tx_bytes) AS tx FROM throughput FINAL") == [
        {"n": 60, "tx": 6000}
    ]
    (minute,) = store.rows("SELECT seconds, tx_bytes_per_s FROM throughput_minutes")
    assert (minute["seconds"], minute["tx_bytes_per_s"]) == (60, 100.0)


def test_a_gap_is_no_second_without_traffic(store: Store) -> None:
    busy = [{"time": (NEW_YEAR + s) * NS, "tx_bytes": 10 + s, "rx_bytes": 40} for s in (0, 2)]
    store.insert("throughput", table(samples(*busy)))
    (minute,) = store.rows("SELECT * FROM throughput_minutes")
    assert minute["seconds"] == 2
    assert (minute["tx_bytes_per_s"], minute["tx_max_bytes_per_s"]) == (11.0, 12)
    assert (minute["rx_bytes_per_s"], minute["component"]) == (40.0, "rnic:10.0.0.1")


def test_retention_of_samples_counts_from_ingest(store: Store) -> None:
    store.insert("throughput", table(samples({"time": 10**9})))
    store.execute("OPTIMIZE TABLE throughput FINAL")
    assert store.rows("SELECT count() AS n FROM throughput") == [{"n": 1}]
    (made,) = store.rows(
        "SELECT create_table_query AS sql FROM system.tables WHERE name = 'throughput'"
    )
    assert "TTL ingested_at + toIntervalDay(14)" in made["sql"], "as single pings"


def test_a_question_about_an_hour_reads_that_hour_only(store: Store) -> None:
    day = [{"time": (NEW_YEAR + 60 * m) * NS} for m in range(1440)]
    for rnic in range(20):  # a granule has 8,192 rows
        day += [{**each, "real_ip": f"10.0.1.{rnic}"} for each in day[:1440]]
    store.insert("throughput", table(samples(*day)))
    plan = store.rows(
        "EXPLAIN indexes = 1 SELECT max(tx_bytes_per_s) FROM throughput_minutes"
        " WHERE minute >= '2026-01-01 23:00:00'"
    )
    text = " ".join(str(row["explain"]) for row in plan)
    (granules,) = set(re.findall(r"by_minute.*?Granules: (\d+)/", text, re.DOTALL))
    assert int(granules) == 1
