"""Signatures: valid only from the named sender, for one message, topic and chosen partition."""

from __future__ import annotations

import hashlib
import hmac
import itertools
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas import topics
from schemas.signing.headers import BAD_SIGNATURE, UNKNOWN_SENDER, UNSIGNED, Refused
from schemas.signing.keys import HostKey, KeyRing
from schemas.signing.signature import sign, verify

PINGS, BEATS = topics.PINGS.name, topics.HEARTBEATS.name
MASTER = bytes(range(32))
NOW = 1_780_000_000 * 10**9
RING = KeyRing({"k1": MASTER})
KEY = RING.host_key("f1", "host-1")


def signed(key: HostKey = KEY, payload: bytes = b"records", **other: Any) -> dict[str, bytes]:
    return sign(key, PINGS, topics.ARROW, payload, NOW, **other)


def reason(ring: KeyRing, headers: dict[str, bytes], payload: bytes = b"records", **at: Any) -> str:
    with pytest.raises(Refused) as why:
        verify(ring, at.get("topic", PINGS), at.get("partition", 0), headers, payload)
    assert "\n" not in str(why.value)
    return why.value.reason


def test_the_key_ring_verifies_a_message_signed_with_the_hosts_own_key() -> None:
    claim = verify(RING, PINGS, 0, signed(client="box-1", tenant="t1"), b"records")
    assert claim == ("f1", "host-1", "k1", NOW, "box-1", "t1")


def test_the_signed_encoding_is_fixed() -> None:
    """Written out, for senders in other languages."""

    def joined(*fields: bytes) -> bytes:
        return b"".join(struct.pack("!I", len(each)) + each for each in fields)

    headers = signed(partition=3)
    key = hmac.digest(MASTER, joined(b"skeletonhunter host key 1", b"f1", b"host-1"), "sha256")
    covered = joined(
        b"skeletonhunter message 1", b"skh.pings", b"3", b"f1", b"host-1", b"k1",
        b"1780000000000000000", b"application/vnd.apache.arrow.stream", b"", b"",
        hashlib.sha256(b"records").digest(),
    )  # fmt: skip
    assert headers.pop("signature") == hmac.digest(key, covered, "sha256")
    assert headers == {
        "content-type": topics.ARROW.encode(), "sender": b"host-1", "fabric": b"f1",
        "key-id": b"k1", "signed-at": b"1780000000000000000", "partition": b"3",
    }  # fmt: skip


@pytest.mark.parametrize(
    "changed",
    [
        {"sender": b"host-2"}, {"fabric": b"f2"}, {"key-id": b"k2"}, {"signed-at": b"1"},
        {"content-type": topics.CSV.encode()}, {"relay-client": b"box"}, {"relay-tenant": b"t"},
        {"partition": b"0"}, {"signature": b""}, {"signature": bytes(32)}, {"sender": b"\xff"},
        {"signed-at": b"01780000000000000000"}, {"signed-at": b"-1"}, {"signed-at": b"9" * 19},
        {"sender": b"x" * 300}, {"partition": b"x"}, {"fabric": b""},
    ],
)  # fmt: skip
def test_a_message_with_a_changed_header_is_refused(changed: dict[str, bytes]) -> None:
    two = KeyRing({"k1": MASTER, "k2": MASTER[::-1]})
    assert reason(two, signed() | changed) == BAD_SIGNATURE


def test_a_signature_holds_for_one_payload_topic_and_chosen_partition() -> None:
    assert reason(RING, signed(), b"other records") == BAD_SIGNATURE
    assert reason(RING, signed(), topic=BEATS) == BAD_SIGNATURE
    assert reason(RING, signed(partition=2), partition=1) == BAD_SIGNATURE
    verify(RING, PINGS, 2, signed(partition=2), b"records")
    verify(RING, PINGS, 7, signed(), b"records")  # through a relay that cannot know it


def test_a_missing_signature_and_an_unknown_key_id_have_different_reasons() -> None:
    assert reason(RING, {}) == UNSIGNED
    other = KeyRing({"k2": MASTER})
    assert reason(other, signed()) == UNKNOWN_SENDER


@given(st.lists(st.text(max_size=6), min_size=4, max_size=4), st.binary(max_size=20), st.data())
def test_different_messages_have_different_signatures(
    texts: list[str], payload: bytes, data: st.DataObject
) -> None:
    def signature(values: list[str], body: bytes) -> bytes:
        key = HostKey("k1", values[0], values[1], MASTER)
        made = sign(key, PINGS, "x", body, NOW, client=values[2], tenant=values[3])
        return made["signature"]

    joined = "".join(texts)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(joined)), min_size=3, max_size=3)))
    edges = [0, *cuts, len(joined)]
    moved = [joined[a:b] for a, b in itertools.pairwise(edges)]
    assert (signature(texts, payload) == signature(moved, payload)) == (texts == moved)


def test_two_masters_in_the_ring_are_valid_at_once_and_the_newest_signs() -> None:
    ring = KeyRing.parse(f"# rotation\nk2:{MASTER[::-1].hex()}\n\nk1:{MASTER.hex()}\n")
    verify(ring, PINGS, 0, signed(), b"records")
    new = ring.host_key("f1", "host-1")
    assert new.key_id == "k2"
    assert verify(ring, PINGS, 0, signed(new), b"records").key_id == "k2"
    only_new = KeyRing.parse(f"k2:{MASTER[::-1].hex()}")
    assert reason(only_new, signed()) == UNKNOWN_SENDER


def test_an_explicit_key_of_a_host_replaces_the_derived_one() -> None:
    own = HostKey("own", "f1", "host-1", b"s" * 32)
    ring = KeyRing.parse(f"k1:{MASTER.hex()}\n{own.document()}\n")
    assert ring.host_key("f1", "host-1") == own
    verify(ring, PINGS, 0, signed(own), b"records")
    assert reason(ring, signed()) == UNKNOWN_SENDER, "stolen, and replaced"
    verify(ring, PINGS, 0, signed(ring.host_key("f1", "host-2")), b"records")


def test_a_hosts_key_does_not_sign_for_another_host() -> None:
    impostor = HostKey("k1", "f1", "host-2", KEY.secret)
    assert reason(RING, signed(impostor)) == BAD_SIGNATURE
