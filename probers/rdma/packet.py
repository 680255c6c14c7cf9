"""RDMA probes: six time stamps, queue pairs as addresses, the layout of a receive buffer. No I/O.

A probe gets two replies, like Sync and Follow_Up of a two-step clock (IEEE 1588): the first is sent
at once, and after its send completion a follow-up carries the time of sending. Both are the request
with another kind (see ``probers.net.packet``), so each is as long as the request.

    prober     t1 starts -> t2 request out                       t5 reply in -> t6 processed
                                 \\                             /
    responder                     t3 request in -> t4 reply out

Source of the formulas: R-Pingmesh (SIGCOMM 2024), section 4; no two clocks are compared.

"Out" is when the message was handed to the device, or when the device stamped it; "in" is when its
completion was polled, or stamped. So t2 and t4 are never too late and t3 and t5 never too early:
the round trip is positive. With software's stamps it is an upper bound that contains both hosts'
system calls for posting and their polling intervals.
"""

from __future__ import annotations

from ipaddress import AddressValueError, IPv4Address, IPv6Address
from socket import inet_ntoa
from typing import Final, NamedTuple

#: A UD receive buffer begins with space for the Global Route Header; with RoCEv2 over IPv4 its last
#: 20 bytes are the IP header (InfiniBand annex A17).
GRH_BYTES: Final = 40
_IP_SOURCE: Final = slice(32, 36)
_IP_VERSION: Final = 20
_MAX_QPN: Final = 0xFFFFFF
#: The UDP destination port of RoCEv2 (InfiniBand annex A17).
ROCE_PORT: Final = 4791
_FIRST_SOURCE_PORT: Final = 0xC000
_SOURCE_PORT_BITS: Final = 14
_GOLDEN_RATIO: Final = 0x61C88647


class QpAddress(NamedTuple):
    """A queue pair in the network: the IPv4 address that its GID maps, and its number.

    It has the shape of ``probers.net.packet.Address``, so the packet's MAC covers both ends.
    """

    ip: str
    qpn: int

    @property
    def gid(self) -> str:
        """The GID of RoCEv2 over IPv4 with all its digits, as pyverbs expects it."""
        return IPv6Address(f"::ffff:{self.ip}").exploded

    def __str__(self) -> str:
        return f"{self.ip}/{self.qpn}"


def source_port(qpn: int) -> int:
    """The UDP source port of a queue pair, 49152..65535.

    Soft-RoCE computes it: the number hashed to 14 bits by Linux's hash_32 (multiplication by the
    golden ratio), plus 49152 (drivers/infiniband/sw/rxe/rxe_qp.c). Other devices take it from the
    flow label of the address handle, so the label is chosen for the same port.
    """
    return _FIRST_SOURCE_PORT + (qpn * _GOLDEN_RATIO % 2**32 >> 32 - _SOURCE_PORT_BITS)


def flow_label(port: int) -> int:
    """A flow label, 20 bits and not 0, of which Linux makes this source port.

    Source: rdma_flow_label_to_udp_sport in include/rdma/ib_verbs.h, the exclusive or of the lower
    14 bits and the upper 6, plus 49152. A label of 0 would leave the choice to the device.
    """
    low = port - _FIRST_SOURCE_PORT
    return low or 1 << _SOURCE_PORT_BITS | 1


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
    """The sender of the message in a receive buffer; None when it did not arrive over IPv4."""
    if len(buffer) < GRH_BYTES or buffer[_IP_VERSION] >> 4 != 4:
        return None
    return inet_ntoa(buffer[_IP_SOURCE])


class Stamps(NamedTuple):
    """The six times of an answered probe [ns]: t1, t2, t5, t6 of the prober's clock, t3, t4 of the
    responder's."""

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
        """Delay in the probing host: (t6 - t1) - (t5 - t2) [ns]."""
        return (self.t6 - self.t1) - (self.t5 - self.t2)

    @property
    def responder_delay(self) -> int:
        """Delay in the replying host: t4 - t3 [ns]."""
        return self.t4 - self.t3


class RdmaRoundTrip(NamedTuple):
    """One answered probe [us]. When the stamps are not ``consistent``, ``rtt_us`` is the time from
    t1 to t6 and the delays are unknown."""

    rtt_us: float
    prober_us: float | None
    responder_us: float | None
    consistent: bool


def round_trip(stamps: Stamps) -> RdmaRoundTrip:
    """The round trip and delays of one probe.

    The stamps of a correct peer are consistent, see above, unless two clocks drift or one is set;
    a round trip that is not positive is no measurement.
    """
    if stamps.rtt > 0 <= min(stamps.prober_delay, stamps.responder_delay):
        return RdmaRoundTrip(
            stamps.rtt / 1e3,
            stamps.prober_delay / 1e3,
            stamps.responder_delay / 1e3,
            consistent=True,
        )
    return RdmaRoundTrip((stamps.t6 - stamps.t1) / 1e3, None, None, consistent=False)
