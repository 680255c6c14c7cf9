"""The probe packet: one layout of 72 bytes for request and reply, authenticated. No I/O.

    magic 4 | version 1 | kind 1 | dscp 1 | - 1 | sequence 8 | monotonic ns 8 | wall ns 8 |
    nonce 8 | responder received, wall ns 8 | responder sent, wall ns 8 | mac 16

The reply is the request with another kind and the responder's two time stamps filled in. It is
never longer than the request, so a responder cannot be used to amplify traffic. RDMA replies in two
such packets (see ``probers.rdma.packet``). A request of kind QUEUE_PAIR carries a count in place of
the first stamp, and its reply a queue pair's number in place of the second (see
``probers.rdma.peers``).

The MAC is HMAC-SHA256 truncated to 16 bytes, over all fields before it *and the addresses and
ports* of the datagram. Freshness: a responder replies only while its wall clock is within
``FRESH_NS`` of the request's. Replay: responders do not store nonces. A captured request that is
sent again within that bound gets another reply, but only at the address and port that it originally
came from, and at most at the rate of that source; the prober ignores the reply, because it accepts
one per sequence and nonce. Hosts whose clocks differ by more than the bound do not reply to each
other: the responder counts and reports such a clock as a fault.
"""

from __future__ import annotations

import hashlib
import struct
from hmac import compare_digest
from socket import AF_INET6, inet_aton, inet_pton
from typing import Final, NamedTuple

from schemas.compiled import native

MAGIC: Final = b"SKHP"
VERSION: Final = 1
PROBE: Final = 1  # a request whose round trip is measured
REPLY: Final = 2
TRACE: Final = 3  # a request with a small TTL; the destination replies as to a probe
FOLLOW_UP: Final = 4  # the second reply (RDMA): the time when the first one was sent
QUEUE_PAIR: Final = 5  # asks for the number of one of the receiver's queue pairs (RDMA, over UDP)
KINDS: Final = (PROBE, REPLY, TRACE, FOLLOW_UP, QUEUE_PAIR)

FRESH_NS: Final = 5_000_000_000
MIN_KEY_BYTES: Final = 16
KEY_VARIABLE: Final = "SKH_PROBE_KEY"
_MAC_BYTES: Final = 16
_BODY: Final = struct.Struct("!4sBBBxQqqQqq")
_ENDS: Final = struct.Struct("!4sI4sI")  # RDMA has queue pair numbers of 24 bits for ports
_ENDS_6: Final = struct.Struct("!16sI16sI")
SIZE: Final = _BODY.size + _MAC_BYTES

Address = tuple[str, int]


class PacketError(ValueError):
    """The bytes are not a probe packet."""


class Key:
    """The shared key as HMAC's two precomputed hash states (RFC 2104).

    That is three times as fast as hashing the key for each packet, and printing or logging a Key
    does not show the secret. While a fabric changes its key there is a second one: packets are made
    with the first, and accepted with either.
    """

    __slots__ = ("_inner", "_outer", "native", "second")

    def __init__(self, secret: bytes, second: bytes | None = None) -> None:
        """Raises ValueError when a secret is shorter than MIN_KEY_BYTES."""
        if len(secret) < MIN_KEY_BYTES:
            raise ValueError(f"a probe key of {len(secret)} bytes; give at least {MIN_KEY_BYTES}")
        #: The other key that is accepted; None: there is none.
        self.second = None if second is None else Key(second)
        block = hashlib.sha256(secret).digest() if len(secret) > 64 else secret
        block = block.ljust(64, b"\0")
        self._inner = hashlib.sha256(bytes(byte ^ 0x36 for byte in block))
        self._outer = hashlib.sha256(bytes(byte ^ 0x5C for byte in block))
        #: The same key for the compiled helper; None: it is not installed.
        self.native = None if native.module is None else native.module.Key(secret, second)

    def replace(self, newer: Key) -> None:
        """Become a copy of another key, for all that hold this one."""
        self._inner, self._outer, self.second = newer._inner, newer._outer, newer.second
        if self.native is not None:
            self.native.replace(newer.native)

    def mac(self, message: bytes) -> bytes:
        """HMAC-SHA256 of the message with the first key, in full."""
        inner, outer = self._inner.copy(), self._outer.copy()
        inner.update(message)
        outer.update(inner.digest())
        return outer.digest()


class Packet(NamedTuple):
    """A request or a reply. Times are nanoseconds: ``monotonic_ns`` and ``wall_ns`` of the prober's
    clocks, ``received_ns`` and ``sent_ns`` of the responder's wall clock (0 in a request)."""

    kind: int
    sequence: int
    monotonic_ns: int
    wall_ns: int
    nonce: int
    dscp: int = 0
    received_ns: int = 0
    sent_ns: int = 0


def pack(key: Key, fields: Packet, sender: Address, receiver: Address) -> bytes:
    """The 72 bytes of a packet from ``sender`` to ``receiver``."""
    body = _BODY.pack(
        MAGIC, VERSION, fields.kind, fields.dscp, fields.sequence, fields.monotonic_ns,
        fields.wall_ns, fields.nonce, fields.received_ns, fields.sent_ns,
    )  # fmt: skip
    return body + _mac(key, body, sender, receiver)


def unpack(raw: bytes) -> Packet:
    """The fields of a packet, *not verified*; raises PacketError when it is not a probe packet."""
    if len(raw) != SIZE:
        raise PacketError(f"{len(raw)} bytes; a probe packet has {SIZE}")
    magic, version, kind, dscp, sequence, mono, wall, nonce, received, sent = _BODY.unpack_from(raw)
    if magic != MAGIC or version != VERSION or kind not in KINDS:
        raise PacketError(f"magic {magic!r}, version {version}, kind {kind} are not ours")
    return Packet(kind, sequence, mono, wall, nonce, dscp, received, sent)


def verify(key: Key, raw: bytes, sender: Address, receiver: Address) -> Key | None:
    """Which of the keys made ``raw`` for exactly these two ends; None: neither."""
    body, mac = raw[: _BODY.size], raw[_BODY.size :]
    if compare_digest(mac, _mac(key, body, sender, receiver)):
        return key
    return None if key.second is None else verify(key.second, raw, sender, receiver)


def fresh(fields: Packet, now_ns: int, bound_ns: int = FRESH_NS) -> bool:
    """Whether the packet's prober wall clock is within ``bound_ns`` of ``now_ns`` [wall ns]."""
    return -bound_ns <= now_ns - fields.wall_ns <= bound_ns


def reply_to(request: Packet, received_ns: int, sent_ns: int) -> Packet:
    """The reply to a request, with the responder's wall-clock stamps."""
    return request._replace(kind=REPLY, received_ns=received_ns, sent_ns=sent_ns)


def sequence_of(raw: bytes, start: int = 0) -> int | None:
    """Sequence of the packet at ``start``, which may be truncated as ICMP quotes it; None: none."""
    if start < 0 or len(raw) < start + 16 or raw[start : start + 4] != MAGIC:
        return None
    return int.from_bytes(raw[start + 8 : start + 16], "big")


def _mac(key: Key, body: bytes, sender: Address, receiver: Address) -> bytes:
    if ":" in sender[0]:
        own, peer = inet_pton(AF_INET6, sender[0]), inet_pton(AF_INET6, receiver[0])
        ends = _ENDS_6.pack(own, sender[1], peer, receiver[1])
    else:
        ends = _ENDS.pack(inet_aton(sender[0]), sender[1], inet_aton(receiver[0]), receiver[1])
    return key.mac(body + ends)[:_MAC_BYTES]
