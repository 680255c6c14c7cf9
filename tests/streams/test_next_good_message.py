"""Whatever lies on a topic, the next good message is judged and the offset moves: every consumer.

The stages are the real ones; what a localizer does with a message that it may believe is not asked
here.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec
import pyarrow as pa
import pytest
from builders.schemas.record_formats import encode_csv
from builders.streams.hostile_bytes import CONTENT_TYPES, anything, fuzzed, header_values
from builders.streams.operator_documents import OperatorBroker, maintenance, placement
from builders.streams.ping_records import START_S, content_type, message, ping, table
from builders.streams.sink_messages import ANOMALY, INCIDENT, RECORD, ndjson, window
from builders.streams.sink_messages import message as on_topic
from builders.streams.stages import (
    BatchEvent,
    Event,
    FixedFeed,
    RecordingLocalizer,
    RecordingProducer,
    no_incidents,
    windows_messages,
)
from hypothesis import given
from hypothesis import strategies as st

from localizer.localizer import Localizer
from schemas import topics
from schemas.documents import heartbeat
from schemas.documents.heartbeat import Heartbeat
from schemas.documents.incident import encode
from schemas.documents.topology import Host, Rnic, Switch, Topology
from schemas.wire import codecs, window_chunks
from store import migrate
from store.client import Store, open_store
from streams.heartbeats import Heartbeats
from streams.kafka.messages import InMessage
from streams.localize.stage import LocalizeStage
from streams.merge.output_merger import OutputMerger
from streams.readers import incidents
from streams.readers.operator_feed import OperatorFeed
from streams.sink.batch import Batcher, Message
from streams.sink.rows import Place
from streams.windowing.partition import PartitionWorker

ROWS = [ping(), ping(0.1, task_type="TRACEROUTE", route='["tor-1",null]'), ping(0.2, latency=7.5)]
ROWS[2]["extra_stats"] = '{"sent": 4, "lost": 1}'
GOOD_PINGS = (
    message(0, ROWS).value,
    message(0, ROWS[:1]).value,
    msgspec.json.encode(ROWS[0]),
    b"\n".join(map(msgspec.json.encode, ROWS)),
    msgspec.json.encode(ROWS),
    encode_csv(codecs.conform(table(ROWS)).batch),
)
BEAT = heartbeat.encode(
    Heartbeat("h1", START_S * 10**9, cpu_steal=0.5, scheduling_delay_us=3.0, version="1")
)
WINDOWS = windows_messages(20)

fuzz_pings = st.lists(
    st.tuples(anything(*GOOD_PINGS), st.sampled_from(CONTENT_TYPES) | st.text(max_size=5)),
    min_size=1,
    max_size=5,
)


@given(bad=fuzz_pings, first=st.booleans())
@fuzzed(120)
def test_a_partition_counts_every_record_and_judges_the_good_ones(
    bad: list[tuple[bytes, str]], first: bool
) -> None:
    worker = PartitionWorker(0, epoch=1)
    messages = [
        InMessage(offset, START_S * 1000, raw, content_type(kind))
        for offset, (raw, kind) in enumerate(bad)
    ]
    good = message(len(bad), [ping(0.5, src="h7"), ping(0.6, src="h8")])
    if first:  # in one step: decoding them together fails
        worker.step([*messages, good])
    else:
        worker.step(messages)
        before = worker.counts
        worker.step([good])
        after = worker.counts
        assert after.records - before.records == 2
        assert after.dead_lettered == before.dead_lettered
    worker.finish()
    counts = worker.counts
    assert counts.records == counts.judged + counts.late + counts.duplicate + counts.dead_lettered
    assert counts.records >= 2
    assert worker.needed_offset() > len(bad) - 1 or counts.held == 0
    assert worker.next_offset == len(bad) + 1


@given(bad=st.lists(anything(BEAT), min_size=1, max_size=6))
@fuzzed(120)
def test_the_heartbeat_after_bad_messages_is_published(bad: list[bytes]) -> None:
    async def story() -> None:
        producer, acked = RecordingProducer(), list[tuple[int, int]]()
        stage = Heartbeats(OutputMerger(producer))
        for offset, raw in enumerate([*bad, BEAT]):
            await stage.consume(Event(InMessage(offset, START_S * 1000, raw, {}), 0, acked))
        await stage.flush()
        assert [offset for _, offset in acked] == list(range(len(bad) + 1))
        beats = [o for o in producer.sent if o.topic == topics.WINDOWS.name]
        rows = [window_chunks.decode("heartbeats", each.value) for each in beats]
        found = [row for each in rows for row in each.to_pylist()]
        assert len(found) + stage.dead_lettered == len(bad) + 1
        assert any((r["node_sn"], r["time"]) == ("h1", START_S * 10**9) for r in found)

    asyncio.run(story())


header_changes = st.dictionaries(
    st.sampled_from([*window_chunks.Header._fields, "unknown"]), header_values, max_size=3
)


@given(
    bad=st.lists(
        st.tuples(
            st.sampled_from(WINDOWS),
            header_changes,
            st.none() | anything(*(each.value for each in WINDOWS[:8])),
        ),
        min_size=1,
        max_size=4,
    )
)
@fuzzed(120)
def test_the_localizer_gets_the_next_good_message(
    bad: list[tuple[InMessage, dict[str, bytes | None], bytes | None]],
) -> None:
    async def story() -> None:
        producer, acked = RecordingProducer(), list[tuple[int, int]]()
        made: list[RecordingLocalizer] = []

        def make(fabric: str) -> Any:
            made.append(RecordingLocalizer())
            return made[-1]

        stage = LocalizeStage(producer, make, no_incidents, FixedFeed())
        for offset, (good, changes, value) in enumerate(bad):
            headers = {**good.headers, **changes}
            raw = good.value if value is None else value
            known = {name: text for name, text in headers.items() if text is not None}
            await stage.consume(
                BatchEvent([InMessage(offset, START_S * 1000, raw, known)], 0, acked)
            )
        before = sum(len(each.observed) for each in made)
        assert before + stage.counts.dead_lettered == len(bad)
        await stage.consume(BatchEvent([WINDOWS[0]._replace(offset=len(bad))], 0, acked))
        assert sum(len(each.observed) for each in made) == before + 1
        assert len(producer.sent) == stage.counts.dead_lettered

    asyncio.run(story())


# --- on the embedded broker -------------------------------------------------------------------


def samples(strategy: st.SearchStrategy[bytes], count: int) -> list[bytes]:
    """Some examples of a strategy, the same at every run."""
    found: list[bytes] = []

    @given(strategy)
    @fuzzed(count)
    def collect(raw: bytes) -> None:
        found.append(raw)

    collect()
    return found


@pytest.fixture
def broker() -> OperatorBroker:
    return OperatorBroker()


@pytest.fixture
def feed(broker: OperatorBroker) -> Iterator[OperatorFeed]:
    reader = OperatorFeed(broker.kafka)
    yield reader
    reader.close()


TOPOLOGY = Topology(
    fabric="f1", hosts=[Host("h1", [Rnic("r1", 0, "a1")])], valid_from="2026-01-01T00:00:00Z",
    switches=[Switch("a1", "asw", addresses=["10.0.0.1"]), Switch("s1", "dsw")],
    links=[("a1", "s1")],
)  # fmt: skip


def test_the_operator_feed_reads_on_and_bad_documents_are_dead_letters(
    broker: OperatorBroker, feed: OperatorFeed
) -> None:
    good = [placement("c-good", "ready"), maintenance("tor:good"), TOPOLOGY]
    put = broker.embedded.produce
    published = (topics.PLACEMENT, topics.MAINTENANCE, topics.TOPOLOGY)
    for topic, document in zip(published, good, strict=True):
        for number, raw in enumerate(samples(anything(msgspec.json.encode(document)), 150)):
            put(topic.name, f"k{number}", {}, raw)
        put(topic.name, "tower", {}, b'{"reason":' + b"[" * 100_000 + b"]" * 100_000 + b"}")
        put(topic.name, "long", {}, b'{"reason":"' + b"x" * 900_000 + b'"}')
    broker.publish(*good)

    async def story() -> None:
        await feed.begin()
        assert all(each in feed.known for each in good)
        refused = feed.refused.total()
        letters = feed.new_dead_letters()
        assert refused >= 4
        assert 0 < len(letters) <= refused
        assert {dict(each.headers)["line"] for each in letters} == {b"0"}
        await feed.begin()  # as after every rebalance
        assert (feed.new_dead_letters(), feed.refused.total()) == ([], refused), "reported once"

    asyncio.run(story())


INCIDENT_TIMES = ("opened_at", "detected_at", "updated_at", "closed_at")


def test_incidents_are_restored_beside_invalid_ones(broker: OperatorBroker) -> None:
    good = msgspec.structs.replace(INCIDENT, incident_id="GOOD", version=2**30)
    put = broker.embedded.produce
    for number, raw in enumerate(samples(anything(encode(INCIDENT)), 200)):
        put(topics.INCIDENTS.name, f"k{number}", {}, raw)
    for name in INCIDENT_TIMES:
        for text in ("x", "9999-12-31T23:59:59Z", "2261-01-01T00:00:00Z", ""):
            document = msgspec.structs.asdict(INCIDENT) | {
                name: text,
                "incident_id": f"{name}{text}",
            }
            put(topics.INCIDENTS.name, f"{name}{text}", {}, msgspec.json.encode(document))
    tower = encode(good).replace(b'"evidence":{', b'"evidence":{"x":' + b"[" * 10**5 + b"]" * 10**5)
    put(topics.INCIDENTS.name, "tower", {}, tower)
    put(topics.INCIDENTS.name, "GOOD", {}, encode(good))
    broker.publish()

    async def story() -> None:
        refused: Counter[str] = Counter()
        found = await incidents.read_incidents(broker.kafka, refused)
        assert good in found
        assert refused[topics.INCIDENTS.name] >= 17
        assert not any(each.incident_id.startswith(INCIDENT_TIMES) for each in found)
        localizer = Localizer()
        localizer.restore([each for each in found if each.fabric == good.fabric])
        localizer.observe(
            window_chunks.Header("punctuation", good.fabric, 5, 5, watermark_ms=5000), None
        )

    asyncio.run(story())


# --- the sink ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    opened = open_store(f"chdb:{tmp_path_factory.mktemp('sink')}")
    migrate.migrate(opened)
    yield opened
    opened.close()


sunk = st.one_of(
    st.tuples(st.just("skh.pings"), anything(*GOOD_PINGS)),
    st.tuples(st.just("skh.windows"), anything(window().value)),
    st.tuples(st.just("skh.anomalies"), anything(encode(ANOMALY))),
    st.tuples(st.just("skh.incidents"), anything(encode(INCIDENT))),
    st.tuples(st.just("skh.dead-letter"), anything(b"x")),
)


@given(bad=st.lists(st.tuples(sunk, st.sampled_from(CONTENT_TYPES), header_changes), max_size=12))
@fuzzed(40)
def test_the_sink_stores_the_good_messages_among_bad_ones(
    store: Store, bad: list[tuple[tuple[str, bytes], str, dict[str, bytes | None]]]
) -> None:
    for name in ("pings", "path_windows", "anomalies", "incidents"):
        store.execute(f"TRUNCATE TABLE {name}")
    batcher = Batcher()
    for offset, ((topic, raw), kind, changes) in enumerate(bad):
        headers = dict(window().headers) if topic == "skh.windows" else {}
        headers |= {topics.CONTENT_TYPE: kind.encode()}
        headers |= {name: value or b"" for name, value in changes.items()}
        batcher.add(Message(Place(topic, 0, offset), raw, headers), 0.0)
    last = len(bad)
    batcher.add(ndjson({**RECORD, "src_zone_id": "good"}, offset=last), 0.0)
    batcher.add(window(path_id=77, pod="good", offset=last), 0.0)
    batcher.add(on_topic("skh.anomalies", encode(ANOMALY), last), 0.0)
    batcher.add(on_topic("skh.incidents", encode(INCIDENT), last), 0.0)
    batch = batcher.collect()
    for name, rows in batch.tables.items():
        store.insert(name, rows)
    for table_name, where in (
        ("pings", "src_zone_id = 'good'"), ("path_windows", "src_pod = 'good'"),
        ("anomalies", "src_node_sn = 'h1'"), ("incidents", "incident_id = 'ABC'"),
    ):  # fmt: skip
        assert store.rows(f"SELECT 1 AS one FROM {table_name} WHERE {where}"), table_name
    assert batch.offsets["skh.pings", 0] == last + 1


# --- Arrow types ------------------------------------------------------------------------------

one = pa.array([1], pa.int32())
STRANGE: dict[str, pa.Array] = {
    "unknown zone on another planet": pa.array([5], pa.timestamp("us", "Mars/Phobos")),
    "zone that is no text": pa.array([5], pa.timestamp("us", "\0")),
    "dictionary of times": pa.array([2**62], pa.timestamp("s")).dictionary_encode(),
    "dictionary of dictionaries": pa.DictionaryArray.from_arrays(
        pa.array([0], pa.int8()), pa.array(["x"]).dictionary_encode()
    ),
    "list of dictionaries": pa.array([["x"]], pa.list_(pa.dictionary(pa.int8(), pa.string()))),
    "sparse union": pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.array(["x"])]),
    "dense union": pa.UnionArray.from_dense(
        pa.array([0], pa.int8()), pa.array([0], pa.int32()), [pa.array(["x"])]
    ),
    "run ends": pa.RunEndEncodedArray.from_arrays(one, pa.array(["x"])),
    "text view": pa.array(["x"], pa.string_view()),
    "bytes view": pa.array([b"\xff"], pa.binary_view()),
    "list view": pa.array([["x"]], pa.list_view(pa.string())),
    "map": pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64())),
    "uuid": pa.ExtensionArray.from_storage(pa.uuid(), pa.array([b"x" * 16], pa.binary(16))),
    "json": pa.ExtensionArray.from_storage(pa.json_(pa.string()), pa.array(["{}"])),
    "fixed bytes": pa.array([b"\xff\xff"], pa.binary(2)),
    "large text": pa.array(["x"], pa.large_string()),
    "bytes that are no text": pa.array([b"\xff"]),
    "duration": pa.array([2**62], pa.duration("ns")),
    "months": pa.array([pa.scalar((1, 2, 3), pa.month_day_nano_interval())]),
    "date": pa.array([2**31 - 1], pa.date32()),
    "time of day": pa.array([2**62], pa.time64("ns")),
    "half float": pa.array([1.5], pa.float16()),
    "decimal": pa.array([10**30], pa.decimal128(38, 0)),
    "wide decimal": pa.array([10**70], pa.decimal256(76, 0)),
    "unsigned": pa.array([2**64 - 1], pa.uint64()),
    "negative": pa.array([-(2**63)], pa.int64()),
    "list of lists of lists": pa.array([[[["x"]]]]),
    "list of times": pa.array([[2**62]], pa.list_(pa.timestamp("s"))),
    "struct": pa.array([{"a": 1, "b": [2.5, None]}]),
    "struct without fields": pa.array([{}]),
    "fixed list": pa.array([[1, 2]], pa.list_(pa.int8(), 2)),
    "boolean": pa.array([True]),
    "infinite": pa.array([float("inf")]),
    "nothing": pa.nulls(1),
}
COLUMNS = ("src_ip", "ping_time", "task_type", "dial", "latency", "src_port", "sent", "route",
           "extra_stats", "src_idc", "unknown")  # fmt: skip


@pytest.mark.parametrize("strange", STRANGE)
def test_no_arrow_type_in_any_column_harms_the_messages_beside_it(strange: str) -> None:
    plain = table([ping()])
    raws = []
    for name in COLUMNS:
        at = plain.schema.get_field_index(name)
        batch = (
            plain.append_column(name, STRANGE[strange])
            if at < 0
            else plain.set_column(at, name, STRANGE[strange])
        )
        twice = batch.append_column(name, STRANGE[strange])
        raws += [codecs.encode_arrow(each) for each in (batch, batch.select([]), twice)]
    worker = PartitionWorker(0, epoch=1)
    good = codecs.encode_arrow(table([ping(0.5, src="h7")]))
    values = [each for raw in raws for each in (raw, good)]
    arrow = content_type(topics.ARROW)
    worker.step([InMessage(n, START_S * 1000, raw, arrow) for n, raw in enumerate(values)])
    worker.finish()
    counts = worker.counts
    assert counts.records == counts.judged + counts.late + counts.duplicate + counts.dead_lettered
    assert counts.judged + counts.duplicate + counts.late >= len(raws), "every good message"
    assert counts.records <= 2 * len(values)
