"""What agents publish: a list, what may disturb it, and a thread that publishes it in time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa
from confluent_kafka import Producer

from schemas import topics
from schemas.documents import heartbeat
from testbed.scenarios import scenario
from testbed.simulator import publish
from testbed.simulator.simulator import Second

SECOND_NS: Final = 10**9
_TIMES: Final = ("task_start_time", "ping_time")


class Outgoing(NamedTuple):
    """A message of an agent; records: ping records in it that can be read [count]."""

    publish_ns: int
    topic: str
    node_sn: str
    value: bytes
    records: int = 0


#: Takes the messages of all agents and when the simulation began [ns]; returns others.
Disturb = Callable[[list[Outgoing], int], list[Outgoing]]


def load(seconds: Sequence[Second]) -> list[Outgoing]:
    """Heartbeats and ping records of some seconds, in the order of their publication."""
    beats = (
        Outgoing(second.start_ns, topics.HEARTBEATS.name, beat.node_sn, heartbeat.encode(beat))
        for second in seconds
        for beat in second.heartbeats
    )
    pings = (
        Outgoing(each.publish_ns, topics.PINGS.name, each.node_sn, each.value, each.records)
        for each in publish.published(seconds)
    )
    return in_order([*beats, *pings])


def in_order(messages: Iterable[Outgoing]) -> list[Outgoing]:
    """By time of publication; messages of the same time keep their order."""
    return sorted(messages, key=lambda message: message.publish_ns)


def records(messages: Iterable[Outgoing]) -> int:
    """Ping records [count]."""
    return sum(each.records for each in messages)


def poison(share: float, at_s: int, for_s: int) -> Disturb:
    """For some seconds this share of skh.pings is unreadable messages, besides the good ones."""

    def disturb(messages: list[Outgoing], start_ns: int) -> list[Outgoing]:
        rng = np.random.default_rng(1)
        bad = []
        for each in messages:
            if each.topic != topics.PINGS.name or not _within(each, start_ns, at_s, for_s):
                continue
            if rng.random() < share / (1 - share):
                raw = bytearray(each.value)
                del raw[len(raw) // 2 :]  # cut short
                bad.append(each._replace(value=bytes(raw), records=0))
        return in_order([*messages, *bad])

    return disturb


def wrong_clock(offset_s: int, at_s: int) -> Disturb:
    """The clock of the first host steps: its records carry times that are off from then on."""

    def disturb(messages: list[Outgoing], start_ns: int) -> list[Outgoing]:
        host = _first_host(messages)
        return [
            each._replace(value=_shifted(each.value, offset_s * SECOND_NS))
            if each.node_sn == host
            and each.topic == topics.PINGS.name
            and each.publish_ns >= start_ns + at_s * SECOND_NS
            else each
            for each in messages
        ]

    return disturb


def twin(at_s: int, for_s: int) -> Disturb:
    """A second agent with the first host's identity publishes the same measurements."""

    def disturb(messages: list[Outgoing], start_ns: int) -> list[Outgoing]:
        host = _first_host(messages)
        again = [
            each
            for each in messages
            if each.node_sn == host and _within(each, start_ns, at_s, for_s)
        ]
        return in_order([*messages, *again])

    return disturb


def backlog(at_s: int, for_s: int) -> Disturb:
    """Agents cannot publish for a while and then publish everything at once."""
    return cut_off(1.0, at_s, for_s)


def cut_off(share: float, at_s: int, for_s: int) -> Disturb:
    """This share of the hosts cannot publish for a while and then publish everything at once."""

    def disturb(messages: list[Outgoing], start_ns: int) -> list[Outgoing]:
        hosts = sorted({each.node_sn for each in messages})
        away = {*hosts[: round(share * len(hosts))]}
        end_ns = start_ns + (at_s + for_s) * SECOND_NS
        return in_order(
            each._replace(publish_ns=end_ns)
            if each.node_sn in away and _within(each, start_ns, at_s, for_s)
            else each
            for each in messages
        )

    return disturb


def burst(fabrics: int, at_s: int, for_s: int) -> Disturb:
    """So many more fabrics of the same size and without faults publish for some seconds."""

    def disturb(messages: list[Outgoing], start_ns: int) -> list[Outgoing]:
        plan = scenario.load("small")
        more: list[Outgoing] = []
        for number in range(fabrics):
            name = f"burst-{number}"
            fabric = msgspec.structs.replace(plan.fabric, name=name)
            quiet = msgspec.structs.replace(plan, fabric=fabric, faults=[])
            begins_ns = start_ns + at_s * SECOND_NS
            seconds = [*quiet.simulation(seed=number, start_ns=begins_ns).seconds(for_s)]
            # One host may not speak of more than a few fabrics.
            more += (each._replace(node_sn=f"{name}-{each.node_sn}") for each in load(seconds))
        return in_order([*messages, *more])

    return disturb


def _within(message: Outgoing, start_ns: int, at_s: int, for_s: int) -> bool:
    return 0 <= message.publish_ns - start_ns - at_s * SECOND_NS < for_s * SECOND_NS


def _first_host(messages: Iterable[Outgoing]) -> str:
    return min(each.node_sn for each in messages if each.topic == topics.PINGS.name)


def _shifted(value: bytes, offset_ns: int) -> bytes:
    rows = pa.ipc.open_stream(value).read_all().combine_chunks().to_batches()[0]
    for name in _TIMES:
        at = rows.schema.get_field_index(name)
        moved = pa.array(rows.column(at).to_numpy() + offset_ns, rows.schema.field(at).type)
        rows = rows.set_column(at, rows.schema.field(at), moved)
    return publish.encode(rows)


@dataclass(slots=True)
class Published:
    """What the broker has stored of a load.

    failed    messages that it did not take [count]
    by_place  (topic, partition, offset) -> records of that message
    """

    messages: int = 0
    records: int = 0
    failed: int = 0
    by_place: dict[tuple[str, int, int], int] = field(default_factory=dict)


class Publisher(threading.Thread):
    """Publishes each message at its time, or at once when that is over.

    The producer is idempotent: a broker that dies and returns has every message once. A time stamp
    is that of its message; topics with the broker's time stamps do without.
    """

    def __init__(self, bootstrap: str, messages: Sequence[Outgoing]) -> None:
        super().__init__(name="publisher", daemon=True)
        self.published = Published()
        self._messages = messages
        self._cancelled = threading.Event()
        self._producer = Producer({
            "bootstrap.servers": bootstrap, "enable.idempotence": True, "log_level": 2,
            "partitioner": "murmur2_random",  # as agents do
            "delivery.timeout.ms": 600_000, "compression.type": "lz4", "linger.ms": 5,
        })  # fmt: skip
        self.start()

    def run(self) -> None:
        for message in self._messages:
            while (wait_s := (message.publish_ns - time.time_ns()) / SECOND_NS) > 0:
                if self._cancelled.is_set():
                    return
                self._producer.poll(min(wait_s, 0.1))
            self._produce(message)
        while self._producer.flush(0.5) and not self._cancelled.is_set():
            pass

    def _produce(self, message: Outgoing) -> None:
        def delivered(error: Any, stored: Any) -> None:
            if error is not None:
                self.published.failed += 1
            else:
                self.published.messages += 1
                self.published.records += message.records
                place = (stored.topic(), stored.partition(), stored.offset())
                self.published.by_place[place] = message.records

        while True:
            try:
                self._producer.produce(
                    message.topic, key=message.node_sn, value=message.value,
                    headers=[(topics.CONTENT_TYPE, topics.ARROW.encode())],
                    timestamp=message.publish_ns // 10**6, on_delivery=delivered,
                )  # fmt: skip
            except BufferError:
                self._producer.poll(0.1)
            else:
                self._producer.poll(0)
                return

    def cancel(self) -> None:
        """Publish nothing more."""
        self._cancelled.set()
        self.join(30)
