"""Sockets that the compiled helper serves: it answers requests, and reads what comes, by itself.

Each probe becomes one result: its reply, an ICMP error, or that its time-out has passed. The helper
matches what comes to the probe by sequence, nonce, socket and peer. Replies to other requests and
ICMP errors about them are results too. Results come some at once, up to 250 ms later; their stamps
are of the kernel, and ``read_ns`` is when the helper read them. Requests for a queue pair are
checked by the helper and answered here. The helper's counts are added to those of the responder and
the pool.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from functools import partial
from typing import Any, Final, Protocol

from probers.net import packet
from probers.net.five_tuple import FiveTuple
from probers.net.packet import Address, Key, Packet
from probers.net.responder import Responder
from probers.net.udp_socket import IcmpError, Received, UdpSocket
from probers.process.loop import grid_of
from probers.process.poller import NativePoller

_COUNTS, _REPLY, _ICMP, _PROBED, _QUEUE_PAIR, _ROUND_TRIP, _FAILED, _UNANSWERED = range(8)
_SILENT: Final = ("not-ours", "bad-mac", "late", "stale", "rate")


class ProbeHandler(Protocol):
    """Gets what became of a probe: one of these is called, once."""

    def on_round_trip(
        self, sequence: int, mono_ns: int, stamped_ns: int, received_ns: int, kernel: bool,
        read_ns: int, responder_received_ns: int, responder_sent_ns: int,
    ) -> None:  # fmt: skip
        """An authenticated reply arrived.

        mono_ns, read_ns     when it was sent, and its reply read: monotonic
        stamped_ns           the kernel's time of sending, on the wall clock; 0: not known
        received_ns, kernel  when the reply arrived, on the wall clock; whether the kernel says so
        The responder's stamps are of its wall clock.
        """

    def on_icmp_error(self, sequence: int, icmp: IcmpError) -> None:
        """A hop, or a kernel at one end, reported that the probe was not delivered."""

    def on_unanswered(self, sequence: int, stalled: bool) -> None:
        """Its time-out has passed; ``stalled`` as of ``probers.process.loop.Deadlines``."""

    def on_withdrawn(self, sequence: int) -> None:
        """Its socket was closed: its outcome stays unknown."""


class NativeSockets:
    """The helper's part of a pool's sockets."""

    def __init__(
        self,
        poller: NativePoller,
        key: Key,
        responder: Responder,
        counts: Counter[str],
        *,
        on_reply: Callable[[UdpSocket, Packet, Received], None],
        on_icmp_error: Callable[[UdpSocket, IcmpError], None],
    ) -> None:
        """counts                   of the pool: strange, unsendable
        on_reply, on_icmp_error  about requests that are no probes
        """
        self._poller, self._key, self._responder, self._counts = poller, key, responder, counts
        self._on_reply, self._on_icmp_error = on_reply, on_icmp_error
        self._probes: dict[int, tuple[ProbeHandler, FiveTuple]] = {}
        self._answers = poller.native.answers(
            key.native, responder.rate, responder.burst, responder.fresh_ns, responder.max_sources,
            responder.flow_rest_ns,
        )  # fmt: skip
        poller.handlers[self._answers.token] = self._add_counts

    def serve(self, sock: UdpSocket) -> bool:
        """Serve a socket from now on; False: not one of its address family. Raises OSError."""
        if ":" in sock.address[0]:
            return False
        sock.served = self._answers.serve(sock.fileno(), *sock.address, sock.has_send_timestamps)
        self._poller.handlers[sock.served.token] = partial(self._handle, sock)
        return True

    def release(self, sock: UdpSocket) -> bool:
        """Serve it no more; before it is closed. Results that are still here are dropped. False: it
        was not served."""
        if sock.served is None:
            return False
        del self._poller.handlers[sock.served.token]
        sock.served.close()
        sock.served = None
        return True

    def probe(
        self, sock: UdpSocket, handler: ProbeHandler, sequence: int, flow: FiveTuple,
        timeout_ns: int,
    ) -> None:  # fmt: skip
        """Send a probe from a served socket; ``sequence`` is its name here, not in the packet.
        Raises OSError when the kernel refuses."""
        assert sock.served is not None  # noqa: S101  # as said
        sock.served.probe(sequence, *flow.dst, flow.dscp, timeout_ns, grid_of(timeout_ns))
        self._probes[sequence] = (handler, flow)

    def withdraw(self, sources: Collection[Address]) -> None:
        """The sockets of these addresses are about to be closed."""
        for sequence, (handler, flow) in list(self._probes.items()):
            if flow.src in sources:
                del self._probes[sequence]
                handler.on_withdrawn(sequence)

    def newest(self, source: Address, target: Address) -> int:
        """The newest waiting probe between two addresses; 0: none."""
        between = (n for n, (_, flow) in reversed(self._probes.items())
                   if flow.src == source and flow.dst == target)  # fmt: skip
        return next(between, 0)

    def fail(self, sock: UdpSocket, sequence: int, icmp: IcmpError) -> None:
        """An ICMP error that quotes headers only is about this probe."""
        if sock.served is not None:
            sock.served.forget(sequence)
        self._probes.pop(sequence)[0].on_icmp_error(sequence, icmp)

    def _handle(self, sock: UdpSocket, token: int, kind: int, *about: Any) -> None:
        if sock.served is None:  # an earlier callback has closed it
            return
        if kind >= _ROUND_TRIP:
            if (waiting := self._probes.pop(about[0], None)) is None:
                return
            handler = waiting[0]
            if kind == _ROUND_TRIP:  # as most are
                handler.on_round_trip(*about)
            elif kind == _UNANSWERED:
                handler.on_unanswered(*about)
            else:
                handler.on_icmp_error(about[0], IcmpError(b"", *about[1:]))
        elif kind == _PROBED:
            peer, read_ns = about
            self._responder.record_flow((*sock.address, *peer), read_ns)
        elif kind == _REPLY:  # in the order of the fields
            self._on_reply(sock, Packet._make(about[0]), Received._make(about[1]))
        elif kind == _ICMP:
            self._on_icmp_error(sock, IcmpError(*about))
        elif kind == _QUEUE_PAIR:
            self._answer_queue_pair(sock, *about)

    def _answer_queue_pair(
        self, sock: UdpSocket, peer: Address, key: int, dscp: int, sequence: int, mono_ns: int,
        wall_ns: int, nonce: int, which: int,
    ) -> None:  # fmt: skip
        """``key``: 1, made with the second one."""
        made_with = self._key.second if key else self._key
        if made_with is None:  # it was removed since
            return
        number = self._responder.queue_pair(sock.address[0], which)
        reply = Packet(packet.REPLY, sequence, mono_ns, wall_ns, nonce, dscp, which, number)
        try:
            sock.send(packet.pack(made_with, reply, sock.address, peer), peer, dscp=dscp & 0x3F)
        except OSError:
            self._counts["unsendable"] += 1

    def _add_counts(self, token: int, kind: int, *counts: int) -> None:
        answered, *silent, unsendable, strange, skew_ns = counts
        self._responder.answered += answered
        for why, count in zip(_SILENT, silent, strict=True):
            if count:
                self._responder.silent[why] += count
                if why == "stale":
                    self._responder.last_skew_ns = skew_ns
        for what, count in (("unsendable", unsendable), ("strange", strange)):
            if count:
                self._counts[what] += count
