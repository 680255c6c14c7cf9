"""RDMA probes on paper: six stamps, queue pairs as addresses, what a receive buffer holds. Pure.

A probe is answered in two steps, like a two-step clock's Sync and Follow_Up (IEEE 1588): the answer
leaves at once, and after its send completion a follow-up carries the time when that was. Both are
the question with another kind (see ``wire``), so each is as long as the question.

    prober     t1 asks -> t2 question out                        t5 answer in -> t6 noticed
                                 \\                             /
    responder                     t3 question in -> t4 answer out

Source of the formulas: R-Pingmesh (SIGCOMM 2024), section 4; no two clocks are compared.

Out is when the message was handed to the device, or, where that stamps, when it was on the wire; in
is when its completion was noticed, or stamped. So t2 and t4 never come too late, nor t3 and t5 too
early: the round trip is positive, and with software's stamps an upper bound, which has both posts'
system calls and both hosts' looking for completions in it.
"""

from __future__ import annotations

from ipaddress import AddressValueError, IPv4Address, IPv6Address
from socket import inet_ntoa
from typing import Final, NamedTuple

#: A UD receive buffer begins with the Global Route Header's room; over RoCEv2 and IPv4 its last
#: 20 bytes are the IP header (InfiniBand annex A17).
GRH_BYTES: Final = 40
_IP_SOURCE: Final = slice(32, 36)
_IP_VERSION: Final = 20
_MAX_QPN: Final = 0xFFFFFF


class QpAddress(NamedTuple):
    """A queue pair in the network: the IPv4 address that its GID maps, and its number. Has the
    shape of ``wire.Address``, so that the probe's mac covers both ends here too."""

    ip: str
    qpn: int

    @property
    def gid(self) -> str:
        """The GID of RoCEv2 over IPv4, with all its digits, as pyverbs wants it."""
        return IPv6Address(f"::ffff:{self.ip}").exploded

    def __str__(self) -> str:
        return f"{self.ip}/{self.qpn}"


def parse_address(text: str) -> QpAddress:
    """``10.0.0.2/17`` -> queue pair 17 behind 10.0.0.2; raises ValueError with one line."""
    ip, _, number = text.partition("/")
    try:
        known = str(IPv4Address(ip))
    except AddressValueError as why:
        raise ValueError(f"{text!r}: {why}; give ADDRESS/QPN such as 10.0.0.2/17") from why
    if not number.isdecimal() or not 0 < int(number) <= _MAX_QPN:
        raise ValueError(f"{text!r} has no queue pair number; give ADDRESS/QPN such as 10.0.0.2/17")
    return QpAddress(known, int(number))


def ip_of_gid(gid: str) -> str | None:
    """The IPv4 address that a GID maps; None for link-local and other IPv6 ones."""
    mapped = IPv6Address(gid).ipv4_mapped
    return None if mapped is None else str(mapped)


def source_ip(buffer: bytes) -> str | None:
    """Who sent what lies in a receive buffer; None when it did not come over IPv4."""
    if len(buffer) < GRH_BYTES or buffer[_IP_VERSION] >> 4 != 4:
        return None
    return inet_ntoa(buffer[_IP_SOURCE])


class Stamps(NamedTuple):
    """The six times of an answered probe [ns]; t1, t2, t5, t6 of one clock, t3, t4 of another."""

    t1: int
    t2: int
    t3: int
    t4: int
    t5: int
    t6: int

    @property
    def rtt(self) -> int:
        """Time in the network: (t5 - t2) - (t4 - t3) [ns]."""
        return (self.t5 - self.t2) - (self.t4 - self.t3)

    @property
    def prober_delay(self) -> int:
        """Time that the probing host added: (t6 - t1) - (t5 - t2) [ns]."""
        return (self.t6 - self.t1) - (self.t5 - self.t2)

    @property
    def responder_delay(self) -> int:
        """Time that the answering host added: t4 - t3 [ns]."""
        return self.t4 - self.t3


class RdmaTrip(NamedTuple):
    """One answered probe [us]. ``whole`` is False where the stamps contradict each other: then
    ``rtt_us`` is all the time that passed, and the delays are unknown."""

    rtt_us: float
    prober_us: float | None
    responder_us: float | None
    whole: bool


def trip(stamps: Stamps) -> RdmaTrip:
    """What the stamps say. Those of an honest peer agree, see above, unless two clocks drift or one
    is set; a round trip that is not positive is no measurement."""
    if stamps.rtt > 0 <= min(stamps.prober_delay, stamps.responder_delay):
        return RdmaTrip(
            stamps.rtt / 1e3, stamps.prober_delay / 1e3, stamps.responder_delay / 1e3, whole=True
        )
    return RdmaTrip((stamps.t6 - stamps.t1) / 1e3, None, None, whole=False)
