"""The sink against librdkafka's in-process cluster and chDB: a real protocol, a real engine."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from builders.monitoring.small_site import SITE, beat, encoded
from builders.streams.sink_messages import (
    ANOMALY,
    INCIDENT,
    RECORD,
    Message,
    ndjson,
    samples,
    window,
)
from confluent_kafka import Consumer, Producer, TopicPartition

from schemas import topics
from schemas.documents import heartbeat
from schemas.documents.incident import encode
from schemas.documents.placement import Placement
from store import migrate
from store.client import Store, StoreRefused, StoreUnavailable, open_store
from streams.sink.batch import TOPICS
from streams.sink.parameters import Limits
from streams.sink.rows import Place
from streams.sink.sink import Sink

PLACED = Placement(
    node_id="c1", node_sn="h1", state="ready", valid_from="2026-01-31T11:00:00Z", fabric="f1"
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(f"chdb:{tmp_path / 'store'}")
    migrate.migrate(opened)
    yield opened
    opened.close()


@contextmanager
def cluster_of_one() -> Iterator[tuple[Producer, str]]:
    producer = Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "mock", "log_level": 2})
    broker = next(iter(producer.list_topics(timeout=60).brokers.values()))
    for topic in TOPICS:
        producer.list_topics(topic.name, timeout=60)  # the query creates it
    yield producer, f"{broker.host}:{broker.port}"
    producer.flush(5)


@pytest.fixture
def cluster() -> Iterator[tuple[Producer, str]]:
    with cluster_of_one() as pair:
        yield pair


def on(topic: str, value: bytes) -> Message:
    return Message(Place(topic, 0, 0), value, {})


def send(producer: Producer, *messages: Message) -> None:
    for message in messages:
        headers: list[tuple[str, str | bytes | None]] = list(message.headers.items())
        producer.produce(message.place.topic, message.value, partition=0, headers=headers)
    assert producer.flush(10) == 0


def eventually(claim: Callable[[], bool], seconds: float = 300.0) -> None:
    until = time.monotonic() + seconds
    while not claim():
        assert time.monotonic() < until, "did not come true in time"
        time.sleep(0.05)


class Running:
    """A sink in a thread; ``stop`` waits for its end and raises what it raised."""

    def __init__(self, store: Any, servers: str) -> None:
        self.sink = Sink(
            store,
            {"bootstrap.servers": servers, "log_level": 2, "session.timeout.ms": 6000},
            limits=Limits(age_s=0.2),
            retry_s=(0.05, 0.2),
        )
        self._stop = Event()
        self._raised: list[BaseException] = []
        self.thread = Thread(target=self._run)
        self.thread.start()

    def _run(self) -> None:
        try:
            self.sink.run(self._stop)
        except BaseException as why:
            self._raised.append(why)

    def stop(self) -> None:
        self._stop.set()
        self.thread.join(300)
        assert not self.thread.is_alive(), "the sink does not stop"
        if self._raised:
            raise self._raised.pop()

    def values(self) -> dict[tuple[str, ...], float]:
        return {(s.metric.name, *s.labels): s.value for s in self.sink.samples()}


@contextmanager
def running(store: Any, servers: str) -> Iterator[Running]:
    run = Running(store, servers)
    try:
        yield run
    finally:
        run.stop()


def total(store: Store, table: str) -> int:
    return int(store.rows(f"SELECT count() AS n FROM {table}")[0]["n"])


def test_topology_placement_and_heartbeats_reach_their_tables(
    store: Store, cluster: tuple[Producer, str]
) -> None:
    producer, servers = cluster
    send(producer, on("skh.topology", encoded(SITE)), on("skh.placement", encoded(PLACED)),
         on("skh.heartbeats", heartbeat.encode(beat("h1", time.time()))),
         on("skh.heartbeats", b"no heartbeat"))  # fmt: skip
    with running(store, servers) as run:
        for table in ("topology_components", "placement", "heartbeats", "dead_letters"):
            eventually(lambda table=table: total(store, table) > 0)  # type: ignore[misc]
        eventually(lambda: run.values().get(("skh_sink_lag_messages", "skh.heartbeats")) == 0)
    assert total(store, "heartbeats") == 1


class Faulty:
    """A store whose inserts fail a number of times, before or after they have stored the rows."""

    def __init__(
        self, store: Store, failures: int, error: Exception, *, after: bool = False
    ) -> None:
        self._store = store
        self.failures = failures
        self._error = error
        self._after = after

    def insert(self, table: str, rows: pa.Table) -> None:
        fails = self.failures > 0
        self.failures -= fails
        if self._after or not fails:
            self._store.insert(table, rows)
        if fails:
            raise self._error


QUESTIONS = {
    "pings": "SELECT latency, sent, source_offset, src_ip FROM pings_unique ORDER BY dst_ip",
    "windows": "SELECT path_id, src_pod FROM path_windows_latest ORDER BY path_id",
    "tenants": "SELECT DISTINCT src_tenant_id, dst_tenant_id FROM path_minutes",
    "anomalies": "SELECT path_id, lost FROM anomalies_unique",
    "incidents": "SELECT component, explanation FROM incidents_latest",
    "letters": "SELECT topic, line, column, reason, hex(raw) AS raw FROM dead_letters"
    " ORDER BY topic",
}


class Outcome(NamedTuple):
    """What one run over messages of every kind left behind."""

    rows: dict[str, list[dict[str, Any]]]
    values: dict[tuple[str, ...], float]
    ready: str | None
    letter_headers: dict[str, bytes]


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    with (
        closing(open_store(f"chdb:{tmp_path_factory.mktemp('sink')}")) as store,
        cluster_of_one() as (producer, servers),
    ):
        migrate.migrate(store)
        return _everything(store, producer, servers)


def _everything(store: Store, producer: Producer, servers: str) -> Outcome:
    with running(store, servers) as run:
        send(
            producer,
            ndjson(RECORD, {**RECORD, "dst_ip": "10.0.0.3"}, {**RECORD, "src_port": 70_000}),
            window(),
            window(path_id=6, pod="p2"),  # its names are in a dictionary of its own
            on("skh.windows", b"\xff\xfe"),
            on("skh.anomalies", encode(ANOMALY)),
            on("skh.incidents", encode(INCIDENT)),
        )
        for table in ("pings_unique", "path_windows", "anomalies", "incidents"):
            eventually(lambda table=table: total(store, table) > 0)
        eventually(lambda: total(store, "dead_letters") == 2)
        eventually(lambda: run.values().get(("skh_sink_lag_messages", "skh.pings")) == 0)
        rows = {name: store.rows(question) for name, question in QUESTIONS.items()}
        return Outcome(rows, run.values(), run.sink.not_ready(), headers_of_a_letter(servers))


def headers_of_a_letter(servers: str) -> dict[str, bytes]:
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "people"})
    consumer.assign([TopicPartition(topics.DEAD_LETTER.name, p, 0) for p in range(4)])
    letter = consumer.poll(10)
    consumer.close()
    assert letter is not None
    return dict(letter.headers() or [])


def test_what_is_produced_becomes_rows(outcome: Outcome) -> None:
    ping = {"latency": 16.183, "sent": 8, "source_offset": 0, "src_ip": "10.0.0.1"}
    assert outcome.rows["pings"] == [ping, ping]
    assert outcome.rows["windows"] == [
        {"path_id": 5, "src_pod": "p1"},
        {"path_id": 6, "src_pod": "p2"},
    ]
    assert outcome.rows["tenants"] == [{"src_tenant_id": "red", "dst_tenant_id": "blue"}]
    assert outcome.rows["anomalies"] == [{"path_id": 0xFF, "lost": 30}]
    assert outcome.rows["incidents"] == [
        {"component": "tor:asw-1", "explanation": "41 of 43 bad paths cross tor:asw-1"}
    ]


def test_a_bad_record_is_stored_with_line_and_column(outcome: Outcome) -> None:
    letter = outcome.rows["letters"][0]
    assert (letter["line"], letter["column"]) == (3, "src_port")
    assert letter["reason"] == "src_port: 70000 is not a port (0..65535)"


def test_a_malformed_message_goes_to_the_dead_letter_topic_and_table(outcome: Outcome) -> None:
    letter = outcome.rows["letters"][1]
    assert (letter["topic"], letter["line"], letter["raw"]) == ("skh.windows", 0, "FFFE")
    assert outcome.letter_headers["topic"] == b"skh.windows"
    assert b"bad header" in outcome.letter_headers["reason"]


def test_everything_is_counted_and_the_sink_is_ready(outcome: Outcome) -> None:
    assert outcome.ready is None
    assert outcome.values["skh_sink_rows_total", "pings"] == 2
    assert outcome.values["skh_sink_dead_letters_total", "skh.pings"] == 1
    assert outcome.values["skh_sink_dead_letters_total", "skh.windows"] == 1
    assert outcome.values["skh_sink_messages_total", "skh.windows"] == 3


def test_a_crash_between_insert_and_commit_leaves_no_duplicate_in_the_views(
    store: Store, cluster: tuple[Producer, str]
) -> None:
    producer, servers = cluster
    send(producer, ndjson(RECORD), window(), samples({}))
    crash = StoreRefused("the process ends here")
    crashing = Running(Faulty(store, 10**6, crash, after=True), servers)
    eventually(lambda: not crashing.thread.is_alive())
    with pytest.raises(StoreRefused):
        crashing.stop()
    tables = ("pings", "path_windows", "throughput")
    assert sum(total(store, each) for each in tables) == 1
    with running(store, servers):
        eventually(lambda: sum(total(store, each) for each in tables) == 4)
    for once in ("pings_unique", "path_windows_latest", "throughput FINAL"):
        assert total(store, once) == 1, once

    send(producer, ndjson({**RECORD, "dst_ip": "10.0.0.3"}))
    with running(store, servers) as run:
        eventually(lambda: total(store, "pings_unique") == 2)
        assert run.values()["skh_sink_messages_total", "skh.pings"] == 1, "the rest was committed"


def test_nothing_is_dropped_while_the_database_is_down(
    store: Store, cluster: tuple[Producer, str]
) -> None:
    producer, servers = cluster
    down = Faulty(store, 10**6, StoreUnavailable("http://db:8123/skh: it sleeps"))
    send(producer, ndjson(RECORD))
    with running(down, servers) as stopped:
        eventually(lambda: stopped.values()["skh_sink_insert_failures_total",] >= 1)
    with running(down, servers) as run:
        eventually(lambda: run.sink.not_ready() == "the database does not answer")
        eventually(lambda: run.values()["skh_sink_insert_failures_total",] >= 3)
        send(producer, ndjson({**RECORD, "dst_ip": "10.0.0.3"}))
        assert total(store, "pings") == 0
        down.failures = 0
        eventually(lambda: total(store, "pings") == 2)
        eventually(lambda: run.sink.not_ready() is None)


def test_a_database_that_refuses_ends_the_sink(store: Store, cluster: tuple[Producer, str]) -> None:
    producer, servers = cluster
    send(producer, ndjson(RECORD))
    run = Running(Faulty(store, 10**6, StoreRefused("no such table; run migrate")), servers)
    eventually(lambda: not run.thread.is_alive())
    with pytest.raises(StoreRefused, match="run migrate"):
        run.stop()
