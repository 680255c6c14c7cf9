"""What a stage asks the broker when it starts: incidents so far, and how much there is to read."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any, Final

import msgspec
from confluent_kafka import Consumer, KafkaException, TopicPartition

from schemas import topics
from schemas.incident import Incident, decode_incident
from streams.errors import BrokerUnreachable
from streams.reading import Extent

_log = logging.getLogger(__name__)
_TIMEOUT_S: Final = 10.0


async def read_incidents(kafka: Mapping[str, Any]) -> list[Incident]:
    """Newest version of every incident on the topic, from its beginning to its present end."""
    return await asyncio.to_thread(_read, dict(kafka))


async def read_extents(
    kafka: Mapping[str, Any], group: str, topic: str, partitions: set[int]
) -> dict[int, Extent]:
    """Where a group goes on in some partitions, and where they end now."""
    return await asyncio.to_thread(_read_extents, dict(kafka), group, topic, partitions)


def _read_extents(
    kafka: dict[str, Any], group: str, topic: str, partitions: set[int]
) -> dict[int, Extent]:
    consumer = Consumer({**kafka, "group.id": group, "log_level": 4})
    out = {}
    try:
        asked = [TopicPartition(topic, partition) for partition in sorted(partitions)]
        for at in consumer.committed(asked, timeout=_TIMEOUT_S) if asked else ():
            low, high = consumer.get_watermark_offsets(at, timeout=_TIMEOUT_S)
            out[at.partition] = Extent(max(at.offset, low, 0), max(high, 0))
    finally:
        consumer.close()
    return out


def _read(kafka: dict[str, Any]) -> list[Incident]:
    consumer = Consumer({
        **kafka, "group.id": "skh-restore", "enable.auto.commit": False,
        "auto.offset.reset": "earliest", "enable.partition.eof": False, "log_level": 4,
    })  # fmt: skip
    newest: dict[str, Incident] = {}
    try:
        found = extents(consumer, topics.INCIDENTS.name)
        left = {p: (low, high) for p, (low, high) in found.items() if high > low}
        consumer.assign([TopicPartition(topics.INCIDENTS.name, p, low) for p, (low, _) in
                         left.items()])  # fmt: skip
        while left:
            message = consumer.poll(_TIMEOUT_S)
            if message is None:
                raise BrokerUnreachable(
                    str(kafka.get("bootstrap.servers")),
                    f"{topics.INCIDENTS.name} cannot be read to its end",
                )
            if message.error():
                raise KafkaException(message.error())
            _keep(newest, message.value() or b"")
            partition, offset = message.partition() or 0, message.offset() or 0
            if partition in left and offset + 1 >= left[partition][1]:
                del left[partition]
    finally:
        consumer.close()
    return list(newest.values())


def extents(consumer: Consumer, name: str) -> dict[int, tuple[int, int]]:
    """partition -> (first offset, end) of a topic, end >= first."""
    known = consumer.list_topics(name, timeout=_TIMEOUT_S).topics[name].partitions
    out = {}
    for partition in known:
        low, high = consumer.get_watermark_offsets(TopicPartition(name, partition), _TIMEOUT_S)
        out[partition] = (max(low, 0), max(high, low, 0))
    return out


def _keep(newest: dict[str, Incident], raw: bytes) -> None:
    try:
        incident = decode_incident(raw)
    except msgspec.MsgspecError as why:
        _log.warning("%s: a document is not an incident: %s", topics.INCIDENTS.name, why)
        return
    known = newest.get(incident.incident_id)
    if known is None or incident.version >= known.version:
        newest[incident.incident_id] = incident
