"""The producer of the end-to-end benchmark, in a process of its own so that its CPU is not counted.

It makes all messages, prints their number per second, and then sends as many messages as each line
on stdin requests. It ends at the end of stdin.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from confluent_kafka import Producer

from evaluation.bench.input import busy, messages
from schemas import topics
from schemas.documents import heartbeat


def main(bootstrap: str, size: int, content_type: str, seconds: int) -> None:
    simulation = busy()
    sent: list[tuple[str, str, bytes]] = []
    marks: list[int] = []  # messages of skh.pings up to and with each second
    pings = 0
    for second, part in messages(map(simulation.second, range(seconds)), size, content_type):
        for beat in second.heartbeats:
            sent.append((topics.HEARTBEATS.name, beat.node_sn, heartbeat.encode(beat)))
        sent += [(topics.PINGS.name, host, payload) for host, payload in part]
        pings += len(part)
        marks.append(pings)
    producer = Producer({
        "bootstrap.servers": bootstrap, "compression.type": "zstd", "linger.ms": 5, "log_level": 2,
    })  # fmt: skip
    print(*marks, flush=True)
    left = iter(sent)
    headers: dict[str, str | bytes | None] = {topics.CONTENT_TYPE: content_type.encode()}
    for line in sys.stdin:
        for topic, key, value in _take(left, int(line)):
            carried = headers if topic == topics.PINGS.name else None
            producer.produce(topic, value=value, key=key, headers=carried)
        producer.flush(10)
        print("sent", flush=True)


def _take(left: Iterator[tuple[str, str, bytes]], pings: int) -> Iterator[tuple[str, str, bytes]]:
    """The next messages with so many of skh.pings among them."""
    while pings and (message := next(left, None)) is not None:
        pings -= message[0] == topics.PINGS.name
        yield message


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
