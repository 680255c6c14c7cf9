"""The RDMA engine over a simulated cable: answered, lost, forged."""

from __future__ import annotations

import pytest
from builders.agents.rdma_cable import WALL, Pair

from probers.net import packet
from probers.net.packet import Key
from probers.rdma.packet import (
    QpAddress,
    RdmaRoundTrip,
    Stamps,
    round_trip,
)
from probers.rdma.port import Arrived


def test_the_round_trip_is_what_neither_host_spent() -> None:
    #       t1   t2     t3      t4      t5      t6
    seen = Stamps(0, 4_000, 70_000, 79_000, 24_000, 30_000)
    assert seen.rtt == (24_000 - 4_000) - (79_000 - 70_000) == 11_000
    assert round_trip(seen) == RdmaRoundTrip(
        rtt_us=11.0, prober_us=10.0, responder_us=9.0, consistent=True
    )


@pytest.fixture
def pair(key: Key) -> Pair:
    return Pair(key, key)


def test_a_keyed_probe_is_answered_and_measured(pair: Pair) -> None:
    pair.prober.probe(0, pair.target)
    assert pair.prober.waiting(0, pair.target)
    pair.settle()
    (counts,) = pair.prober.counts_by_pair.values()
    assert (counts.sent, counts.lost, len(counts.round_trips)) == (1, 0, 1)
    assert not pair.prober.waiting(0, pair.target)
    (measured,) = counts.round_trips
    assert measured.consistent
    assert 100 <= measured.rtt_us <= 110, "50 us each way, and some looks at the clock"
    assert measured.responder_us is not None
    assert 20 <= measured.responder_us <= 30, "the follow-up tells when the answer really left"


def test_a_keyed_probe_is_answered_and_measured_over_ipv6(key: Key) -> None:
    """It is authenticated for the addresses of both ends."""
    pair = Pair(key, key, ("fd00::1", "2001:db8::2"))
    pair.prober.probe(0, pair.target)
    pair.settle()
    (counts,) = pair.prober.counts_by_pair.values()
    assert (counts.sent, counts.lost, str(counts.target)) == (1, 0, f"2001:db8::2/{2**24 - 1}")
    assert counts.round_trips[0].consistent
    pair.near.addresses = [QpAddress("fd00::9", 17)]
    pair.prober.probe(0, pair.target)
    pair.near.addresses = [QpAddress("fd00::1", 17)]
    event = pair.far.poll()
    assert isinstance(event, Arrived)
    pair.responder.handle(event._replace(peer=QpAddress("fd00::1", 17)))
    assert pair.admission.silent == {"bad-mac": 1}, "sent as fd00::9"


def test_resolving_a_new_host_is_not_part_of_the_round_trip(pair: Pair) -> None:
    """It is more than the probe's own."""
    pair.prober.probe(0, pair.target)
    pair.settle()
    (counts,) = pair.prober.counts_by_pair.values()
    assert (counts.sent, counts.lost) == (1, 0)
    assert counts.round_trips[0].prober_us is not None
    assert counts.round_trips[0].prober_us < 1_000


def test_a_probe_without_a_send_completion_counts_as_sent_when_it_started(pair: Pair) -> None:
    pair.near.completes_sends = False
    pair.prober.probe(0, pair.target)
    pair.settle()
    (counts,) = pair.prober.counts_by_pair.values()
    assert counts.round_trips[0].consistent
    assert 120 <= counts.round_trips[0].rtt_us <= 130, "50 us each way, and 20 us to leave"


def test_each_own_queue_pair_has_its_own_counts(pair: Pair) -> None:
    for own in (0, 1, 1):
        pair.prober.probe(own, pair.target)
        pair.settle()
    assert {str(t.own): t.sent for t in pair.prober.counts_by_pair.values()} == {
        "10.0.0.1/17": 1,
        "10.0.0.1/18": 2,
    }


def test_a_probe_with_a_wrong_key_gets_no_reply_and_is_counted_by_the_responder(key: Key) -> None:
    pair = Pair(Key(b"another agent's key"), key)
    pair.prober.probe(0, pair.target)
    pair.settle()
    pair.time_out()
    (counts,) = pair.prober.counts_by_pair.values()
    assert (counts.sent, counts.lost) == (1, 1)
    assert pair.admission.silent == {"bad-mac": 1}
    assert pair.far.count == 0, "not a single message back"


@pytest.mark.parametrize(("kind", "by"), [(packet.PROBE, "near"), (packet.REPLY, "far")])
def test_a_lost_request_or_reply_is_a_lost_probe(pair: Pair, kind: int, by: str) -> None:
    getattr(pair, by).loses.add(kind)
    pair.prober.probe(0, pair.target)
    pair.settle()
    assert pair.prober.in_flight == 1
    pair.time_out()
    (counts,) = pair.prober.counts_by_pair.values()
    assert (counts.sent, counts.lost, pair.prober.in_flight) == (1, 1, 0)


def test_a_lost_follow_up_is_not_a_lost_probe(pair: Pair) -> None:
    pair.far.loses.add(packet.FOLLOW_UP)
    pair.prober.probe(0, pair.target)
    pair.settle()
    pair.time_out()
    (counts,) = pair.prober.counts_by_pair.values()
    assert (counts.lost, len(counts.round_trips)) == (0, 1)


def test_replies_and_follow_ups_get_no_reply(key: Key, pair: Pair) -> None:
    own = pair.near.addresses[0]
    for kind in (packet.REPLY, packet.FOLLOW_UP):
        reply = packet.Packet(kind, 1, 0, WALL, 7)
        pair.near.send(0, pair.target, packet.pack(key, reply, own, pair.target))
    pair.settle()
    assert pair.far.count == 0


@pytest.mark.parametrize("change", ["key", "nonce", "sequence", "garbage", "from elsewhere"])
def test_a_forged_or_unexpected_reply_is_not_accepted(key: Key, pair: Pair, change: str) -> None:
    pair.prober.probe(0, pair.target)
    event = pair.far.poll()
    assert isinstance(event, Arrived)
    question = packet.unpack(event.payload)
    reply = packet.reply_to(question, WALL, WALL)
    own, peer = pair.near.addresses[0], pair.target
    if change == "nonce":
        reply = reply._replace(nonce=reply.nonce ^ 1)
    elif change == "sequence":
        reply = reply._replace(sequence=reply.sequence + 1)
    signed = Key(b"another agent's key") if change == "key" else key
    if change == "from elsewhere":
        pair.far.addresses = [QpAddress("10.0.0.3", 17)]
    payload = b"x" * 72 if change == "garbage" else packet.pack(signed, reply, peer, own)
    pair.far.send(0, own, payload)
    while pair.prober.poll():
        pass
    assert pair.prober.unmatched == 1
    assert pair.prober.in_flight == 1
