"""Malicious senders among honest ones: the incidents are those of the honest run, to the byte.

Everything between Kafka and the incidents is real: Ingest, Heartbeats, the merger, the localizer.
One sender has a valid key, of a host of its own; another one has none.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from builders.streams.stages import BatchEvent, Event

from localizer.localizer import Localizer
from schemas import topics
from schemas.documents import heartbeat, incident
from schemas.documents.heartbeat import Heartbeat
from schemas.documents.topology import Topology
from schemas.signing.headers import SENDER
from schemas.signing.keys import HostKey, KeyRing
from schemas.signing.signature import sign
from schemas.wire import codecs, window_chunks
from schemas.wire.arrow.stream import parse_arrow
from schemas.wire.ping_columns import TYPES
from streams.admission.admission import Admission
from streams.admission.ownership import Ownership
from streams.heartbeats import Heartbeats
from streams.ingest import Ingest
from streams.kafka.messages import InMessage, OutMessage
from streams.merge.output_merger import OutputMerger
from testbed.scenarios import scenario
from testbed.simulator import publish
from testbed.simulator.simulator import Second

PINGS, BEATS = topics.PINGS.name, topics.HEARTBEATS.name
START_NS = 1_780_000_000 * 10**9
SECOND = 10**9
YEAR_NS = 365 * 86_400 * SECOND
SECONDS = 92  # the demo's first fault, an rnic that is down, begins at 75
RING = KeyRing({"k1": b"m" * 32})
EVIL = "host-evil"

#: topic, message; in the order of arrival
Log = list[tuple[str, InMessage]]


def signed(
    topic: str, key: HostKey, payload: bytes, at_ns: int, content_type: str = topics.ARROW
) -> tuple[str, InMessage]:
    headers = sign(key, topic, content_type, payload, at_ns)
    return topic, InMessage(0, at_ns // 10**6, payload, headers, key.node_sn.encode())


def honest(seconds: Sequence[Second], fabric: str) -> Log:
    """What all agents publish, signed, in the order of its arrival."""
    log = [
        signed(BEATS, RING.host_key(fabric, beat.node_sn), heartbeat.encode(beat), beat.time,
               topics.JSON)
        for second in seconds for beat in second.heartbeats
    ] + [
        signed(PINGS, RING.host_key(fabric, message.node_sn), message.value, message.publish_ns)
        for message in publish.published(seconds)
    ]  # fmt: skip
    return sorted(log, key=lambda each: each[1].time_ms)


class Sent:
    """A producer that keeps the messages of the stage."""

    def __init__(self) -> None:
        self.sent: list[OutMessage] = []

    async def send(self, messages: Sequence[OutMessage]) -> None:
        self.sent += messages


class Run:
    """One partition of each topic, through both stages, to the localizers of all fabrics."""

    def __init__(self, log: Log, topology: Topology, admission: Admission) -> None:
        self.letters: list[dict[str, bytes]] = []
        self.incidents: list[bytes] = []
        self.fabrics: set[str] = set()
        self._localizer = Localizer(topology=topology)
        self._fabric = topology.fabric
        asyncio.run(self._play(log, admission))

    async def _play(self, log: Log, admission: Admission) -> None:
        now_ns = 0
        output = Sent()
        merged = OutputMerger(output)
        ingest = Ingest(merged, clock_ns=lambda: now_ns, admission=admission)
        beats = Heartbeats(merged, admission=admission)
        offsets: Counter[str] = Counter()
        for topic, message in log:
            if message.time_ms // 1000 != now_ns // SECOND:
                await beats.flush()
                await ingest.flush()
                self._judge(output)
            now_ns = max(now_ns, message.time_ms * 10**6)
            numbered = message._replace(offset=offsets[topic])
            if topic == BEATS:
                await beats.consume(Event(numbered, 0, []))
            else:
                await ingest.consume(BatchEvent([numbered], 0, []))
            offsets[topic] += 1
        await beats.flush()
        await ingest.flush()
        self._judge(output)
        self.counts = ingest.counts
        self._say(self._localizer.finish().incidents)

    def _judge(self, output: Sent) -> None:
        sent, output.sent = output.sent, []
        for out in sent:
            if out.topic == topics.DEAD_LETTER.name:
                self.letters.append(dict(out.headers))
                continue
            header = window_chunks.Header.from_kafka(dict(out.headers))
            self.fabrics.add(header.fabric)
            if header.fabric != self._fabric:
                continue
            batch = None
            if header.kind != "punctuation":
                batch = window_chunks.decode(header.kind, out.value)
            body = out.value if batch is None else b""
            self._say(self._localizer.observe(header, batch, body).incidents)

    def _say(self, found: list[incident.Incident]) -> None:
        self.incidents += [incident.encode(each) for each in found if EVIL not in each.component]


class Attack:
    """Forged messages, and how many of each kind must be refused."""

    def __init__(self, seconds: Sequence[Second], fabric: str, log: Log) -> None:
        self.log: Log = []
        self.refused: Counter[str] = Counter()
        self._fabric = fabric
        self._key = RING.host_key(fabric, EVIL)
        hosts = sorted({beat.node_sn for second in seconds for beat in second.heartbeats})
        rows = parse_arrow(next(m.value for topic, m in log if topic == PINGS)).batch.slice(0, 20)
        for second in seconds[60::5]:
            at_ns = second.start_ns + SECOND // 2
            for number, host in enumerate(hosts[:8]):
                self.beats(host, at_ns + number)
                self.records(host, rows, at_ns + number)
            self.fabrics(rows, at_ns, 430)
            self.times(rows, at_ns)
            self.replays(log, at_ns)

    def _put(self, found: tuple[str, InMessage], reason: str, count: int = 1) -> None:
        self.log.append(found)
        self.refused[reason] += count

    def beats(self, host: str, at_ns: int) -> None:
        """Of others: starved, gone, far ahead; with the own key and without any."""
        for beat in (
            Heartbeat(host, at_ns, fabric=self._fabric, cpu_steal=1.0),
            Heartbeat(host, at_ns, fabric=self._fabric, alive=False),
            Heartbeat(host, at_ns + YEAR_NS, fabric=self._fabric),
        ):
            raw = heartbeat.encode(beat)
            self._put(signed(BEATS, self._key, raw, at_ns, topics.JSON), "foreign_record")
            plain = InMessage(0, at_ns // 10**6, raw, {}, host.encode())
            self._put((BEATS, plain), "unsigned")
            _, stolen = signed(BEATS, self._key, raw, at_ns, topics.JSON)
            claimed = stolen.headers | {SENDER: host.encode()}
            self._put((BEATS, stolen._replace(headers=claimed, key=host.encode())),
                      "bad_signature")  # fmt: skip

    def records(self, host: str, rows: pa.RecordBatch, at_ns: int) -> None:
        """In a host's name: all is well a hundred times over, nothing is, another's container."""
        for changed in (
            {"src_node_sn": host, "dial": "success", "sent": 100, "lost": 0},
            {"src_node_sn": host, "dial": "timeout", "sent": 100, "lost": 100, "latency": None},
            {"src_node_sn": EVIL},  # but the containers and rnics of the host
            {"src_node_sn": "host-invented", "src_real_ip": "9.9.9.9"},
        ):
            raw = codecs.encode_arrow(_with(rows, {"ping_time": at_ns, **changed}))
            self._put(signed(PINGS, self._key, raw, at_ns), "foreign_record", rows.num_rows)
            plain = {topics.CONTENT_TYPE: topics.ARROW.encode()}
            self._put((PINGS, InMessage(0, at_ns // 10**6, raw, plain, host.encode())), "unsigned")

    def fabrics(self, rows: pa.RecordBatch, at_ns: int, count: int) -> None:
        """Invented fabrics, as records and as signatures."""
        for number in range(count):
            name = f"fabric-{at_ns}-{number}"
            raw = codecs.encode_arrow(_with(rows.slice(0, 1), {
                "ping_time": at_ns, "src_idc": name, "src_node_sn": EVIL,
            }))  # fmt: skip
            self._put(signed(PINGS, self._key, raw, at_ns), "foreign_record")
            beat = heartbeat.encode(Heartbeat(EVIL, at_ns, fabric=name))
            key = HostKey("k1", name, EVIL, self._key.secret)
            self._put(signed(BEATS, key, beat, at_ns, topics.JSON), "bad_signature")

    def times(self, rows: pa.RecordBatch, at_ns: int) -> None:
        """A signature a year ahead, and of a key that the ring does not have."""
        own = _with(rows, {"ping_time": at_ns + YEAR_NS, "src_node_sn": EVIL})
        raw = codecs.encode_arrow(own)
        _, ahead = signed(PINGS, self._key, raw, at_ns + YEAR_NS)
        self._put((PINGS, ahead._replace(time_ms=at_ns // 10**6)), "future")
        stranger = HostKey("k9", self._fabric, EVIL, self._key.secret)
        self._put(signed(PINGS, stranger, raw, at_ns), "unknown_sender")

    def replays(self, log: Log, at_ns: int) -> None:
        """Messages that were accepted before, word by word: just now, and long ago."""
        past = [each for each in log if each[1].time_ms < at_ns // 10**6]
        for topic, message in [*past[-40:], *past[:40], *past[len(past) // 2 :][:40]]:
            found = (topic, message._replace(time_ms=at_ns // 10**6))
            if topic == PINGS:
                self._put(found, "replayed")
            else:  # heartbeats: the localizer takes no notice
                self.log.append(found)


def _with(rows: pa.RecordBatch, changed: dict[str, Any]) -> pa.RecordBatch:
    table = pa.Table.from_batches([rows])
    for name, value in changed.items():
        typed = pa.array([value] * len(table), TYPES[name])
        at = table.schema.get_field_index(name)
        table = table.append_column(name, typed) if at < 0 else table.set_column(at, name, typed)
    return table.combine_chunks().to_batches()[0]


@pytest.fixture(scope="module")
def world() -> tuple[Topology, list[Second], Log]:
    simulation = scenario.load("demo").simulation(seed=7, start_ns=START_NS)
    seconds = list(simulation.seconds(SECONDS))
    return simulation.topology, seconds, honest(seconds, simulation.topology.fabric)


def admission(topology: Topology) -> Admission:
    return Admission(lambda: RING, ownership=Ownership(topology))


@pytest.mark.slow
def test_malicious_senders_change_no_incident_of_other_senders(
    world: tuple[Topology, list[Second], Log],
) -> None:
    topology, seconds, log = world
    plain = Run(log, topology, guard := admission(topology))
    assert any(b'"P0"' in each for each in plain.incidents), "else this proves nothing"
    assert not any(guard.refused.values())
    assert not plain.letters

    attack = Attack(seconds, topology.fabric, log)
    mixed = sorted([*log, *attack.log], key=lambda each: each[1].time_ms)
    attacked = Run(mixed, topology, guard := admission(topology))

    assert attacked.incidents == plain.incidents
    assert {k: v for k, v in guard.refused.items() if v} == dict(attack.refused)
    assert attacked.fabrics == {topology.fabric}, "an invented fabric reaches no localizer"
    assert attacked.counts.judged == plain.counts.judged
