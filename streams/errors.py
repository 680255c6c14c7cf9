"""Errors of the stages, one class per remedy; any other error crashes the worker."""

from __future__ import annotations


class StreamsError(Exception):
    """Root of the stages' own errors."""


class PublishError(StreamsError):
    """A broker did not store a message: the worker stops, and its restart reads it again."""

    def __init__(self, topic: str, why: str) -> None:
        super().__init__(f"{topic}: the broker did not take a message: {why}")


class UnusableKafkaOption(StreamsError, ValueError):
    """A librdkafka setting that cannot be used by all of our clients: correct it."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"{name} {why}")


class BrokerRefused(StreamsError, ConnectionError):
    """A broker answers but refuses the login: check user, password and certificates."""

    def __init__(self, bootstrap: str, why: str) -> None:
        super().__init__(f"Kafka at {bootstrap} does not let us in: {why}")


class BrokerUnreachable(StreamsError, ConnectionError):
    """No broker answers at the address: check it, and whether Kafka runs."""

    def __init__(self, bootstrap: str, why: str) -> None:
        super().__init__(f"no Kafka broker answers at {bootstrap}: {why}")


class LostLeadership(StreamsError):
    """Another process may lead now: this one ends, and stands by when it is started again."""


class NameTaken(StreamsError):
    """Another member of the group has started under this one's name: give each its own."""

    def __init__(self, group: str, name: str) -> None:
        super().__init__(f"another member of the group {group} has started as {name}")
