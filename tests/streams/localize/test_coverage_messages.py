"""skh.coverage: once a minute, of each fabric whose topology is known."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from builders.clusters import START_S, Cluster, Second
from builders.streams.stages import BatchEvent, FixedFeed, RecordingProducer, no_incidents
from builders.streams.stream_workers import worker_of

from localizer.fabric.path_table import Path
from localizer.localizer import Localizer
from schemas import topics
from schemas.documents import coverage
from schemas.documents.coverage import Coverage
from schemas.documents.times import rfc3339
from schemas.documents.topology import Topology
from schemas.metrics import Sample
from schemas.metrics import stream as metrics
from schemas.wire import window_chunks
from streams import counters
from streams.errors import PublishError
from streams.kafka.messages import InMessage, OutMessage
from streams.localize.retention import RETENTION
from streams.localize.stage import LocalizeStage

pytestmark = pytest.mark.anyio

CLUSTER = Cluster()
SECONDS = 2 * RETENTION.coverage_every_s + 10


def first_rail_only(path: Path, _: int) -> Second | None:
    return Second() if path.src_real_ip.endswith(".0") else None


async def judged(
    topology: Topology | None, producer: RecordingProducer | None = None
) -> tuple[LocalizeStage, list[Coverage]]:
    """The stage, and what it said of coverage, after two minutes without probes on one rail."""
    producer = producer or RecordingProducer()
    stage = LocalizeStage(
        producer, lambda _: Localizer(topology=topology), no_incidents, FixedFeed()
    )
    offset = 0
    for at in range(SECONDS):
        for header, batch, body in CLUSTER.second(at, first_rail_only):
            value = body if batch is None else window_chunks.encode(batch)
            raw = InMessage(offset, (START_S + at) * 1000, value, dict(header.to_kafka()))
            await stage.consume(BatchEvent([raw], 0, []))
            offset += 1
        await stage.tick()
        await asyncio.sleep(0)  # it is published beside the stream
    sent = [each for each in producer.sent if each.topic == topics.COVERAGE.name]
    assert {each.key for each in sent} <= {b"f1"}
    return stage, [coverage.parse(each.value) for each in sent]


async def test_what_no_probe_crosses_is_published_each_minute() -> None:
    stage, found = await judged(CLUSTER.topology)
    assert [each.at for each in found] == [
        rfc3339((START_S + minute * RETENTION.coverage_every_s + 1) * 10**9) for minute in (1, 2)
    ]
    newest = found[-1]
    rnics = [f"rnic:r{host}.1" for host in range(1, CLUSTER.hosts + 1)]
    assert {*rnics, "tor:asw11", "tor:asw21"} < {*newest.uncovered_names}
    assert "rnic:r1.0" not in newest.uncovered_names
    assert newest.uncovered == len(newest.uncovered_names) < newest.components
    assert newest.untraced == 0, "no route is known"
    assert newest.paths == sum(each.src_real_ip.endswith(".0") for each in CLUSTER.paths)
    assert stage.coverage() == [newest]
    samples = list(counters.samples(worker_of(stage, FixedFeed())))
    assert Sample(metrics.STREAM_UNCOVERED, newest.uncovered, ("f1",)) in samples
    assert Sample(metrics.STREAM_UNTRACED, 0, ("f1",)) in samples


async def test_without_a_topology_nothing_is_said() -> None:
    stage, found = await judged(None)
    assert (stage.coverage(), found) == ([], [])


class WithoutTheTopic(RecordingProducer):
    """A broker that an older release has set up."""

    async def send(self, messages: Sequence[OutMessage]) -> None:
        if any(each.topic == topics.COVERAGE.name for each in messages):
            raise PublishError(topics.COVERAGE.name, "unknown topic")
        await super().send(messages)


async def test_a_broker_without_the_topic_holds_up_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    stage, found = await judged(CLUSTER.topology, WithoutTheTopic())
    assert found == []
    assert stage.judged_s("f1") == START_S + SECONDS - 1
    assert "topics --create" in caplog.text
