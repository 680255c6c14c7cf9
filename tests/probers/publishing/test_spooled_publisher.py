"""Kafka is away, comes back, or the agent dies meanwhile: what arrives, in which order."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from probers.health import counters
from probers.process.loop import Loop
from probers.publishing.publisher import PublishError
from probers.publishing.spool import Spool, SpooledPublisher
from probers.publishing.spool import publisher as spooled
from schemas import topics
from schemas.metrics import agent as metrics

PINGS, BEATS = topics.PINGS.name, topics.HEARTBEATS.name


class Broker:
    """A client of a broker: confirms while ``there``; what waits for ``timeout`` polls fails."""

    def __init__(self, timeout: int = 3, room: int = 1_000_000) -> None:
        self.counts: Counter[str] = Counter()
        self.there = True
        self.arrived: list[tuple[str, bytes, bool]] = []  # topic, payload, spooled
        self._timeout, self._room = timeout, room
        self._waiting: list[list[object]] = []

    def connect(self, timeout_s: float) -> None:
        if not self.there:
            raise PublishError("kafka:x: no broker answered")

    def publish(
        self,
        topic: str,
        key: str,
        payload: bytes,
        content_type: str,
        headers: Mapping[str, bytes] | None = None,
        on_delivered: Callable[[bool], None] | None = None,
    ) -> bool:
        if len(self._waiting) >= self._room:
            self.counts["overflow"] += 1
            return False
        self.counts["queued"] += 1
        what = (topic, payload, topics.SPOOLED in (headers or {}))
        self._waiting.append([what, on_delivered, self._timeout])
        return True

    def poll(self) -> None:
        waiting, self._waiting = self._waiting, []
        for what, on_delivered, left in waiting:
            assert isinstance(left, int)
            if not self.there and left > 1:
                self._waiting.append([what, on_delivered, left - 1])
                continue
            self.counts["delivered" if self.there else "failed"] += 1
            if self.there:
                self.arrived.append(what)  # type: ignore[arg-type]
            if callable(on_delivered):
                on_delivered(self.there)

    def close(self, timeout_s: float) -> int:
        if self.there:
            self.poll()
        self.counts["failed"] += len(self._waiting)
        return len(self._waiting)


class Host:
    """A second: a message of pings and a heartbeat, then a poll."""

    def __init__(self, folder: Path, broker: Broker, size: int = 8) -> None:
        self.now_s, self.broker, self._size = 0.0, broker, size
        self.spool = Spool(folder)
        self.publisher = SpooledPublisher(
            broker, self.spool, lambda: self.now_s, lambda: int(self.now_s * 1e9)
        )

    def run(self, seconds: range) -> None:
        for second in seconds:
            self.now_s = float(second)
            payload = b"%08d" % second * (self._size // 8)
            self.publisher.publish(PINGS, "h1", payload, topics.ARROW)
            self.publisher.publish(BEATS, "h1", b"%d" % second, topics.JSON)
            self.publisher.poll()


def pings(broker: Broker, *, kept: bool | None = None) -> list[int]:
    """Seconds of the messages that arrived, in order; kept: only those that were on disk, or not"""
    return [
        int(payload[:8])
        for topic, payload, spooled_ in broker.arrived
        if topic == PINGS and kept in (None, spooled_)
    ]


def test_nothing_is_lost_and_the_present_goes_first_when_kafka_comes_back(tmp_path: Path) -> None:
    broker = Broker()
    host = Host(tmp_path, broker)
    host.run(range(5))
    broker.there = False
    host.run(range(5, 300))
    broker.there = True
    host.run(range(300, 330))
    assert sorted(set(pings(broker))) == list(range(330))
    late = pings(broker, kept=True)
    assert late == sorted(late), "in the order in which they were measured"
    assert {300, 301, 302} <= set(pings(broker, kept=False))
    arrived = [int(p[:8]) for t, p, _ in broker.arrived if t == PINGS]
    assert arrived.index(300) < arrived.index(late[-1])
    assert host.publisher.left == 0
    counts = host.publisher.counts
    assert counts["drained"] == counts["spooled"] == len(late)


def test_what_is_sent_later_is_sent_at_a_bounded_rate(tmp_path: Path) -> None:
    broker, size = Broker(), 100_000
    host = Host(tmp_path, broker, size)
    broker.there = False
    host.run(range(200))
    broker.there = True
    before = len(broker.arrived)
    host.run(range(200, 210))
    late = [1 for topic, _, kept in broker.arrived[before:] if topic == PINGS and kept]
    assert 0 < len(late) * size <= 10 * spooled.DRAIN_BYTES_PER_S + 10 * size


def test_a_killed_agent_finds_its_messages_again(tmp_path: Path) -> None:
    broker = Broker()
    host = Host(tmp_path, broker)
    host.run(range(5))
    broker.there = False
    host.run(range(5, 100))

    second = Broker()
    again = Host(shutil.copytree(tmp_path, tmp_path / "left"), second)  # as SIGKILL leaves it
    again.run(range(100, 130))
    assert sorted({*pings(broker), *pings(second)}) == list(range(130))
    assert pings(second, kept=True)[:95] == list(range(5, 100))


def test_it_starts_although_kafka_is_away(tmp_path: Path) -> None:
    broker = Broker()
    broker.there = False
    host = Host(tmp_path, broker)
    host.publisher.connect(0.1)
    host.run(range(10))
    broker.there = True
    host.run(range(10, 20))
    assert sorted(set(pings(broker))) == list(range(20))


def test_heartbeats_of_the_past_are_not_kept(tmp_path: Path) -> None:
    broker = Broker(timeout=1)
    host = Host(tmp_path, broker)
    broker.there = False
    host.run(range(10))
    counts = host.publisher.counts
    assert counts["failed"] == 10, "the heartbeats; pings are kept"
    assert counts["spooled"] == 10


def test_an_unreachable_broker_is_tried_with_one_message_at_a_time(tmp_path: Path) -> None:
    broker = Broker(timeout=1)
    host = Host(tmp_path, broker)
    broker.there = False
    host.run(range(50))
    queued = broker.counts["queued"]
    for second in range(50, 100):
        host.now_s = float(second)
        host.publisher.poll()
    assert broker.counts["queued"] - queued <= 5


def test_a_full_client_costs_no_message(tmp_path: Path) -> None:
    broker = Broker(room=4)
    host = Host(tmp_path, broker)
    broker.there = False
    host.run(range(2))
    for number in range(20):
        assert host.publisher.publish(PINGS, "h1", b"%08d" % (1000 + number), topics.ARROW)
    broker.there = True
    host.run(range(2, 20))
    assert {*range(1000, 1020)} <= set(pings(broker))


def test_what_stays_on_disk_at_the_end_is_sent_by_the_next_start(tmp_path: Path) -> None:
    broker = Broker()
    host = Host(tmp_path, broker)
    broker.there = False
    host.run(range(3))
    assert host.publisher.close(1.0) >= 3
    second = Broker()
    again = Host(tmp_path, second)
    again.run(range(3, 6))
    assert sorted(set(pings(second))) == [0, 1, 2, 3, 4, 5]


def test_what_is_on_disk_is_a_metric(tmp_path: Path) -> None:
    broker = Broker()
    broker.there = False
    host = Host(tmp_path, broker)
    host.run(range(10))
    loop = Loop()
    samples = {
        (each.metric, *each.labels): each.value
        for each in counters.of_loop(loop, 0, host.publisher)
    }
    loop.close()
    assert samples[metrics.AGENT_SPOOL, "messages"] == 10
    assert samples[metrics.AGENT_SPOOL, "bytes"] > 10 * 8
    assert samples[metrics.AGENT_PUBLISHED, "spooled"] == host.publisher.counts["spooled"] > 0


@pytest.mark.parametrize("topic", sorted(spooled.SPOOLED_TOPICS))
def test_topics_that_are_kept(topic: str, tmp_path: Path) -> None:
    broker = Broker()
    broker.there = False
    host = Host(tmp_path, broker)
    host.publisher.publish(topic, "h1", b"x", topics.JSON)
    assert host.publisher.left == 1
