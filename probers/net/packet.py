"""The probe datagram: one fixed layout of 72 bytes for question and answer, keyed. Pure.

    magic 4 | version 1 | kind 1 | dscp 1 | - 1 | sequence 8 | monotonic ns 8 | wall ns 8 |
    nonce 8 | responder received, wall ns 8 | responder sent, wall ns 8 | mac 16

The answer is the question with another kind and the responder's two time stamps filled in, so it
is never longer than the question: nobody can amplify traffic through a responder. RDMA answers in
two such steps (see ``rdma_probe``).

The mac is HMAC-SHA256 cut to 16 bytes over all fields before it *and the addresses and ports* of
the datagram. Freshness: a question is answered only while the responder's wall clock is within
``FRESH_NS`` of the question's. Replay: a responder keeps no memory of nonces. A captured question,
sent again within that bound, is answered once more, but only towards the address and port it came
from originally, at most at the rate its source has anyway; the prober ignores it, because it takes
one answer per sequence and nonce. Hosts whose clocks differ by more than the bound do not answer
each other: a clock wrong by that much is a fault that the responder counts and names.
"""

from __future__ import annotations

import hashlib
import struct
from hmac import compare_digest
from socket import inet_aton
from typing import Final, NamedTuple

MAGIC: Final = b"SKHP"
VERSION: Final = 1
PROBE: Final = 1  # a question whose round trip is measured
REPLY: Final = 2
TRACE: Final = 3  # a question with a small TTL; answered like a probe where it arrives
FOLLOW_UP: Final = 4  # an answer's second step (RDMA): says when the answer left
KINDS: Final = (PROBE, REPLY, TRACE, FOLLOW_UP)

FRESH_NS: Final = 5_000_000_000
MIN_KEY_BYTES: Final = 16
KEY_VARIABLE: Final = "SKH_PROBE_KEY"
_MAC_BYTES: Final = 16
_BODY: Final = struct.Struct("!4sBBBxQqqQqq")
_ENDS: Final = struct.Struct("!4sI4sI")  # RDMA has queue pair numbers of 24 bits for ports
SIZE: Final = _BODY.size + _MAC_BYTES

Address = tuple[str, int]


class WireError(ValueError):
    """The bytes are not a datagram of ours."""


class Key:
    """The shared key, kept as the two half-done hashes of HMAC (RFC 2104): three times as fast
    as starting anew for each datagram, and nothing that prints or logs it shows the secret."""

    __slots__ = ("_inner", "_outer")

    def __init__(self, secret: bytes) -> None:
        """Raises ValueError when the secret is shorter than MIN_KEY_BYTES."""
        if len(secret) < MIN_KEY_BYTES:
            raise ValueError(f"a probe key of {len(secret)} bytes; give at least {MIN_KEY_BYTES}")
        block = hashlib.sha256(secret).digest() if len(secret) > 64 else secret
        block = block.ljust(64, b"\0")
        self._inner = hashlib.sha256(bytes(byte ^ 0x36 for byte in block))
        self._outer = hashlib.sha256(bytes(byte ^ 0x5C for byte in block))

    def mac(self, message: bytes) -> bytes:
        """HMAC-SHA256 of the message, in full."""
        inner, outer = self._inner.copy(), self._outer.copy()
        inner.update(message)
        outer.update(inner.digest())
        return outer.digest()


class Datagram(NamedTuple):
    """A question or an answer. Times are nanoseconds; ``received`` and ``sent`` are the
    responder's wall clock and 0 in a question; ``monotonic`` and ``wall`` are the prober's."""

    kind: int
    sequence: int
    monotonic: int
    wall: int
    nonce: int
    dscp: int = 0
    received: int = 0
    sent: int = 0


def pack(key: Key, datagram: Datagram, sender: Address, receiver: Address) -> bytes:
    """The datagram's 72 bytes as ``sender`` puts them on the wire towards ``receiver``."""
    body = _BODY.pack(
        MAGIC, VERSION, datagram.kind, datagram.dscp, datagram.sequence, datagram.monotonic,
        datagram.wall, datagram.nonce, datagram.received, datagram.sent,
    )  # fmt: skip
    return body + _mac(key, body, sender, receiver)


def unpack(raw: bytes) -> Datagram:
    """Fields of a datagram, *not yet verified*; raises WireError when it is not one of ours."""
    if len(raw) != SIZE:
        raise WireError(f"{len(raw)} bytes; a datagram has {SIZE}")
    magic, version, kind, dscp, sequence, mono, wall, nonce, received, sent = _BODY.unpack_from(raw)
    if magic != MAGIC or version != VERSION or kind not in KINDS:
        raise WireError(f"magic {magic!r}, version {version}, kind {kind} are not ours")
    return Datagram(kind, sequence, mono, wall, nonce, dscp, received, sent)


def verify(key: Key, raw: bytes, sender: Address, receiver: Address) -> bool:
    """Whether ``raw`` was made by someone who has the key, for exactly these two ends."""
    body, mac = raw[: _BODY.size], raw[_BODY.size :]
    return compare_digest(mac, _mac(key, body, sender, receiver))


def fresh(datagram: Datagram, now_ns: int, bound_ns: int = FRESH_NS) -> bool:
    """Whether the prober's wall clock in the datagram is within ``bound_ns`` of ours."""
    return -bound_ns <= now_ns - datagram.wall <= bound_ns


def answer(question: Datagram, received_ns: int, sent_ns: int) -> Datagram:
    """The answer to a question, with the responder's wall-clock stamps."""
    return question._replace(kind=REPLY, received=received_ns, sent=sent_ns)


def sequence_of(raw: bytes, start: int = 0) -> int | None:
    """Sequence of a datagram that begins at ``start`` and may be cut short, as ICMP quotes it."""
    if start < 0 or len(raw) < start + 16 or raw[start : start + 4] != MAGIC:
        return None
    return int.from_bytes(raw[start + 8 : start + 16], "big")


def _mac(key: Key, body: bytes, sender: Address, receiver: Address) -> bytes:
    ends = _ENDS.pack(inet_aton(sender[0]), sender[1], inet_aton(receiver[0]), receiver[1])
    return key.mac(body + ends)[:_MAC_BYTES]
