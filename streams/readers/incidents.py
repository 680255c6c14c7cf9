"""Reads skh.incidents from its beginning, so that a new localizer goes on with open incidents.

skh.incidents is compacted: an invalid document stays there for ever, and every start reads it. So
each document is validated before a localizer sees it, and an invalid one is left out and counted;
the sink, which reads the same topic, publishes the dead letter.
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
from streams.kafka.offset_ranges import offset_ranges
from streams.localize.plausible_times import DEFAULT as PLAUSIBLE_TIMES

_log = logging.getLogger(__name__)
_TIMEOUT_S: Final = 10.0


async def read_incidents(
    kafka: Mapping[str, Any],
    refused: Counter[str] | None = None,
    clock_s: Callable[[], float] = time.time,
) -> list[Incident]:
    """Newest version of every incident on the topic, from its beginning to its present end.

    refused  by topic, documents that are not valid; raised to the count of this read, not by it,
             because each start reads the same documents
    """
    incidents, invalid = await asyncio.to_thread(
        _read, dict(kafka), clock_s() + PLAUSIBLE_TIMES.ahead_s
    )
    if refused is not None:
        refused[topics.INCIDENTS.name] = max(refused[topics.INCIDENTS.name], invalid)
    return incidents


def _read(kafka: dict[str, Any], latest_s: float) -> tuple[list[Incident], int]:
    consumer = Consumer({
        **kafka, **FETCH, "group.id": "skh-restore", "enable.auto.commit": False,
        "auto.offset.reset": "earliest", "enable.partition.eof": False, "log_level": 4,
    })  # fmt: skip
    newest: dict[str, Incident] = {}
    invalid: list[str] = []
    try:
        found = offset_ranges(consumer, topics.INCIDENTS.name)
        unread = {p: (low, high) for p, (low, high) in found.items() if high > low}
        consumer.assign([TopicPartition(topics.INCIDENTS.name, p, low) for p, (low, _) in
                         unread.items()])  # fmt: skip
        while unread:
            message = consumer.poll(_TIMEOUT_S)
            if message is None:
                raise BrokerUnreachable(
                    str(kafka.get("bootstrap.servers")),
                    f"{topics.INCIDENTS.name} cannot be read to its end",
                )
            if message.error():
                raise KafkaException(message.error())
            if (raw := message.value()) and (reason := _add(newest, raw, latest_s)):
                invalid.append(
                    f"partition {message.partition()}, offset {message.offset()}: {reason}"
                )
            partition, offset = message.partition() or 0, message.offset() or 0
            if partition in unread and offset + 1 >= unread[partition][1]:
                del unread[partition]
    finally:
        consumer.close()
    if invalid:
        _log.warning(
            "%s: %d documents are not valid incidents and are left out, the first at %s",
            topics.INCIDENTS.name, len(invalid), invalid[0],
        )  # fmt: skip
    return list(newest.values()), len(invalid)


def _add(newest: dict[str, Incident], raw: bytes, latest_s: float) -> str | None:
    """Add a document if it is the newest of its incident; returns why it is not valid, or None."""
    try:
        incident = read_incident(raw, latest_s=latest_s)
    except Exception as why:  # whatever a decoder raises would stop every start from here on
        return " ".join(str(why).split())[:300]
    known = newest.get(incident.incident_id)
    if known is None or incident.version >= known.version:
        newest[incident.incident_id] = incident
    return None
