"""ICMP traceroutes: echo requests of exactly the probed addresses with small hop limits."""

from __future__ import annotations

from probers.agentless.echoes import Echoes
from probers.agentless.engine import Allowed
from probers.net.five_tuple import FiveTuple
from probers.net.udp_socket import IcmpError, Received
from probers.probing.traceroute import HopHandler


class EchoHops:
    """Sends the packets of ``Tracer``: echoes of the probed identifier with small hop limits."""

    def __init__(self, echoes: Echoes, allowed: Allowed) -> None:
        self._echoes, self._allowed = echoes, allowed
        self._handlers: dict[int, HopHandler] = {}

    def next_sequence(self) -> int:
        """A number for the next packet."""
        return self._echoes.next_number()

    def send_hop(self, handler: HopHandler, sequence: int, flow: FiveTuple, ttl: int) -> bool:
        """Send one echo request; False: the rate limit does not allow it. Raises OSError."""
        if not self._allowed():
            return False
        self._handlers[sequence] = handler
        try:
            self._echoes.send(self, sequence, flow, ttl=ttl)
        except OSError:
            del self._handlers[sequence]
            raise
        return True

    def cancel(self, sequence: int) -> None:
        """Stop waiting for an answer."""
        self._handlers.pop(sequence, None)
        self._echoes.cancel(sequence)

    def on_echo(self, number: int, received: Received) -> None:
        """The destination answered."""
        self._handlers.pop(number).on_answer(number)

    def on_icmp_error(self, number: int, icmp: IcmpError) -> None:
        """A hop answered."""
        self._handlers.pop(number).on_icmp_error(number, icmp)

    def on_withdrawn(self, number: int) -> None:
        """The list was replaced: the tracer has dropped the trace too."""
        self._handlers.pop(number, None)

    def on_send_timestamp(self, number: int, sent_ns: int) -> None:
        """Traces request no time stamps."""
