"""What a stage asks the broker when it starts: incidents so far, and how much there is to read.

skh.incidents is compacted: a document that is none stays there for ever, and every start reads it.
So each is checked in full before a localizer sees it, and what is wrong is left out and counted;
the sink, which reads the same topic, makes a dead letter of it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Final

from confluent_kafka import Consumer, KafkaException, TopicPartition

from schemas import topics
from schemas.documents.incident import Incident, read_incident
from streams.errors import BrokerUnreachable
from streams.kafka.fetch import FETCH
from streams.localize.plausible_times import MOST_AHEAD_S
from streams.merge.consumer_progress import OffsetRange

_log = logging.getLogger(__name__)
_TIMEOUT_S: Final = 10.0


async def read_incidents(
    kafka: Mapping[str, Any],
    refused: Counter[str] | None = None,
    clock_s: Callable[[], float] = time.time,
) -> list[Incident]:
    """Newest version of every incident on the topic, from its beginning to its present end.

    refused  by topic, documents that could not be used; those of this read are put there, not
             added: each start reads the same ones
    """
    incidents, wrong = await asyncio.to_thread(_read, dict(kafka), clock_s() + MOST_AHEAD_S)
    if refused is not None:
        refused[topics.INCIDENTS.name] = max(refused[topics.INCIDENTS.name], wrong)
    return incidents


async def read_extents(
    kafka: Mapping[str, Any], group: str, topic: str, partitions: set[int]
) -> dict[int, OffsetRange]:
    """Where a group goes on in some partitions, and where they end now."""
    return await asyncio.to_thread(_read_extents, dict(kafka), group, topic, partitions)


def _read_extents(
    kafka: dict[str, Any], group: str, topic: str, partitions: set[int]
) -> dict[int, OffsetRange]:
    consumer = Consumer({**kafka, "group.id": group, "log_level": 4})
    out = {}
    try:
        asked = [TopicPartition(topic, partition) for partition in sorted(partitions)]
        for at in consumer.committed(asked, timeout=_TIMEOUT_S) if asked else ():
            low, high = consumer.get_watermark_offsets(at, timeout=_TIMEOUT_S)
            out[at.partition] = OffsetRange(max(at.offset, low, 0), max(high, 0))
    finally:
        consumer.close()
    return out


def _read(kafka: dict[str, Any], latest_s: float) -> tuple[list[Incident], int]:
    consumer = Consumer({
        **kafka, **FETCH, "group.id": "skh-restore", "enable.auto.commit": False,
        "auto.offset.reset": "earliest", "enable.partition.eof": False, "log_level": 4,
    })  # fmt: skip
    newest: dict[str, Incident] = {}
    wrong: list[str] = []
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
            if (raw := message.value()) and (reason := _keep(newest, raw, latest_s)):
                wrong.append(
                    f"partition {message.partition()}, offset {message.offset()}: {reason}"
                )
            partition, offset = message.partition() or 0, message.offset() or 0
            if partition in left and offset + 1 >= left[partition][1]:
                del left[partition]
    finally:
        consumer.close()
    if wrong:
        _log.warning(
            "%s: %d documents are no incidents and are left out, the first at %s",
            topics.INCIDENTS.name, len(wrong), wrong[0],
        )  # fmt: skip
    return list(newest.values()), len(wrong)


def extents(consumer: Consumer, name: str) -> dict[int, tuple[int, int]]:
    """partition -> (first offset, end) of a topic, end >= first."""
    known = consumer.list_topics(name, timeout=_TIMEOUT_S).topics[name].partitions
    out = {}
    for partition in known:
        low, high = consumer.get_watermark_offsets(TopicPartition(name, partition), _TIMEOUT_S)
        out[partition] = (max(low, 0), max(high, low, 0))
    return out


def _keep(newest: dict[str, Incident], raw: bytes, latest_s: float) -> str | None:
    """Take a document in; returns why it is none."""
    try:
        incident = read_incident(raw, latest_s=latest_s)
    except Exception as why:  # whatever escapes a decoder would stop every start from here on
        return " ".join(str(why).split())[:300]
    known = newest.get(incident.incident_id)
    if known is None or incident.version >= known.version:
        newest[incident.incident_id] = incident
    return None
