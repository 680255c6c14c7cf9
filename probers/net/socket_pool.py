"""All UDP sockets of an agent: sends requests, hands replies to their senders, answers peers."""

from __future__ import annotations

import errno
import os
from collections import Counter
from collections.abc import Iterable
from enum import Enum
from time import monotonic_ns, time_ns
from typing import Final, NamedTuple, Protocol

from probers.net import packet
from probers.net.five_tuple import FiveTuple
from probers.net.native_sockets import NativeSockets, ProbeHandler
from probers.net.packet import Address, Key, Packet
from probers.net.responder import Responder, TokenBucket
from probers.net.send_delay import SendDelay
from probers.net.udp_socket import IcmpError, Received, SendTimestamp, UdpSocket
from probers.process.log import log_event
from probers.process.loop import Loop
from probers.process.poller import NativePoller

#: Most sockets of an agent, whatever the system allows: eight NICs with 512 source ports each.
MAX_SOCKETS: Final = 4096


class ReplyHandler(Protocol):
    """What a sender of requests implements. At most one of ``on_reply``, ``on_icmp_error`` and
    ``on_withdrawn`` is called per request."""

    def on_reply(self, sequence: int, reply: Packet, received: Received) -> None:
        """An authenticated reply arrived."""

    def on_icmp_error(self, sequence: int, icmp: IcmpError) -> None:
        """A hop, or a kernel at one end, reported that the request was not delivered."""

    def on_withdrawn(self, sequence: int) -> None:
        """The request's socket was closed: its outcome stays unknown."""

    def on_send_timestamp(self, sequence: int, sent_ns: int) -> None:
        """The kernel sent the request at wall-clock time ``sent_ns``."""


class ProbeSender(ReplyHandler, ProbeHandler, Protocol):
    """What a sender of probes implements, with the compiled helper or without."""


class Sending(Enum):
    """What ``SocketPool.send_probe`` did."""

    OVER_BUDGET = "nothing: the agent's rate limit does not allow it"
    SENT = "sent it; its time-out is the sender's to watch"
    WATCHED = "sent it; the compiled helper watches its time-out"


class _Request(NamedTuple):
    handler: ReplyHandler
    flow: FiveTuple
    nonce: int


class SocketPool:
    """Opens, watches and closes sockets; the only place that sends.

    ``max_rate`` bounds the requests per second of the whole agent and ``max_sockets`` its sockets,
    whatever any ping list contains.
    """

    def __init__(
        self,
        loop: Loop,
        key: Key,
        responder: Responder,
        max_rate: float,
        max_sockets: int = MAX_SOCKETS,
    ) -> None:
        self._loop, self._key, self._responder = loop, key, responder
        self.max_sockets = max_sockets
        self._sockets: dict[Address, UdpSocket] = {}
        self._pending: dict[int, _Request] = {}
        self._newest: dict[tuple[Address, Address], int] = {}
        self._unstamped: set[int] = set()
        self._send_delay = SendDelay()
        self._budget = TokenBucket(max_rate, max(32.0, max_rate / 10))
        self._sequence = int.from_bytes(os.urandom(4), "big") << 32
        #: Network interface to bind to, by own address; without an entry the routing tables decide.
        self.devices: dict[str, str] = {}
        #: over-budget, strange (a reply to no pending request), unsendable (the kernel refused a
        #: reply), send-ERRNO (the kernel refused a request)
        self.counts: Counter[str] = Counter()
        #: Addresses whose socket could not be opened at the last attempt -> name of the errno.
        self.unopened: dict[Address, str] = {}
        self._native = self._native_sockets()

    def __len__(self) -> int:
        return len(self._sockets)

    def open(self, address: Address) -> UdpSocket:
        """The socket bound to ``address``, opened when there is none; raises OSError, EMFILE when
        ``max_sockets`` are open."""
        sock = self._sockets.get(address)
        if sock is None:
            try:
                sock = self._open(address)
            except OSError as why:
                self.unopened[address] = errno.errorcode.get(why.errno or 0, "failed")
                raise
            self.unopened.pop(address, None)
        return sock

    @property
    def descriptors(self) -> list[int]:
        """Of the open sockets, for the agent that follows this one."""
        return [sock.fileno() for sock in self._sockets.values()]

    def adopt(self, descriptors: Iterable[int]) -> None:
        """Serve sockets that the agent before this one had open; they are closed when the next list
        does not need them."""
        for descriptor in descriptors:
            try:
                self._watch(UdpSocket(descriptor=descriptor))
            except OSError as why:
                log_event("warning", "socket-not-taken-over", why=str(why))

    def _open(self, address: Address) -> UdpSocket:
        if len(self._sockets) >= self.max_sockets:
            raise OSError(errno.EMFILE, "the agent's bound on sockets is reached")
        return self._watch(UdpSocket(*address, self.devices.get(address[0], "")))

    def _watch(self, sock: UdpSocket) -> UdpSocket:
        try:
            if self._native is None or not self._native.serve(sock):
                self._loop.add_reader(sock.fileno(), lambda: self._on_readable(sock))
        except OSError:  # every reply to an unwatched socket would look like a loss
            sock.close()
            raise
        self._sockets[sock.address] = sock
        return sock

    def close_except(self, addresses: Iterable[Address]) -> None:
        """Close every socket that is bound to none of ``addresses``.

        Pending requests of a closed socket are withdrawn: they are neither answered nor lost.
        """
        remaining = set(addresses)
        closing = self._sockets.keys() - remaining
        if self._native is not None:
            self._native.withdraw(closing)
        for sequence, request in list(self._pending.items()):
            if request.flow.src in closing:
                self.cancel(sequence)
                request.handler.on_withdrawn(sequence)
        for address in closing:
            sock = self._sockets.pop(address)
            if self._native is None or not self._native.release(sock):
                self._loop.remove_reader(sock.fileno())
            sock.close()
        self._newest.clear()
        for address in self.unopened.keys() - remaining:
            del self.unopened[address]

    def next_sequence(self) -> int:
        """A number for the next request: unique in this process, not predictable from outside."""
        self._sequence += 1
        return self._sequence

    def within_budget(self, mono_ns: int) -> bool:
        """Spend one request of ``max_rate`` at monotonic time ``mono_ns``; False, which is counted:
        none is left. For requests that are not sent from these sockets."""
        allowed = self._budget.allows(mono_ns)
        if not allowed:
            self.counts["over-budget"] += 1
        return allowed

    def send_probe(
        self, sender: ProbeSender, sequence: int, flow: FiveTuple, timeout_ns: int
    ) -> Sending:
        """Send one probe of ``flow``, for which the kernel's time of sending is wanted.

        Raises OSError when the socket cannot be opened or the kernel refuses to send.
        """
        if self._native is None or ":" in flow.src[0]:
            sent = self.send_request(sender, sequence, flow, packet.PROBE, timestamp=True)
            return Sending.SENT if sent else Sending.OVER_BUDGET
        if not self._budget.allows(monotonic_ns()):
            self.counts["over-budget"] += 1
            return Sending.OVER_BUDGET
        try:
            sock = self._sockets.get(flow.src) or self.open(flow.src)
            self._native.probe(sock, sender, sequence, flow, timeout_ns)
        except OSError as why:
            self._count_refusal(why)
            raise
        return Sending.WATCHED

    def send_request(
        self,
        handler: ReplyHandler,
        sequence: int,
        flow: FiveTuple,
        kind: int,
        *,
        ttl: int = 0,
        timestamp: bool = False,
        which: int = 0,
    ) -> bool:
        """Send one request of ``flow``; False when the agent's rate limit does not allow it.

        which  of the receiver's queue pairs, for the kind QUEUE_PAIR
        Raises OSError when the socket cannot be opened or the kernel refuses to send.
        """
        mono_ns = monotonic_ns()
        if not self.within_budget(mono_ns):
            return False
        try:
            sock = self.open(flow.src)
            if sock.served is not None:
                nonce = sock.served.request(kind, sequence, *flow.dst, flow.dscp, ttl, which)
            else:
                nonce = int.from_bytes(os.urandom(8), "big")
                request = Packet(kind, sequence, mono_ns, time_ns(), nonce, flow.dscp, which)
                raw = packet.pack(self._key, request, flow.src, flow.dst)
                sock.send(raw, flow.dst, dscp=flow.dscp, ttl=ttl, timestamp=timestamp)
        except OSError as why:
            self._count_refusal(why)
            raise
        self._pending[sequence] = _Request(handler, flow, nonce)
        self._newest[flow.src, flow.dst] = sequence
        if timestamp and sock.has_send_timestamps and sock.served is None:
            self._unstamped.add(sequence)
            self._read_error(sock)  # the time stamp is mostly there already: saves a wake-up
        return True

    def send_hop(self, handler: ReplyHandler, sequence: int, flow: FiveTuple, ttl: int) -> bool:
        """Send one request of a traceroute, as ``send_request``."""
        return self.send_request(handler, sequence, flow, packet.TRACE, ttl=ttl)

    def _count_refusal(self, why: OSError) -> None:
        self.counts[f"send-{errno.errorcode.get(why.errno or 0, 'failed')}"] += 1

    def cancel(self, sequence: int) -> None:
        """Stop waiting for the reply to a request; its handler is not called any more."""
        self._pending.pop(sequence, None)
        self._unstamped.discard(sequence)

    def _on_readable(self, sock: UdpSocket) -> None:
        received = sock.receive()
        if received is None:
            while self._read_error(sock):
                pass
        elif len(received.data) == packet.SIZE and received.data[5] == packet.REPLY:
            self._on_reply(sock, received)
        else:
            self._on_request(sock, received)

    def _on_request(self, sock: UdpSocket, received: Received) -> None:
        now_ns = time_ns()
        answer = self._responder.reply(
            received.data, received.peer, sock.address, received.received_ns, now_ns,
            monotonic_ns(), self._send_delay.usual_ns if received.kernel else 0,
        )  # fmt: skip
        if answer is None:
            return
        reply, dscp = answer
        timestamp = self._send_delay.is_due()
        try:
            sock.send(reply, received.peer, dscp=dscp, timestamp=timestamp)
        except OSError:
            self.counts["unsendable"] += 1
            return
        if timestamp:
            self._read_reply_stamp(sock, reply, now_ns)

    def _read_reply_stamp(self, sock: UdpSocket, reply: bytes, now_ns: int) -> None:
        """Learn when the kernel sent the reply, if it has reported that already. A stamp that comes
        later is dropped by ``_handle_error``, since no request of ours has its sequence."""
        while (error := sock.next_error()) is not None:
            if isinstance(error, SendTimestamp) and error.data.endswith(reply):
                self._send_delay.add(error.sent_ns - now_ns)
                return
            self._handle_error(sock, error)

    def _on_reply(self, sock: UdpSocket, received: Received) -> None:
        try:
            reply = packet.unpack(received.data)
        except packet.PacketError:
            self.counts["strange"] += 1
            return
        if self._matching(sock, reply, received) is None or not packet.verify(
            self._key, received.data, received.peer, sock.address
        ):
            self.counts["strange"] += 1
            return
        while reply.sequence in self._unstamped and self._read_error(sock):
            pass
        self._unstamped.discard(reply.sequence)
        self._on_authentic_reply(sock, reply, received)

    def _on_authentic_reply(self, sock: UdpSocket, reply: Packet, received: Received) -> None:
        request = self._matching(sock, reply, received)
        if request is None:
            self.counts["strange"] += 1
            return
        del self._pending[reply.sequence]
        request.handler.on_reply(reply.sequence, reply, received)

    def _matching(self, sock: UdpSocket, reply: Packet, received: Received) -> _Request | None:
        """The pending request that this is the reply to, if it is authentic."""
        request = self._pending.get(reply.sequence)
        if (
            request is None
            or request.nonce != reply.nonce
            or request.flow.dst != received.peer
            or request.flow.src != sock.address
        ):
            return None
        return request

    def _read_error(self, sock: UdpSocket) -> bool:
        """Handle one entry of the socket's error queue; False when it is empty."""
        error = sock.next_error()
        if error is None:
            return False
        self._handle_error(sock, error)
        return True

    def _handle_error(self, sock: UdpSocket, error: SendTimestamp | IcmpError) -> None:
        if isinstance(error, IcmpError):
            sequence = packet.sequence_of(error.data)
            if sequence is None and not error.data:  # the router quoted headers only
                sequence = self._newest.get((sock.address, error.target))
                probe = self._native.newest(sock.address, error.target) if self._native else 0
                if self._native is not None and probe > (sequence or 0):
                    self._native.fail(sock, probe, error)
                    return
            request = self._pending.pop(sequence, None) if sequence is not None else None
            if request is not None and sequence is not None:
                self._unstamped.discard(sequence)
                request.handler.on_icmp_error(sequence, error)
        else:
            sequence = packet.sequence_of(error.data, len(error.data) - packet.SIZE)
            if sequence is not None:
                self._on_stamp(sequence, error.sent_ns)

    def _on_stamp(self, sequence: int, sent_ns: int) -> None:
        if (request := self._pending.get(sequence)) is not None:
            self._unstamped.discard(sequence)
            request.handler.on_send_timestamp(sequence, sent_ns)

    def _native_sockets(self) -> NativeSockets | None:
        """Where the loop waits with the compiled helper."""
        if not isinstance(self._loop.poller, NativePoller):
            return None
        return NativeSockets(
            self._loop.poller, self._key, self._responder, self.counts,
            on_reply=self._on_authentic_reply, on_icmp_error=self._handle_error,
        )  # fmt: skip
