"""skh.notified: what each channel has heard, and where reading goes on.

The log is a compacted topic beside skh.incidents, so that a notifier needs no disk, can be started
on any host, and a second one can stand by. It has a message for each incident (what each channel
has heard of it) and one with the positions: the offset in each partition of skh.incidents up to
which every notification is delivered or dropped. All of them are in one partition, written by one
idempotent producer, so positions never get ahead of what they speak of, and unlike a group's
offsets they do not expire in a quiet week.

After a crash a notification whose receiver had answered, but which was not in the log yet, is sent
again, with the same key.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import msgspec
from confluent_kafka import Producer

from notifier.decisions.changes import Reported
from notifier.decisions.reports import Heard
from notifier.feed.topic_reader import TopicReader
from schemas import topics

_log = logging.getLogger(__name__)
_INCIDENT: Final = "incident:"
_POSITIONS: Final = "positions"


class Positions(msgspec.Struct, frozen=True):
    """partitions  of skh.incidents -> offset of the next version that may have to be notified
    channels    that were there
    """

    partitions: dict[int, int]
    channels: list[str]


class Stored(NamedTuple):
    """What the log holds; positions: None at the first start."""

    heard: dict[str, Heard]
    positions: Positions | None


def read(kafka: Mapping[str, Any]) -> Stored:
    """The log from its beginning to its end; raises ConnectionError."""
    reader = TopicReader(kafka, [topics.NOTIFIED.name], "skh-notifier-log")
    heard: dict[str, Heard] = {}
    positions: Positions | None = None
    try:
        for message in reader.to_end():
            key = message.key.decode("utf-8", "replace")
            incident_id = key.removeprefix(_INCIDENT)
            try:
                if key == _POSITIONS:
                    positions = msgspec.json.decode(message.value, type=Positions)
                elif not message.value:
                    heard.pop(incident_id, None)
                else:
                    heard[incident_id] = msgspec.json.decode(
                        message.value, type=dict[str, Reported]
                    )
            except msgspec.MsgspecError as why:
                _log.error("%s: offset %d: %s", *message.place[::2], why)
    finally:
        reader.close()
    return Stored(heard, positions)


class SentLog:
    """Writes the log; in order, without waiting."""

    def __init__(self, kafka: Mapping[str, Any]) -> None:
        self._producer = Producer({
            **kafka, "enable.idempotence": True, "linger.ms": 0, "log_level": 3,
            "message.timeout.ms": 0,  # without an end: what is lost here would be notified again
        })  # fmt: skip

    def heard(self, incident_id: str, heard: Heard) -> None:
        """What channels have heard of an incident."""
        self._put(_INCIDENT + incident_id, msgspec.json.encode(heard))

    def forget(self, incident_id: str) -> None:
        """The incident is over, and all that was read of it is behind the positions."""
        self._put(_INCIDENT + incident_id, None)

    def positions(self, positions: Positions) -> None:
        """Where reading goes on."""
        self._put(_POSITIONS, msgspec.json.encode(positions))

    def wait_stored(self, limit_s: float = 60.0) -> None:
        """Wait until the broker has acknowledged every entry; raises ConnectionError."""
        if left := self._producer.flush(limit_s):
            raise ConnectionError(
                f"{topics.NOTIFIED.name}: not stored within {limit_s:g} s: {left} entries"
            )

    def close(self) -> None:
        """Wait until everything is stored, at most ten seconds."""
        if left := self._producer.flush(10):
            _log.error("%d entries are not in the log: some may be notified again", left)

    def _put(self, key: str, value: bytes | None) -> None:
        while True:
            try:
                self._producer.produce(topics.NOTIFIED.name, key=key, value=value, partition=0)
            except BufferError:
                self._producer.poll(0.1)
            else:
                self._producer.poll(0)
                return
