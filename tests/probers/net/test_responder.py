"""No reply by default: only authenticated, fresh requests within their rate get one."""

from __future__ import annotations

import os

import pytest

from probers.net import packet
from probers.net.packet import Address, Key, Packet
from probers.net.responder import RateLimit, Responder

NOW = 1_700_000_000 * 10**9
PEER, OWN = ("10.0.0.1", 51000), ("10.0.0.2", 65300)
SECOND, HOUR = 10**9, 3600 * 10**9


def question(key: Key, *, kind: int = packet.PROBE, wall: int = NOW, peer: Address = PEER) -> bytes:
    return packet.pack(key, Packet(kind, 9, 1, wall, 5, dscp=26), peer, OWN)


def ask(responder: Responder, raw: bytes, *, peer: Address = PEER, mono: int = 0) -> bytes | None:
    verdict = responder.reply(raw, peer, OWN, NOW - 1000, NOW, mono)
    return None if verdict is None else verdict[0]


@pytest.mark.parametrize("kind", [packet.PROBE, packet.TRACE])
def test_a_keyed_fresh_probe_is_answered_with_both_stamps_and_its_dscp(key: Key, kind: int) -> None:
    verdict = Responder(key).reply(question(key, kind=kind), PEER, OWN, NOW - 1000, NOW, 0)
    assert verdict is not None
    raw, dscp = verdict
    assert dscp == 26
    assert packet.verify(key, raw, OWN, PEER)
    assert packet.unpack(raw)[-2:] == (NOW - 1000, NOW)


def test_a_question_for_a_queue_pair_gets_its_number_in_an_answer_of_the_same_size(
    key: Key,
) -> None:
    responder = Responder(key)
    responder.queue_pair = lambda ip, which: {(OWN[0], 3): 4711}.get((ip, which), 0)
    asked = Packet(packet.QUEUE_PAIR, 9, 1, NOW, 5, received_ns=3)
    raw = packet.pack(key, asked, PEER, OWN)
    answer = ask(responder, raw)
    assert answer is not None
    assert len(answer) == len(raw)
    assert packet.unpack(answer) == asked._replace(kind=packet.REPLY, sent_ns=4711)
    assert not responder.recent_flows, "it is no probe: no route is traced for it"


def test_an_agent_without_rdma_has_no_queue_pair(key: Key) -> None:
    asked = Packet(packet.QUEUE_PAIR, 9, 1, NOW, 5)
    answer = ask(Responder(key), packet.pack(key, asked, PEER, OWN))
    assert answer is not None
    assert packet.unpack(answer).sent_ns == 0


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"", "not-ours"),
        (b"x" * packet.SIZE, "not-ours"),
        (b"x" * 1400, "not-ours"),
        (question(Key(b"another agent's key")), "bad-mac"),
    ],
)
def test_unauthenticated_datagrams_get_no_reply_and_are_counted(
    key: Key, raw: bytes, why: str
) -> None:
    responder = Responder(key)
    assert ask(responder, raw) is None
    assert responder.silent == {why: 1}
    assert not responder.recent_flows


@pytest.mark.parametrize("age_s", [6, -6, 3600])
def test_a_stale_probe_gets_no_reply_and_the_clocks_difference_is_recorded(
    key: Key, age_s: int
) -> None:
    responder = Responder(key)
    assert ask(responder, question(key, wall=NOW - age_s * 10**9)) is None
    assert responder.silent == {"stale": 1}
    assert responder.last_skew_ns == -age_s * 10**9


def test_a_reply_never_gets_a_reply(key: Key) -> None:
    responder = Responder(key)
    assert ask(responder, question(key, kind=packet.REPLY)) is None


def test_a_captured_probe_gets_no_reply_at_another_address(key: Key) -> None:
    assert ask(Responder(key), question(key), peer=("10.6.6.6", 51000)) is None


def test_a_flood_is_answered_at_the_rate_limit_and_others_still_are(key: Key) -> None:
    responder = Responder(key, rate=10, burst=20)
    flood = question(key)
    answered = sum(ask(responder, flood, mono=i * 1_000_000) is not None for i in range(1000))
    assert 28 <= answered <= 31, "20 at once and 10 in the second that it lasts"
    assert responder.silent["rate"] == 1000 - answered
    other = ("10.0.0.9", 51000)
    assert ask(responder, question(key, peer=other), peer=other, mono=10**9) is not None


def test_the_rate_limit_removes_the_source_unseen_for_longest_and_stays_small() -> None:
    limit = RateLimit(rate=1, burst=1, sources=3)
    for source in "abcd":
        assert limit.allows(source, 0)
    assert len(limit) == 3
    assert limit.allows("a", 0), "forgotten, so full again"
    assert not limit.allows("d", 0)


def test_memory_of_recent_flows_is_bounded(key: Key) -> None:
    responder = Responder(key, max_sources=2)
    for port in (1, 2, 3):
        peer = ("10.0.0.1", port)
        assert ask(responder, question(key, peer=peer), peer=peer) is not None
    assert [flow[3] for flow in responder.recent_flows] == [2, 3]


@pytest.mark.parametrize("step", [HOUR, -HOUR])
def test_a_responder_replies_again_as_soon_as_a_stepped_clock_is_right(key: Key, step: int) -> None:
    responder = Responder(key)
    peer, own = ("10.0.0.1", 51000), ("10.0.0.2", 65300)
    raw = packet.pack(key, Packet(packet.PROBE, 1, 0, NOW, 5), peer, own)
    assert responder.reply(raw, peer, own, NOW + step, NOW + step, 0) is None
    assert responder.silent == {"stale": 1}
    assert responder.last_skew_ns == -step, "names the difference"
    assert responder.reply(raw, peer, own, NOW, NOW, 0) is not None


def test_a_request_that_waited_while_the_process_was_stopped_is_not_counted_as_stale(
    key: Key,
) -> None:
    responder = Responder(key)
    peer, own = ("10.0.0.1", 51000), ("10.0.0.2", 65300)
    raw = packet.pack(key, Packet(packet.PROBE, 1, 0, NOW, 5), peer, own)
    assert responder.reply(raw, peer, own, NOW, NOW + 30 * SECOND, 0) is None
    assert responder.silent == {"late": 1}
    assert responder.last_skew_ns == 0


def test_stale_requests_use_no_memory(key: Key) -> None:
    responder = Responder(key)
    own = ("10.0.0.2", 65300)
    for number in range(int(os.environ.get("SKH_TEST_STALE", "20000"))):
        peer = (f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}", 51000)
        raw = packet.pack(key, Packet(packet.PROBE, number, 0, NOW - HOUR, 5), peer, own)
        assert responder.reply(raw, peer, own, NOW, NOW, number) is None
    assert set(responder.silent) == {"stale"}
    assert not responder.recent_flows
