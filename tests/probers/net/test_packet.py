"""The probe packet: what is packed is unpacked; anything else is refused."""

from __future__ import annotations

import hashlib
import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probers.net import packet
from probers.net.packet import Key, Packet, PacketError

KEY = Key(b"sixteen bytes or")
A, B = ("10.0.0.1", 51000), ("10.0.0.2", 65300)
times = st.integers(0, 2**62)
datagrams = st.builds(
    Packet,
    kind=st.sampled_from(packet.KINDS),
    sequence=st.integers(0, 2**64 - 1),
    monotonic_ns=times,
    wall_ns=times,
    nonce=st.integers(0, 2**64 - 1),
    dscp=st.integers(0, 63),
    received_ns=times,
    sent_ns=times,
)


@given(datagrams)
def test_a_packed_packet_is_unpacked_and_verified(datagram: Packet) -> None:
    raw = packet.pack(KEY, datagram, A, B)
    assert packet.unpack(raw) == datagram
    assert packet.verify(KEY, raw, A, B)
    assert packet.sequence_of(raw) == datagram.sequence


@given(datagrams, st.integers(0, packet.SIZE - 1), st.integers(1, 255))
def test_a_packet_with_one_changed_byte_is_not_verified(
    datagram: Packet, place: int, change: int
) -> None:
    raw = bytearray(packet.pack(KEY, datagram, A, B))
    raw[place] ^= change
    assert not packet.verify(KEY, bytes(raw), A, B)


@given(st.binary(max_size=200))
def test_arbitrary_bytes_are_never_verified(raw: bytes) -> None:
    assert not packet.verify(KEY, raw, A, B)
    if len(raw) != packet.SIZE:
        with pytest.raises(PacketError):
            packet.unpack(raw)


@pytest.mark.parametrize(
    ("key", "sender", "receiver"),
    [
        (Key(b"another key of ours"), A, B),
        (KEY, ("10.0.0.3", 51000), B),
        (KEY, ("10.0.0.1", 51001), B),
        (KEY, A, ("10.0.0.2", 65301)),
        (KEY, B, A),
    ],
)
def test_a_packet_is_valid_only_with_its_key_and_between_its_two_ends(
    key: Key, sender: packet.Address, receiver: packet.Address
) -> None:
    raw = packet.pack(KEY, Packet(packet.PROBE, 1, 2, 3, 4), A, B)
    assert not packet.verify(key, raw, sender, receiver)


def test_a_reply_is_as_long_as_its_request_and_echoes_it() -> None:
    question = Packet(packet.PROBE, 7, 1, 2, 3, dscp=26)
    reply = packet.reply_to(question, received_ns=10, sent_ns=11)
    assert reply == Packet(packet.REPLY, 7, 1, 2, 3, 26, 10, 11)
    assert len(packet.pack(KEY, reply, B, A)) <= len(packet.pack(KEY, question, A, B))


@pytest.mark.parametrize(
    ("age_s", "is_fresh"), [(0, True), (5, True), (-5, True), (6, False), (-6, False)]
)
def test_freshness_is_bounded_in_both_directions(age_s: int, is_fresh: bool) -> None:
    now = 1_700_000_000 * 10**9
    datagram = Packet(packet.PROBE, 1, 0, now - age_s * 10**9, 1)
    assert packet.fresh(datagram, now) is is_fresh


@given(st.binary(min_size=packet.MIN_KEY_BYTES, max_size=200), st.binary(max_size=200))
def test_the_mac_is_the_one_of_rfc_2104(secret: bytes, message: bytes) -> None:
    assert Key(secret).mac(message) == hmac.new(secret, message, hashlib.sha256).digest()


def test_a_key_is_not_shown_in_its_repr_and_must_be_long() -> None:
    assert "sixteen" not in repr(KEY)
    with pytest.raises(ValueError, match="at least 16"):
        Key(b"short")
