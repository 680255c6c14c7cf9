"""skh.requests and skh.evidence through a broker: from when on, and whose answers count."""

from __future__ import annotations

import time

import msgspec
import pytest
from builders.schemas.documents import EVIDENCE, REQUEST

from probers.publishing.signer import Signer
from schemas import topics
from schemas.documents.requests.evidence import Answer
from schemas.signing.headers import RELAY_CLIENT
from schemas.signing.keys import KeyRing
from streams.admission.admission import Admission
from streams.readers.request_feed import RequestFeed

from ..conftest import Broker

pytestmark = pytest.mark.anyio
RING = KeyRing.parse("k1:" + "ab" * 32)


async def test_a_controller_that_starts_reads_what_was_asked_lately_then_the_answers(
    embedded: Broker,
) -> None:
    asked = msgspec.json.encode(REQUEST)
    for value in (asked, b"{}"):
        embedded.produce(topics.REQUESTS.name, REQUEST.request_id, value, time.time_ns(), {})
    embedded.publish_seconds([])  # returns when the broker has all
    feed = RequestFeed({"bootstrap.servers": embedded.bootstrap}, Admission(lambda: RING))
    found = await feed.begin()
    assert [each for each in found if each.request_id == REQUEST.request_id] == [REQUEST]
    assert feed.refused == 1

    key = RING.host_key("f1", "h1")
    foreign = msgspec.structs.replace(EVIDENCE, node_sn="h2")
    of_container = {RELAY_CLIENT: b"c1"}
    for document, signed, more in (
        (EVIDENCE, True, {}), (foreign, True, {}), (EVIDENCE, False, {}),
        (EVIDENCE, True, of_container),
    ):  # fmt: skip
        value = msgspec.json.encode(document)
        sender = Signer(key if signed else None)
        headers = sender.headers(topics.EVIDENCE.name, topics.JSON, value, more)
        embedded.produce(topics.EVIDENCE.name, "h1", value, time.time_ns(), headers)
    answers: list[object] = []
    for _ in range(100):
        answers += [each for each in await feed.read() if isinstance(each, Answer)]
        if len(answers) + feed.refused >= 5:
            break
    feed.close()
    assert answers == [Answer(EVIDENCE), Answer(EVIDENCE, "c1")]
    assert feed.refused == 3, "of another host, and unsigned"
    assert await feed.read() == [], "it is closed"
