"""Messages that a stage reads and writes, as plain values without a broker."""

from __future__ import annotations

from typing import NamedTuple

from schemas.limits import LIMITS

Headers = list[tuple[str, bytes]]


class InMessage(NamedTuple):
    """A message of a partition.

    offset   position in the partition; time_ms: the broker's time stamp, i.e. when it arrived
    headers  by name; of a repeated name the last one counts
    key      the message's key, empty when it has none
    """

    offset: int
    time_ms: int
    value: bytes
    headers: dict[str, bytes]
    key: bytes = b""

    def header(self, name: str) -> str:
        """A header as text, empty when it is absent; of a giant one the beginning."""
        return self.headers.get(name, b"")[: LIMITS.header_bytes].decode("utf-8", "replace")


class OutMessage(NamedTuple):
    """A message to publish; equal keys stay in order."""

    topic: str
    key: bytes
    value: bytes
    headers: Headers
