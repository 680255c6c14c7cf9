"""An undisturbed run without any broker: what every other run must agree with."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from localizer.localizer import Localizer
from schemas import topics
from schemas.documents.incident import Incident
from schemas.documents.topology import Topology
from schemas.wire import window_chunks
from streams.kafka.messages import InMessage, OutMessage
from streams.windowing.chunk_writer import heartbeat_chunks
from streams.windowing.partition import PartitionWorker
from testbed.simulator import publish
from testbed.simulator.simulator import Second

PARTITIONS = topics.PINGS.partitions


def judge(topology: Topology, seconds: Sequence[Second]) -> list[Incident]:
    """Every incident document, in order."""
    workers = [PartitionWorker(partition, epoch=1) for partition in range(PARTITIONS)]
    localizer = Localizer(topology=topology)
    found: list[Incident] = []
    offsets: defaultdict[int, int] = defaultdict(int)
    beats = iter(seconds)
    headers = {topics.CONTENT_TYPE: topics.ARROW.encode()}
    heard = 0
    for message in publish.published(seconds):
        while heard * 10**9 + seconds[0].start_ns < message.publish_ns and heard < len(seconds):
            second = next(beats)
            heard += 1
            for out in heartbeat_chunks(0, topology.fabric, second.heartbeats):
                found += _observe(localizer, out)
        partition = publish.partition_of(message.node_sn, PARTITIONS)
        incoming = InMessage(
            offsets[partition], message.publish_ns // 10**6, message.value, headers
        )
        offsets[partition] += 1
        for out in workers[partition].step([incoming]):
            found += _observe(localizer, out)
    for worker in workers:
        for out in worker.finish():
            found += _observe(localizer, out)
    return found + localizer.finish().incidents


def _observe(localizer: Localizer, out: OutMessage) -> list[Incident]:
    if out.topic != topics.WINDOWS.name:
        raise ValueError("a good record became a dead letter")
    header = window_chunks.Header.from_kafka(dict(out.headers))
    if header.kind == "punctuation":
        return localizer.observe(header, None, out.value).incidents
    return localizer.observe(header, window_chunks.decode(header.kind, out.value)).incidents
