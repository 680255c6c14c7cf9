"""An agent's spool while Kafka is away for minutes and the agent is killed meanwhile.

A process measures 1,000 records a second and publishes them as the agent does: each half second, to
Apache Kafka through the spool. The broker is stopped for five minutes; in the middle of that the
process gets SIGKILL and starts again. A record is a number; a message holds a range of them. What
``publish`` has returned for is acknowledged: none of it may be lost.

    python -m evaluation.bench.agent.outage [seconds that Kafka is away]
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from confluent_kafka import Consumer, TopicPartition

from probers.publishing.destination import publish_to
from schemas import topics
from streams.kafka import admin
from testbed.services.kafka_server import KafkaServer

_AWAY_S: Final = 300.0
_BEFORE_S: Final = 20.0
_RATE: Final = 1_000  # records/s
_BATCH_S: Final = 0.5
_LEAST_LEFT_S: Final = 600.0  # longest wait until everything is drained


class Message(NamedTuple):
    """Records ``first`` up to before ``end``; kept: it was on disk until Kafka was back."""

    first: int
    end: int
    kept: bool


class _Agent:
    """The process that publishes; it prints the number with which it begins, then those before
    which all is acknowledged."""

    def __init__(self, bootstrap: str, spool: Path, began: float) -> None:
        self.begins = self.acknowledged = self.left = 0
        command = [
            sys.executable,
            "-m",
            __spec__.name,
            "publish",
            bootstrap,
            str(spool),
            str(began),
        ]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603  # our own
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def kill(self) -> int:
        """SIGKILL; the number before which all was acknowledged."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self._reader.join()
        return self.acknowledged

    def _read(self) -> None:
        assert self.process.stdout is not None  # noqa: S101  # a pipe, as asked for
        self.begins = int(self.process.stdout.readline())
        for line in self.process.stdout:
            if line.endswith("\n"):
                self.acknowledged, self.left = map(int, line.split())


def outage(away_s: float = _AWAY_S) -> dict[str, Any]:
    """Measure; takes ``away_s`` and about a minute. Raises RuntimeError without Kafka's jars."""
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "kafka").mkdir()
        server = KafkaServer(Path(place) / "kafka")
        agents: list[_Agent] = []
        try:
            admin.create({"bootstrap.servers": server.bootstrap})
            began = time.time()
            agents.append(first := _Agent(server.bootstrap, Path(place) / "spool", began))
            time.sleep(_BEFORE_S)
            server.stop()
            time.sleep(away_s / 2)
            killed_s = time.time() - began
            before = first.kill()
            agents.append(second := _Agent(server.bootstrap, Path(place) / "spool", began))
            time.sleep(away_s / 2)
            server.start()
            back_s, most = time.monotonic(), second.left
            while second.left > 1 and time.monotonic() - back_s < _LEAST_LEFT_S:
                time.sleep(0.1)
            drained_s, after = time.monotonic() - back_s, second.acknowledged
            time.sleep(2 * _BATCH_S)  # what has just been acknowledged is on its way
            found = list(everything(server.bootstrap))
        finally:
            for each in agents:
                each.process.kill()
                each.process.wait()
            server.stop()
    spans = [range(first.begins, before), range(second.begins, after)]
    kept = f"{most} messages kept, drained {drained_s:.1f} s after Kafka was back"
    return figures(found, spans, killed_s, kept, away_s)


def figures(
    found: list[Message], spans: list[range], killed_s: float, kept: str, away_s: float
) -> dict[str, Any]:
    """What is reported.

    found     messages in the order of their arrival
    spans     numbers that each of both processes had acknowledged
    killed_s  since the first number [s]
    kept      what is said of kept messages
    """
    there = {number for each in found for number in range(each.first, each.end)}
    wanted = {number for span in spans for number in span}
    lost = len(wanted - there)
    gone_s = killed_s - spans[0].stop / _RATE  # measured and not yet handed to the spool
    ways = [[each.first for each in found if each.kept == way] for way in (False, True)]
    ordered = all(way == sorted(way) for way in ways)
    return {
        "figure": f"Kafka away {away_s:.0f} s at {_RATE:,} records/s, the agent killed once: {lost}"
        f" of {len(wanted):,} acknowledged records lost, {gone_s:.2f} s of records not yet in the"
        f" spool gone; order {'kept' if ordered else 'broken'} among live and among kept messages;"
        f" {kept}",
        "goal": "0 lost, order kept, <= 0.5 s gone",
        "missed": bool(lost or not ordered or gone_s > _BATCH_S + 0.05),
    }


def everything(bootstrap: str) -> Iterator[Message]:
    """The messages of the topic, each once, in the order of their first arrival."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "outage", "log_level": 3})
    seen = set()
    try:
        for partition in range(topics.PINGS.partitions):
            at = TopicPartition(topics.PINGS.name, partition, 0)
            _, end = consumer.get_watermark_offsets(at, timeout=60)
            consumer.assign([at])
            while end and consumer.position([at])[0].offset < end:
                message = consumer.poll(1.0)
                if message is None or message.error() is not None:
                    continue
                first, last = map(int, (message.value() or b"").split())
                if first not in seen:
                    seen.add(first)
                    yield Message(first, last, topics.SPOOLED in dict(message.headers() or ()))
    finally:
        consumer.close()


def _publish(bootstrap: str, spool: str, began: float) -> None:
    """Publish the numbers of the time since ``began`` [s since the epoch], until killed."""
    publisher = publish_to(f"kafka:{bootstrap}", spool=spool)
    number = int((time.time() - began) * _RATE)
    print(number, flush=True)
    publisher.connect(5.0)
    while True:
        time.sleep(_BATCH_S)
        end = int((time.time() - began) * _RATE)
        publisher.publish(topics.PINGS.name, "h1", b"%d %d" % (number, end), "application/x-ndjson")
        number = end
        publisher.poll()
        print(number, publisher.left, flush=True)  # type: ignore[attr-defined]  # it has a spool


if __name__ == "__main__":
    if sys.argv[1:2] == ["publish"]:
        _publish(sys.argv[2], sys.argv[3], float(sys.argv[4]))
    else:
        print(json.dumps(outage(float(sys.argv[1]) if sys.argv[1:] else _AWAY_S)))
