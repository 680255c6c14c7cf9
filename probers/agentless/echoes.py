"""Echo requests in flight, and who gets their answers; the only place with ICMP sockets."""

from __future__ import annotations

import os
from collections.abc import Collection
from time import monotonic_ns
from typing import Final, NamedTuple, Protocol

from probers.agentless.echo_socket import SIZE, Echo, EchoSocket
from probers.agentless.engine import DeviceOf
from probers.net.five_tuple import FiveTuple
from probers.net.packet import Address
from probers.net.udp_socket import IcmpError, Received, SendTimestamp
from probers.process.loop import Loop

_SEQUENCES: Final = 0x10000  # an echo's sequence has 16 bits


class EchoHandler(Protocol):
    """What a sender of requests implements; at most one of the first three is called."""

    def on_echo(self, number: int, received: Received) -> None:
        """The peer answered."""

    def on_icmp_error(self, number: int, icmp: IcmpError) -> None:
        """A hop, or a kernel at one end, reported that the request was not delivered."""

    def on_withdrawn(self, number: int) -> None:
        """The request's socket was closed: its outcome stays unknown."""

    def on_send_timestamp(self, number: int, sent_ns: int) -> None:
        """The kernel sent the request at wall-clock time ``sent_ns``."""


class _Sent(NamedTuple):
    handler: EchoHandler
    flow: FiveTuple
    sequence: int
    nonce: bytes


class Echoes:
    """One socket for each own address and identifier: ``flow.src``; ``flow.dst`` has port 0."""

    def __init__(self, loop: Loop, device_of: DeviceOf) -> None:
        self._loop, self._device_of = loop, device_of
        self._sockets: dict[Address, EchoSocket] = {}
        self._sent: dict[int, _Sent] = {}
        self._numbers: dict[tuple[Address, int], int] = {}  # source, sequence -> number
        self._last = int.from_bytes(os.urandom(2), "big")

    def next_number(self) -> int:
        """A number for the next request; its low 16 bits are the sequence."""
        self._last += 1
        return self._last

    def send(
        self, handler: EchoHandler, number: int, flow: FiveTuple, *, ttl: int = 0,
        timestamp: bool = False,
    ) -> int:  # fmt: skip
        """Send one request; returns its time [monotonic ns]. Raises OSError."""
        sock, sequence = self.open(flow.src), number % _SEQUENCES
        if (wrapped := self._numbers.get((flow.src, sequence))) is not None:
            self.cancel(wrapped)  # 65,536 later: its sender has given it up long ago
        nonce, mono_ns = os.urandom(8), monotonic_ns()
        sock.send(
            sock.request(sequence, nonce), flow.dst, dscp=flow.dscp, ttl=ttl, timestamp=timestamp
        )
        self._sent[number] = _Sent(handler, flow, sequence, nonce)
        self._numbers[flow.src, sequence] = number
        if timestamp:
            self._read_error(sock)  # the time stamp is mostly there already: saves a wake-up
        return mono_ns

    def cancel(self, number: int) -> None:
        """Stop waiting for an answer; the handler is not called any more."""
        self._take(number)

    def retain(self, sources: Collection[Address]) -> None:
        """Close the sockets of others; their requests are withdrawn."""
        for number, sent in list(self._sent.items()):
            if sent.flow.src not in sources:
                self._take(number)
                sent.handler.on_withdrawn(number)
        for address in self._sockets.keys() - set(sources):
            sock = self._sockets.pop(address)
            self._loop.remove_reader(sock.fileno())
            sock.close()

    def open(self, address: Address) -> EchoSocket:
        """The socket of an own address and identifier; raises OSError."""
        sock = self._sockets.get(address)
        if sock is None:
            sock = made = EchoSocket(*address, self._device_of(address[0]))
            self._loop.add_reader(made.fileno(), lambda: self._on_readable(made))
            self._sockets[address] = made
        return sock

    def _take(self, number: int) -> _Sent | None:
        sent = self._sent.pop(number, None)
        if sent is not None:
            self._numbers.pop((sent.flow.src, sent.sequence), None)
        return sent

    def _find(self, sock: EchoSocket, echo: Echo | None, ip: str) -> tuple[int, _Sent] | None:
        """The request of an echo to or from an address."""
        number = None if echo is None else self._numbers.get((sock.address, echo.sequence))
        if echo is None or number is None:
            return None
        sent = self._sent[number]
        known = echo.nonce == sent.nonce or (not echo.nonce and not echo.reply)
        return (number, sent) if known and sent.flow.dst[0] == ip else None

    def _on_readable(self, sock: EchoSocket) -> None:
        received = sock.receive()
        if received is None:
            while self._read_error(sock):
                pass
            return
        echo = sock.read(received.data)
        if echo is None or not echo.reply:
            return
        found = self._find(sock, echo, received.peer[0])
        if found is not None:
            while self._read_error(sock):  # the time stamp of sending
                pass
            self._take(found[0])
            found[1].handler.on_echo(found[0], received)

    def _read_error(self, sock: EchoSocket) -> bool:
        """Handle one entry of the socket's error queue; False when it is empty."""
        error = sock.next_error()
        if error is None:
            return False
        if isinstance(error, SendTimestamp):  # quotes the whole packet
            echo = sock.read(error.data[-SIZE:])
            number = None if echo is None else self._numbers.get((sock.address, echo.sequence))
            if number is not None:
                self._sent[number].handler.on_send_timestamp(number, error.sent_ns)
        elif (found := self._find(sock, sock.read(error.data), error.target[0])) is not None:
            self._take(found[0])
            found[1].handler.on_icmp_error(found[0], error)
        return True
