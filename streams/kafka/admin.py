"""Topics as schemas.topics defines them: created and checked; and whether a broker is there."""

from __future__ import annotations

import logging
import socket
import time
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # its __init__ has no __all__
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)
from confluent_kafka.cimpl import NewTopic

from schemas import topics
from schemas.topics import Topic
from streams.errors import BrokerRefused, BrokerUnreachable, UnusableKafkaOption
from streams.kafka import security

#: What a user of agents may do with each topic that agents write.
AGENTS_MAY: Final = (AclOperation.WRITE, AclOperation.DESCRIBE)
_TIMEOUT_S: Final = 10.0
_REFUSED: Final = frozenset({KafkaError._AUTHENTICATION, KafkaError._SSL})  # noqa: SLF001 — names
#: Errors of librdkafka after which a broker may have done what it was asked, or not.
_UNANSWERED: Final = frozenset(
    {
        KafkaError._DESTROY_BROKER,  # noqa: SLF001 — names
        KafkaError._TRANSPORT,  # noqa: SLF001
        KafkaError._TIMED_OUT,  # noqa: SLF001
        KafkaError.REQUEST_TIMED_OUT,
        KafkaError.NOT_CONTROLLER,
    }
)
_quiet: Final = logging.getLogger("skeletonhunter.kafka")


class TopicState(NamedTuple):
    """A topic and the partitions that the broker has for it; 0: it is missing."""

    topic: Topic
    partitions: int


def check_reachable(bootstrap: str, timeout_s: float = 5.0) -> None:
    """Raises BrokerUnreachable when none of the addresses accepts a connection."""
    why = "no address given"
    for address in bootstrap.split(","):
        host, _, port = address.strip().rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout_s).close()
        except ValueError:
            why = f"{address!r} is not host:port"
        except OSError as error:
            why = str(error.strerror or error)
        else:
            return
    raise BrokerUnreachable(bootstrap, why)


def check(kafka: Mapping[str, Any], timeout_s: float = 10.0) -> None:
    """Reach a broker as all clients will, with its security settings.

    Raises BrokerUnreachable, BrokerRefused (wrong password, certificate not trusted), and
    UnusableKafkaOption for settings that not all of our clients can use.
    """
    bootstrap = str(kafka["bootstrap.servers"])
    security.credentials(kafka)
    refused: list[str] = []

    def failed(error: KafkaError) -> None:
        if error.code() in _REFUSED:
            refused.append(error.str())

    settings: dict[str, Any] = {**kafka, "error_cb": failed, "log_level": 0}
    try:
        client = AdminClient(settings, logger=_quiet)
    except KafkaException as why:  # librdkafka does not know it, or cannot read a file
        raise UnusableKafkaOption("librdkafka:", why.args[0].str()) from None
    check_reachable(bootstrap, timeout_s)
    if security.protocol(kafka) == "PLAINTEXT":
        return
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            client.list_topics(timeout=1.0)
        except KafkaException as why:
            client.poll(0)  # hands over why
            if refused:
                raise BrokerRefused(bootstrap, refused[0]) from None
            if time.monotonic() > deadline:
                raise BrokerUnreachable(bootstrap, str(why.args[0])) from None
        else:
            return


def state(kafka: Mapping[str, Any]) -> list[TopicState]:
    """Every topic as the broker has it.

    The query is for all topics at once: a query for one topic may create it.
    """
    try:
        found = _admin(kafka).list_topics(timeout=_TIMEOUT_S).topics
    except KafkaException as why:
        raise BrokerUnreachable(str(kafka["bootstrap.servers"]), str(why.args[0])) from why
    return [
        TopicState(topic, len(found[topic.name].partitions) if topic.name in found else 0)
        for topic in topics.ALL
    ]


def create(kafka: Mapping[str, Any], timeout_s: float = _TIMEOUT_S) -> list[Topic]:
    """Create the missing topics, with the broker's default replication; returns which.

    A request that is lost with its connection (a broker joins or leaves the cluster meanwhile) is
    sent again, for up to ``timeout_s``. Raises BrokerUnreachable, and KafkaException when a broker
    refuses a topic.
    """
    missing = [each.topic for each in state(kafka) if not each.partitions]
    made, unanswered = [], missing
    admin = _admin(kafka)  # its end would be the end of the futures
    deadline = time.monotonic() + timeout_s
    while unanswered:
        asked, unanswered = unanswered, []
        futures = admin.create_topics(
            [_wanted(topic) for topic in asked], operation_timeout=_TIMEOUT_S
        )
        for topic in asked:
            try:
                futures[topic.name].result()
            except KafkaException as why:
                code = why.args[0].code()
                if code in _UNANSWERED and time.monotonic() < deadline:
                    unanswered.append(topic)
                    continue
                # After a lost request it was this one that made the topic.
                if code != KafkaError.TOPIC_ALREADY_EXISTS:
                    raise
                if asked is missing:
                    continue
            made.append(topic)
        if unanswered:
            state(kafka)  # waits for a broker
    return made


def _wanted(topic: Topic) -> NewTopic:
    return NewTopic(
        topic.name,
        num_partitions=topic.partitions,
        replication_factor=-1,
        config=configuration(topic),
    )


def allow_agents(kafka: Mapping[str, Any], user: str) -> list[str]:
    """Let a user of Kafka write what agents write, and nothing else; returns the topics' names.

    Raises BrokerRefused where the brokers have no authorizer, or the own user may not do that.
    """
    names = written_by_agents()
    wanted = [
        AclBinding(
            ResourceType.TOPIC, name, ResourcePatternType.LITERAL, f"User:{user}", "*",
            operation, AclPermissionType.ALLOW,
        )
        for name in names
        for operation in AGENTS_MAY
    ]  # fmt: skip
    admin = _admin(kafka)
    try:
        for done in admin.create_acls(wanted, request_timeout=_TIMEOUT_S).values():
            done.result()
    except KafkaException as why:
        raise BrokerRefused(str(kafka["bootstrap.servers"]), why.args[0].str()) from None
    return names


def written_by_agents() -> list[str]:
    """Names of the topics that agents write."""
    return [topic.name for topic in topics.ALL if topic.producer.startswith("probers.")]


def configuration(topic: Topic) -> dict[str, str]:
    """What a broker is asked for a new topic: for how long, and how much of it, it is kept."""
    found = {
        "cleanup.policy": "compact" if topic.compacted else "delete",
        # Arrival, not the sender's clock: the windower needs it to know the live sources.
        "message.timestamp.type": "LogAppendTime",
    }
    if topic.kept_s:
        name = "min.compaction.lag.ms" if topic.compacted else "retention.ms"
        found[name] = str(topic.kept_s * 1000)
    if topic.kept_bytes:
        found["retention.bytes"] = str(topic.kept_bytes)
    return found


def _admin(kafka: Mapping[str, Any]) -> AdminClient:
    return AdminClient(dict(kafka), logger=_quiet)
