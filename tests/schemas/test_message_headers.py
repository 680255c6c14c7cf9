"""Every message says what it is: content-type and schema-version, on every topic."""

from __future__ import annotations

import pytest

from schemas import topics
from schemas.message_headers import SCHEMA_VERSION, VERSIONS, described
from schemas.wire.window_chunks import Header


def test_every_topic_has_a_version() -> None:
    assert set(VERSIONS) == {topic.name for topic in topics.ALL}


@pytest.mark.parametrize(
    ("topic", "headers", "content_type"),
    [
        (topics.INCIDENTS, [], topics.JSON),
        (topics.ANOMALIES, [], topics.JSON),
        (topics.WINDOWS, Header("pane", "f").to_kafka(), topics.ARROW),
        (topics.WINDOWS, Header("punctuation", "f").to_kafka(), topics.JSON),
        (topics.DEAD_LETTER, [("reason", b"why")], "application/octet-stream"),
        (topics.PINGS, [("content-type", topics.NDJSON.encode())], topics.NDJSON),
    ],
)
def test_headers_that_are_missing_are_added_and_others_are_kept(
    topic: topics.Topic, headers: list[tuple[str, bytes]], content_type: str
) -> None:
    found = described(topic.name, headers)
    assert found[: len(headers)] == headers
    assert dict(found)[topics.CONTENT_TYPE] == content_type.encode()
    assert dict(found)[SCHEMA_VERSION] == b"1"
    assert described(topic.name, found) == found
