"""One connection of a container: the frames that it is sent, and the words that it says. No I/O
but on its own socket."""

from __future__ import annotations

import socket
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, Literal

from probers.containers.peers import Peer
from probers.containers.readiness import STATES, State
from probers.publishing.relay.limits import TokenBucket

LENGTH_BYTES: Final = 4
#: What a frame holds: a ping list, or ``{"requests": [...]}``.
Kind = Literal["list", "requests"]

_MAX_LINE_BYTES: Final = 16
#: Of one connection: some words at once, then one each second; more is a defect.
_BYTES_PER_S, _BURST_BYTES = 10.0, 1024.0


class TooMuch(Exception):
    """The container says more than it may; one line."""


class Malformed(Exception):
    """The container says what is no word; one line."""


@dataclass(slots=True)
class Connection:
    """node_id: of its container, None: none of the list's; since_s: when it came; sending: a frame
    that is on its way; waiting: the next one of each kind; sent: the last whole one of each."""

    peer: Peer
    since_s: float
    node_id: str | None = None
    state: State = "starting"
    bucket: TokenBucket = field(init=False)
    line: bytes = b""
    sending: memoryview = field(default_factory=lambda: memoryview(b""))
    waiting: dict[Kind, bytes] = field(default_factory=dict)
    sent: dict[Kind, bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.bucket = TokenBucket(_BYTES_PER_S, _BURST_BYTES, _BURST_BYTES, self.since_s)

    def queue(self, kind: Kind, document: bytes) -> bool:
        """Send a document unless it is the last one of its kind; of those that wait only the newest
        is sent. Returns whether there is something to write."""
        if document == self.sent.get(kind):
            return False
        self.sent[kind] = document
        self.waiting[kind] = len(document).to_bytes(LENGTH_BYTES, "big") + document
        return True

    def write(self, connection: socket.socket) -> bool:
        """Write as much as it takes now; returns whether more is left. Raises OSError."""
        with suppress(BlockingIOError):
            while self.sending or self.waiting:
                if not self.sending:
                    kind: Kind = "list" if "list" in self.waiting else "requests"
                    self.sending = memoryview(self.waiting.pop(kind))
                self.sending = self.sending[connection.send(self.sending) :]
        return bool(self.sending or self.waiting)

    def read(self, data: bytes, now_s: float) -> bool:
        """Take what it has said; returns whether it was a word. Raises TooMuch, Malformed."""
        if self.bucket.spend(len(data), now_s):
            raise TooMuch(f"over {_BURST_BYTES:g} bytes at once")
        *lines, self.line = (self.line + data).split(b"\n")
        for line in lines:
            self.state = _state(line)
        if len(self.line) > _MAX_LINE_BYTES:
            _state(self.line)
        return bool(lines)


def _state(line: bytes) -> State:
    found = next((each for each in STATES if each.encode() == line), None)
    if found is None:
        raise Malformed(f"{line[:_MAX_LINE_BYTES]!r} is none of {', '.join(STATES)}")
    return found
