"""A simulated cluster over several partitions: interleavings, batching, restarts."""

from __future__ import annotations

import itertools
import random
from collections import defaultdict
from collections.abc import Callable

import pyarrow as pa
import pytest
from builders.schemas.release_files import earlier, later

from localizer.localizer import Localizer
from schemas import topics
from schemas.documents.incident import Incident
from schemas.documents.topology import Topology
from schemas.wire import window_chunks
from streams.kafka.messages import InMessage, OutMessage
from streams.windowing.partition import PartitionWorker
from testbed.scenarios import scenario
from testbed.scenarios.scenario import FaultPlan
from testbed.simulator import publish

SEED = 11
SECONDS = 75
START_NS = 1_780_000_000 * 10**9
PARTITIONS = 3
HEADERS = {topics.CONTENT_TYPE: topics.ARROW.encode()}

Step = list[OutMessage]


class PingTopic:
    """What every partition's windower says about a small cluster with two faults."""

    def __init__(self) -> None:
        plan = scenario.load("small")
        simulation = plan.simulation(seed=SEED, start_ns=START_NS)
        faults = [
            FaultPlan(kind="link_loss", component="any tor-spine link", at=20, lasting=20,
                      magnitude=0.3),
            FaultPlan(kind="rnic_down", component="any rnic", at=50),
        ]  # fmt: skip
        simulation = simulation.with_faults(scenario.place(faults, simulation, SEED))
        self.topology: Topology = simulation.topology
        self.culprits = [fault.component for fault in simulation.faults]
        seconds = list(simulation.seconds(SECONDS))
        self.beats = [(s.start_ns, s.heartbeats) for s in seconds]
        self.incoming: defaultdict[int, list[InMessage]] = defaultdict(list)
        for message in publish.published(seconds):
            incoming = self.incoming[publish.partition_of(message.node_sn, PARTITIONS)]
            at_ms = message.publish_ns // 10**6
            incoming.append(InMessage(len(incoming), at_ms, message.value, HEADERS))

    def windows(self, partition: int, *, step: int = 1, epoch: int = 1) -> list[Step]:
        """What one partition publishes, step by step."""
        worker = PartitionWorker(partition, epoch)
        incoming = self.incoming[partition]
        out = [worker.step(incoming[n : n + step]) for n in range(0, len(incoming), step)]
        return [*out, worker.finish()]


@pytest.fixture(scope="module")
def topic() -> PingTopic:
    return PingTopic()


@pytest.fixture(scope="module")
def windows(topic: PingTopic) -> list[list[Step]]:
    return [topic.windows(partition) for partition in range(PARTITIONS)]


def judge(
    topic: PingTopic, said: list[OutMessage], localizer: Localizer | None = None
) -> list[Incident]:
    """Incidents of messages without heartbeats; all hosts of this cluster live."""
    one = localizer or Localizer(topology=topic.topology)
    found: list[Incident] = []
    for message in said:
        header = window_chunks.Header.from_kafka(dict(message.headers))
        if header.kind == "punctuation":
            found += one.observe(header, None, message.value).incidents
        else:
            found += one.observe(header, window_chunks.decode(header.kind, message.value)).incidents
    return found


def in_order(windows: list[list[Step]], ahead: int = 0, seed: int = 0) -> list[OutMessage]:
    """All messages by event time; each step comes up to ``ahead`` seconds late."""
    rng = random.Random(seed)
    order = []
    for number, steps in enumerate(windows):
        due = 0.0
        for at, step in enumerate(steps):
            if step:
                header = window_chunks.Header.from_kafka(dict(step[-1].headers))
                due = max(due, header.watermark_ms / 1000 + rng.random() * ahead)
            order.append((due, number, at))
    return [message for _, number, at in sorted(order) for message in windows[number][at]]


def core(found: list[Incident]) -> set[tuple[object, ...]]:
    last = {i.incident_id: i for i in found}
    return {
        (i.incident_id, i.component, i.symptom, i.state, i.opened_at, i.detected_at, i.closed_at)
        for i in last.values()
    }


def test_both_faults_are_named_from_three_partitions(
    topic: PingTopic, windows: list[list[Step]]
) -> None:
    found = judge(topic, in_order(windows))
    last = {i.incident_id: i for i in found if i.parent is None}.values()
    assert len(last) == 2
    assert all(
        culprit in incident.tie_set
        for culprit, incident in zip(topic.culprits, last, strict=True)
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
def test_how_partitions_interleave_does_not_matter(
    topic: PingTopic, windows: list[list[Step]], seed: int
) -> None:
    # Each partition begins before the first second is judged; from then on they may drift apart.
    assert core(judge(topic, in_order(windows, ahead=15, seed=seed))) == core(
        judge(topic, in_order(windows))
    )


@pytest.mark.parametrize("step", [20])
def test_how_a_partition_is_read_in_batches_does_not_matter(
    topic: PingTopic, windows: list[list[Step]], step: int
) -> None:
    batched = [topic.windows(partition, step=step) for partition in range(PARTITIONS)]
    assert core(judge(topic, in_order(batched))) == core(judge(topic, in_order(windows)))


def of_release(steps: list[Step], form: Callable[[pa.RecordBatch], pa.RecordBatch]) -> list[Step]:
    """What a worker of another release would have published."""
    return [[_in_form(each, form) for each in step] for step in steps]


def _in_form(message: OutMessage, form: Callable[[pa.RecordBatch], pa.RecordBatch]) -> OutMessage:
    header = window_chunks.Header.from_kafka(dict(message.headers))
    if header.kind == "punctuation":
        return message
    batch = window_chunks.decode(header.kind, message.value)
    return message._replace(value=window_chunks.encode(form(batch)))


def test_partitions_windowed_by_three_releases_are_judged_as_by_one(
    topic: PingTopic, windows: list[list[Step]]
) -> None:
    own, former, next_one = windows
    mixed = [own, of_release(former, earlier), of_release(next_one, later)]
    assert mixed != windows
    found = judge(topic, in_order(mixed))
    assert {each.component for each in found}
    assert core(found) == core(judge(topic, in_order(windows)))


@pytest.mark.parametrize("share", [0.3, 0.45, 0.8])
def test_a_worker_that_takes_over_from_the_commit_changes_no_incident(
    topic: PingTopic, windows: list[list[Step]], share: float
) -> None:
    """Its first owner dies after some steps; the next one reads again what was not committed."""
    first = PartitionWorker(0, epoch=1)
    steps = topic.incoming[0]
    cut = int(share * len(steps))
    before = [first.step([message]) for message in steps[:cut]]
    again = PartitionWorker(0, epoch=2)
    after = [again.step([message]) for message in steps[first.needed_offset() :]]
    both = [*before, *after, again.finish()]
    assert core(judge(topic, in_order([both, *windows[1:]]))) == core(
        judge(topic, in_order(windows))
    )


@pytest.mark.parametrize("share", [0.35, 0.55, 0.85])
def test_a_localizer_that_restarts_changes_no_incident(
    topic: PingTopic, windows: list[list[Step]], share: float
) -> None:
    said = in_order(windows)
    before = judge(topic, said[: int(share * len(said))])
    after = Localizer(topology=topic.topology)
    after.restore(list({i.incident_id: i for i in before}.values()))
    assert core(before + judge(topic, said, after)) == core(judge(topic, said))


def test_a_replay_of_the_topic_is_exact(topic: PingTopic, windows: list[list[Step]]) -> None:
    said = in_order(windows)
    assert judge(topic, said) == judge(topic, said)


def test_without_a_topology_the_same_places_are_blamed(
    topic: PingTopic, windows: list[list[Step]]
) -> None:
    found = judge(topic, in_order(windows), Localizer())
    last = {i.incident_id: i for i in found if i.parent is None}.values()
    blamed = set(itertools.chain.from_iterable(i.tie_set for i in last))
    assert {*topic.culprits} <= blamed, "switches and links are learnt from traceroutes"
