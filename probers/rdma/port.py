"""What the engine needs of a device's port; ``verbs`` implements it, tests have a cable."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple, Protocol

from probers.rdma.packet import QpAddress

#: More than any fabric has.
HOP_LIMIT: Final = 64


class Sent(NamedTuple):
    """A message has been sent. ``number`` is what ``Port.send`` returned; ``sent_ns`` is never
    later than the time of sending."""

    number: int
    sent_ns: int


class Arrived(NamedTuple):
    """A message has arrived at the queue pair ``own``: its payload without the header.

    ``polled_ns`` is never earlier than the time of arrival.
    """

    peer: QpAddress
    own: int
    payload: bytes
    polled_ns: int


class Port(Protocol):
    """The port of an RDMA device with some UD queue pairs; times are monotonic [ns]."""

    @property
    def addresses(self) -> Sequence[QpAddress]:
        """The own queue pairs; other methods name one by its index in this sequence."""

    def prepare(self, own: int, to: QpAddress, dscp: int = 0, hop_limit: int = HOP_LIMIT) -> None:
        """Do what the first message to a host requires; that can take a second."""

    def send(
        self, own: int, to: QpAddress, payload: bytes, dscp: int = 0, hop_limit: int = HOP_LIMIT
    ) -> int:
        """Send a message; returns its number."""

    def poll(self) -> Sent | Arrived | None:
        """The next completion, or None."""

    def fileno(self) -> int:
        """Readable when there are completions, once after each ``rearm``."""

    def rearm(self) -> None:
        """Make ``fileno`` unreadable until the next completion; to be followed by ``poll`` until
        there is none."""

    def close(self) -> None:
        """Release the device."""
