"""skh.throughput through a broker: what a feed reads, from when on, and of whom."""

from __future__ import annotations

import time

import pyarrow as pa
import pytest

from probers.publishing.signer import Signer
from schemas import topics
from schemas.signing.keys import KeyRing
from streams.admission.admission import Admission
from streams.readers.throughput_feed import Received, ThroughputFeed
from testbed.simulator.publish import encode

from ..conftest import Broker

pytestmark = pytest.mark.anyio
RING = KeyRing.parse("k1:" + "ab" * 32)


def message(node_sn: str, bytes_sent: int) -> bytes:
    row = {"fabric": "f1", "node_sn": node_sn, "real_ip": "10.0.0.1", "time": time.time_ns(),
           "tx_bytes": bytes_sent, "rx_bytes": 0}  # fmt: skip
    return encode(pa.RecordBatch.from_pylist([row]))


async def read(feed: ThroughputFeed, count: int) -> list[Received]:
    """What arrives until so many messages were read or refused."""
    found: list[Received] = []
    for _ in range(60):
        found += await feed.read()
        if len(found) + feed.refused >= count:
            break
    feed.close()
    return found


async def test_a_feed_reads_what_comes_after_its_begin_and_refuses_what_it_cannot_read(
    embedded: Broker,
) -> None:
    feed = ThroughputFeed({"bootstrap.servers": embedded.bootstrap})
    await feed.begin(time.time_ns() // 1_000_000)
    arrow = {topics.CONTENT_TYPE: topics.ARROW.encode()}
    for number in range(3):
        value = b"not Arrow" if number == 1 else message("h1", number)
        embedded.produce(topics.THROUGHPUT.name, "h1", value, time.time_ns(), arrow)
    found = await read(feed, 3)
    assert [each.rows.tx_bytes.tolist() for each in found] == [[0], [2]]
    assert feed.refused == 1
    assert await feed.read() == [], "it is closed"


async def test_with_a_key_ring_each_host_sends_its_own_throughput_only(embedded: Broker) -> None:
    feed = ThroughputFeed({"bootstrap.servers": embedded.bootstrap}, Admission(lambda: RING))
    await feed.begin(time.time_ns() // 1_000_000)
    key = RING.host_key("f1", "h1")
    for node_sn, signed in (("h1", True), ("h2", True), ("h1", False)):
        value = message(node_sn, 1)
        sender = Signer(key if signed else None)
        headers = sender.headers(topics.THROUGHPUT.name, topics.ARROW, value)
        embedded.produce(topics.THROUGHPUT.name, "h1", value, time.time_ns(), headers)
    found = await read(feed, 3)
    assert [list(each.rows.node_sn) for each in found] == [["h1"]]
    assert feed.refused == 2
