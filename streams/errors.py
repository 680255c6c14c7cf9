"""What can go wrong in a stage, one class per remedy; anything else crashes the worker."""

from __future__ import annotations


class StreamsError(Exception):
    """Root of the stages' own errors."""


class PublishError(StreamsError):
    """A broker did not take a message: the worker stops, and its restart reads it again."""

    def __init__(self, topic: str, why: str) -> None:
        super().__init__(f"{topic}: the broker did not take a message: {why}")


class BrokerUnreachable(StreamsError, ConnectionError):
    """No broker answers at the address: check it, and whether Kafka runs."""

    def __init__(self, bootstrap: str, why: str) -> None:
        super().__init__(f"no Kafka broker answers at {bootstrap}: {why}")
