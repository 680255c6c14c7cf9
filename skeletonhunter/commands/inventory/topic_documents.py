"""Documents of compacted topics, for commands: read what holds now, publish others."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from skeletonhunter import settings
from skeletonhunter.errors import BadInput
from skeletonhunter.services.broker import check_broker

if TYPE_CHECKING:
    from schemas.topics import Topic


class Keyed(NamedTuple):
    """A document and the key of its message."""

    key: str
    document: msgspec.Struct


def kafka() -> dict[str, Any]:
    """Settings of the brokers, which answer.

    Raises MissingSettings, BadSettings, and ConnectionError when no broker answers.
    """
    config = settings.read()
    options = config.librdkafka()
    check_broker(config)
    return options


def known(options: dict[str, Any], more: Mapping[str, type[Any]] | None = None) -> Sequence[object]:
    """Documents of all site topics in order of arrival, those replaced lately included.

    more  further topics, and the types of their documents
    """
    from streams.readers.operator_feed import OperatorFeed

    feed = OperatorFeed(options, more=more)
    try:
        feed.read()
        return feed.known
    finally:
        feed.close()


def publish(options: dict[str, Any], topic: Topic, documents: Iterable[Keyed]) -> None:
    """Return when the brokers have stored every document; raises BadInput when they refuse one."""
    from schemas.limits import LIMITS
    from streams.errors import PublishError
    from streams.kafka.messages import OutMessage
    from streams.kafka.producer import KafkaProducer

    messages = [
        OutMessage(topic.name, each.key.encode(), msgspec.json.encode(each.document), [])
        for each in documents
    ]
    producer = KafkaProducer(
        options["bootstrap.servers"],
        # A broker's limit holds for the compressed message, the client's for the plain one.
        options | {"compression.type": "zstd", "message.max.bytes": 2 * LIMITS.topology_bytes},
    )
    try:
        asyncio.run(producer.send(messages))
    except PublishError as why:
        raise BadInput(str(why)) from why
    finally:
        producer.close()
