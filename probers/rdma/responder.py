"""Answers RDMA probes: the reply at once, then a follow-up with its time of sending."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic_ns, time_ns

from probers.net import packet
from probers.net.packet import Key, Packet
from probers.net.responder import Responder
from probers.rdma.packet import QpAddress
from probers.rdma.port import Arrived, Port, Sent


class RdmaResponder:
    """Sends the replies that ``Responder`` builds, over the queue pair that was asked."""

    def __init__(
        self,
        key: Key,
        port: Port,
        responder: Responder,
        *,
        now: Callable[[], int] = monotonic_ns,
        wall: Callable[[], int] = time_ns,
    ) -> None:
        self._key, self._port, self._responder = key, port, responder
        self._now, self._wall = now, wall
        self._sending: dict[int, tuple[int, QpAddress, Packet, int]] = {}

    def poll(self) -> bool:
        """Handle one completion; False: there was none."""
        event = self._port.poll()
        if event is not None:
            self.handle(event)
        return event is not None

    def handle(self, event: Sent | Arrived) -> None:
        """Answer a request, or follow up a reply that has been sent. Raises what sending raises."""
        if isinstance(event, Arrived):
            self._reply(event)
        elif event.number in self._sending:
            own, peer, reply, t3 = self._sending.pop(event.number)
            t4_wall = reply.received_ns + event.sent_ns - t3
            follow_up = reply._replace(kind=packet.FOLLOW_UP, sent_ns=t4_wall)
            payload = packet.pack(self._key, follow_up, self._port.addresses[own], peer)
            self._port.send(own, peer, payload, reply.dscp & 0x3F)

    def _reply(self, event: Arrived) -> None:
        wall, mono = self._wall(), self._now()
        received = wall - (mono - event.polled_ns)
        own = self._port.addresses[event.own]
        answer = self._responder.reply(event.payload, event.peer, own, received, wall, mono)
        if answer is None:
            return
        payload, dscp = answer
        number = self._port.send(event.own, event.peer, payload, dscp)
        self._sending[number] = (event.own, event.peer, packet.unpack(payload), event.polled_ns)
