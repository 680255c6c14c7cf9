"""What the agent and ``probe`` expect of an engine that a peer's kernel answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from typing import Protocol

from probers.net.five_tuple import FiveTuple
from probers.net.packet import Address

#: Spends one packet of the agent's rate limit; False: none is left.
Allowed = Callable[[], bool]
#: The network interface to which the sockets of an own address are bound; "": none.
DeviceOf = Callable[[str], str]


class AgentlessEngine(Protocol):
    """Reports each burst once, when the last of its probes has ended; for the loop's thread.

    sent, answered  probes by own address
    stalled         probes that were in flight while the process did not run
    """

    sent: Counter[str]
    answered: Counter[str]
    stalled: int

    @property
    def in_flight(self) -> int:
        """Probes that have not ended."""

    def probe(self, flow: FiveTuple, burst: int = 1) -> None:
        """Send ``burst`` probes of ``flow``."""

    def retain(self, sources: Collection[Address]) -> None:
        """Release what is held for other own addresses and ports."""

    def close(self) -> None:
        """Give up what is in flight, without a report, and release all sockets."""
