"""Sockets that the compiled helper serves: it answers requests, and reads what comes, by itself.

Authentic replies, times of sending and ICMP errors come as results, some at once, up to 100 ms
later; their stamps are of the kernel, and ``read_ns`` is when the helper read them. Requests for a
queue pair are checked by the helper and answered here. The helper's counts are added to those of
the responder and the pool.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Final

from probers.net import packet
from probers.net.packet import Address, Key, Packet
from probers.net.responder import Responder
from probers.net.udp_socket import IcmpError, Received, UdpSocket
from probers.process.poller import NativePoller, Result

_COUNTS, _REPLY, _STAMP, _ICMP, _PROBED, _QUEUE_PAIR = range(6)
_SILENT: Final = ("not-ours", "bad-mac", "late", "stale", "rate")


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
        on_stamp: Callable[[int, int], None],
        on_icmp_error: Callable[[UdpSocket, IcmpError], None],
    ) -> None:
        """counts    of the pool: strange, unsendable
        on_stamp  sequence, wall ns
        """
        self._poller, self._key, self._responder, self._counts = poller, key, responder, counts
        self._on_reply, self._on_stamp, self._on_icmp_error = on_reply, on_stamp, on_icmp_error
        self._answers = poller.native.answers(
            key.native, responder.rate, responder.burst, responder.fresh_ns, responder.max_sources
        )
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

    def _handle(self, sock: UdpSocket, result: Result) -> None:
        if sock.served is None:  # an earlier callback has closed it
            return
        kind = result[1]
        if kind == _REPLY:  # in the order of the fields
            self._on_reply(sock, Packet._make(result[2]), Received._make(result[3]))
        elif kind == _PROBED:
            self._responder.record_flow((*sock.address, *result[2]), result[3])
        elif kind == _STAMP:
            self._on_stamp(result[2], result[3])
        elif kind == _ICMP:
            self._on_icmp_error(sock, IcmpError(*result[2:]))
        elif kind == _QUEUE_PAIR:
            self._answer_queue_pair(sock, *result[2:])

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

    def _add_counts(self, result: Result) -> None:
        answered, *silent, unsendable, strange, skew_ns = result[2:]
        self._responder.answered += answered
        for why, count in zip(_SILENT, silent, strict=True):
            if count:
                self._responder.silent[why] += count
                if why == "stale":
                    self._responder.last_skew_ns = skew_ns
        for what, count in (("unsendable", unsendable), ("strange", strange)):
            if count:
                self._counts[what] += count
