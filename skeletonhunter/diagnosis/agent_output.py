"""What ``skeletonhunter-agent --publish file:`` writes -> ping records, heartbeats, dead letters.

One JSON object a line: topic, key, content-type and payload of a message; the payload is text where
the content type is a JSON one, and base64 otherwise.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import Final

import msgspec

from schemas import topics
from schemas.documents import heartbeat
from schemas.documents.heartbeat import Heartbeat
from schemas.wire import codecs
from schemas.wire.decoded import CodecError, Decoded

#: How a line begins, in any order of its fields; no ping record has a field of these names.
_BEGIN: Final = re.compile(rb'\s*\{\s*"(?:topic|key|content-type|payload)"\s*:')


class Message(msgspec.Struct, frozen=True, rename={"content_type": "content-type"}):
    """A line: one Kafka message."""

    topic: str
    payload: str
    content_type: str
    key: str = ""


class MessageError(ValueError):
    """The line is not a message of an agent; the text is the reason."""


def begins_like(line: bytes) -> bool:
    """Whether a line, or as much of it as is there, may be an agent's message."""
    return _BEGIN.match(line) is not None


def read(line: bytes) -> Decoded | Heartbeat:
    """Records or the heartbeat of a line; raises MessageError."""
    try:
        message = msgspec.json.decode(line, type=Message)
        if message.topic == topics.HEARTBEATS.name:
            return heartbeat.decode(_payload(message))
        if message.topic == topics.PINGS.name:
            return codecs.decode(_payload(message), message.content_type)
    except (CodecError, binascii.Error) as why:
        raise MessageError(f"payload: {why}") from why
    except (ValueError, RecursionError) as why:  # of JSON, base64, UTF-8 or the heartbeat
        raise MessageError(
            f"not a message of an agent: {' '.join(str(why).split())[:300]}"
        ) from why
    raise MessageError(f"topic {message.topic!r} holds neither ping records nor heartbeats")


def _payload(message: Message) -> bytes:
    if message.content_type.endswith("json"):
        return message.payload.encode()
    return base64.b64decode(message.payload, validate=True)
