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

from ipaddress import IPv6Address
from socket import inet_ntoa
from typing import Final, NamedTuple

from schemas.addresses import canonical

#: A UD receive buffer begins with space for the Global Route Header. With RoCEv2 over IPv6 the IP
#: header fills it; over IPv4 it is the last 20 bytes, and the first 20 are undefined (InfiniBand
#: annex A17).
GRH_BYTES: Final = 40
_IPV4_HEADER: Final = 20
_IPV4_SOURCE: Final = slice(32, 36)
_IPV6_SOURCE: Final = slice(8, 24)
_MAX_QPN: Final = 0xFFFFFF
#: The UDP destination port of RoCEv2 (InfiniBand annex A17).
ROCE_PORT: Final = 4791
_FIRST_SOURCE_PORT: Final = 0xC000
_SOURCE_PORT_BITS: Final = 14
_GOLDEN_RATIO: Final = 0x61C88647


class QpAddress(NamedTuple):
    """A queue pair in the network: the IP address of its GID, and its number.

    It has the shape of ``probers.net.packet.Address``, so the packet's MAC covers both ends.
    """

    ip: str
    qpn: int

    @property
    def gid(self) -> str:
        """The RoCEv2 GID with all its digits, as pyverbs expects it."""
        return IPv6Address(self.ip if self.ipv6 else f"::ffff:{self.ip}").exploded

    @property
    def ipv6(self) -> bool:
        """Whether its packets are of IPv6; else of IPv4."""
        return ":" in self.ip

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
    """``10.0.0.2/17`` -> queue pair 17 behind 10.0.0.2, ``2001:db8::2/17`` likewise; raises
    ValueError with one line."""
    ip, _, number = text.partition("/")
    try:
        known = canonical(ip)
    except ValueError as why:
        raise ValueError(f"{text!r}: {why}; give ADDRESS/QPN such as 10.0.0.2/17") from why
    if not number.isdecimal() or not 0 < int(number) <= _MAX_QPN:
        raise ValueError(f"{text!r} has no queue pair number; give ADDRESS/QPN such as 10.0.0.2/17")
    return QpAddress(known, int(number))


def ip_of_gid(gid: str, *, link_local: bool = False) -> str | None:
    """The IP address of a RoCEv2 GID: of IPv4 where it maps one, else of IPv6.

    None for an empty entry and for what no host has, and for an address of one link, which another
    host may have too, unless ``link_local``.
    """
    address = IPv6Address(gid)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    if address.is_unspecified or address.is_loopback or address.is_multicast:
        return None
    return None if address.is_link_local and not link_local else str(address)


def source_ip(buffer: bytes, *, ipv6: bool = False) -> str | None:
    """The sender of the message in a receive buffer; None when it did not arrive over this version
    of IP.

    ipv6  of the receiving queue pair's GID; else IPv4. A message of the other version is not for
          that GID, and the undefined bytes before a header of IPv4 may look like one of IPv6.
    """
    begin, version = (0, 6) if ipv6 else (_IPV4_HEADER, 4)
    if len(buffer) < GRH_BYTES or buffer[begin] >> 4 != version:
        return None
    if ipv6:
        return str(IPv6Address(buffer[_IPV6_SOURCE]))
    return inet_ntoa(buffer[_IPV4_SOURCE])


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
