"""An undisturbed run without any broker: what every other run must agree with."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import groupby

from evaluation.chaos.load import Outgoing
from localizer.localizer import Localizer
from schemas import topics
from schemas.documents import heartbeat
from schemas.documents.incident import Incident
from schemas.documents.topology import Topology
from schemas.wire import window_chunks
from streams.kafka.messages import InMessage, OutMessage
from streams.windowing.chunk_writer import heartbeat_chunks
from streams.windowing.partition import PartitionWorker
from testbed.simulator import publish

PARTITIONS = topics.PINGS.partitions


def judge(topology: Topology, messages: Sequence[Outgoing]) -> list[Incident]:
    """Every incident document, in order; messages in the order of their publication."""
    workers = [PartitionWorker(partition, epoch=1) for partition in range(PARTITIONS)]
    localizer = Localizer(topology=topology)
    found: list[Incident] = []
    offsets: defaultdict[int, int] = defaultdict(int)
    headers = {topics.CONTENT_TYPE: topics.ARROW.encode()}
    for (_, topic), together in groupby(messages, key=lambda each: each[:2]):
        if topic == topics.HEARTBEATS.name:
            beats = [heartbeat.decode(each.value) for each in together]
            for out in heartbeat_chunks(0, topology.fabric, beats):
                found += _observe(localizer, out)
            continue
        for each in together:
            partition = publish.partition_of(each.node_sn, PARTITIONS)
            arrived_ms = each.publish_ns // 10**6
            incoming = InMessage(offsets[partition], arrived_ms, each.value, headers)
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
