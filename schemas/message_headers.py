"""Kafka headers that say what a message is: content-type and schema-version, on every topic.

A reader that does not know a version leaves the message alone. The version of a topic rises when a
reader of the last one could misread it; new fields do not raise it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from schemas import topics

SCHEMA_VERSION: Final = "schema-version"
#: Topic -> version of its payload.
VERSIONS: Final[dict[str, int]] = {topic.name: 1 for topic in topics.ALL}
_RAW: Final = "application/octet-stream"


def described(topic: str, headers: Iterable[tuple[str, bytes]]) -> list[tuple[str, bytes]]:
    """The headers of a message, with content-type and schema-version where they lack them."""
    found = list(headers)
    names = {name for name, _ in found}
    if topics.CONTENT_TYPE not in names:
        found.append((topics.CONTENT_TYPE, _content_type(topic, found).encode()))
    if SCHEMA_VERSION not in names:
        found.append((SCHEMA_VERSION, str(VERSIONS.get(topic, 1)).encode()))
    return found


def _content_type(topic: str, headers: list[tuple[str, bytes]]) -> str:
    if topic == topics.WINDOWS.name:
        is_json = ("kind", b"punctuation") in headers
        return topics.JSON if is_json else topics.ARROW
    return _RAW if topic == topics.DEAD_LETTER.name else topics.JSON
