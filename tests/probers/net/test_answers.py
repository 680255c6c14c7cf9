"""Who gets an answer on a real socket: the same from the compiled helper and from Python."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from random import Random
from time import time_ns

import pytest
from builders.agents.waiting import Until

from probers.net import packet
from probers.net.packet import Address, Key, Packet
from probers.net.responder import Responder
from probers.net.socket_pool import SocketPool
from probers.process.loop import Loop

SECOND = 10**9
SECRET, OTHER = b"a key for the tests only", b"the key that comes after"


class Peer:
    """A plain socket that sends what it likes to a pool's socket."""

    def __init__(self, pool: SocketPool, loop: Loop, run_until: Until) -> None:
        self.target = pool.open(("127.0.0.1", 0)).address
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.socket.setblocking(False)
        self.own: Address = self.socket.getsockname()
        self._run_until = run_until

    def question(
        self, key: Key, *, kind: int = packet.PROBE, age_ns: int = 0, which: int = 0
    ) -> bytes:
        fields = Packet(kind, 9, 1, time_ns() - age_ns, 5, dscp=26, received_ns=which)
        return packet.pack(key, fields, self.own, self.target)

    def send(self, raw: bytes) -> None:
        self.socket.sendto(raw, self.target)

    def answer(self) -> bytes:
        """The next datagram that comes."""
        got: list[bytes] = []

        def came() -> bool:
            try:
                got.append(self.socket.recv(2048))
            except BlockingIOError:
                return False
            return True

        self._run_until(lambda: bool(got) or came())
        return got[0]

    def has_answer(self) -> bool:
        try:
            return bool(self.socket.recv(2048))
        except BlockingIOError:
            return False


Make = Callable[..., tuple[Responder, Peer]]


@pytest.fixture
def make(loop: Loop, run_until: Until) -> Iterator[Make]:
    """A responder with these parameters, and a peer of it."""
    made: list[tuple[SocketPool, Peer]] = []

    def build(key: Key, **parameters: float) -> tuple[Responder, Peer]:
        responder = Responder(key, **parameters)  # type: ignore[arg-type]
        pool = SocketPool(loop, key, responder, max_rate=1)
        made.append((pool, Peer(pool, loop, run_until)))
        return responder, made[-1][1]

    yield build
    for pool, peer in made:
        peer.socket.close()
        pool.close_except(())


@pytest.mark.parametrize("kind", [packet.PROBE, packet.TRACE])
def test_a_keyed_fresh_request_gets_a_reply_of_its_size_with_both_stamps_and_its_dscp(
    make: Make, key: Key, kind: int, run_until: Until
) -> None:
    responder, peer = make(key)
    peer.socket.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
    began = time_ns()
    asked = peer.question(key, kind=kind)
    peer.send(asked)
    run_until(lambda: responder.answered == 1)
    raw, control, _, sender = peer.socket.recvmsg(2048, 64)
    reply = packet.unpack(raw)
    assert sender == peer.target
    assert packet.verify(key, raw, peer.target, peer.own)
    assert reply[:6] == packet.unpack(asked)._replace(kind=packet.REPLY)[:6]
    assert began < reply.received_ns < reply.sent_ns < time_ns() + SECOND
    assert [body[0] >> 2 for _, _, body in control] == [26]
    assert len(responder.recent_flows) == (kind == packet.PROBE)


@pytest.mark.parametrize(
    "make_key", [SECRET, b"k" * 16, b"k" * 64, b"k" * 65, b"k" * 128, b"k" * 1000]
)
def test_keys_of_any_length_make_the_same_mac(make: Make, make_key: bytes) -> None:
    key = Key(make_key)
    _, peer = make(key)
    peer.send(peer.question(key))
    assert packet.verify(key, peer.answer(), peer.target, peer.own)


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (lambda raw: b"", "not-ours"),
        (lambda raw: raw[:71], "not-ours"),
        (lambda raw: raw + b"x", "not-ours"),
        (lambda raw: raw + b"x" * 1300, "not-ours"),
        (lambda raw: b"x" * 72, "not-ours"),
        (lambda raw: raw[:4] + b"\x02" + raw[5:], "not-ours"),
        (lambda raw: raw[:5] + b"\x00" + raw[6:], "not-ours"),
        (lambda raw: raw[:5] + b"\x06" + raw[6:], "not-ours"),
        (lambda raw: raw[:5] + bytes([packet.FOLLOW_UP]) + raw[6:], "not-ours"),
        (lambda raw: raw[:5] + bytes([packet.TRACE]) + raw[6:], "bad-mac"),
        (lambda raw: raw[:7] + b"\x01" + raw[8:], "bad-mac"),
        (lambda raw: raw[:-1] + bytes([raw[-1] ^ 1]), "bad-mac"),
    ],
)
def test_what_is_no_authentic_request_gets_no_reply_and_is_counted(
    make: Make, key: Key, damage: Callable[[bytes], bytes], why: str, run_until: Until
) -> None:
    responder, peer = make(key)
    peer.send(damage(peer.question(key)))
    run_until(lambda: bool(responder.silent))
    assert responder.silent == {why: 1}
    assert not responder.recent_flows
    assert not peer.has_answer()


def test_a_captured_request_gets_no_reply_at_another_port(
    make: Make, key: Key, run_until: Until
) -> None:
    responder, peer = make(key)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as thief:
        thief.sendto(peer.question(key), peer.target)
        run_until(lambda: responder.silent["bad-mac"] == 1)
    assert responder.answered == 0


@pytest.mark.parametrize("age_s", [6, -6, 3600, 9_000_000_000])
def test_a_stale_request_gets_no_reply_and_the_clocks_difference_is_known(
    make: Make, key: Key, age_s: int, run_until: Until
) -> None:
    responder, peer = make(key)
    peer.send(peer.question(key, age_ns=age_s * SECOND))
    run_until(lambda: responder.silent["stale"] == 1)
    assert abs(responder.last_skew_ns + age_s * SECOND) < 300 * SECOND
    assert not peer.has_answer()


def test_a_request_that_waited_in_its_socket_is_late_not_stale(
    make: Make, key: Key, run_until: Until
) -> None:
    responder, peer = make(key, fresh_ns=1)
    peer.send(peer.question(key))
    run_until(lambda: responder.silent["late"] + responder.silent["stale"] == 1)
    assert responder.answered == 0


def test_a_flood_is_answered_at_the_rate_of_its_source(
    make: Make, key: Key, run_until: Until
) -> None:
    responder, peer = make(key, rate=0.001, burst=20)
    for _ in range(60):
        peer.send(peer.question(key))
    run_until(lambda: responder.answered + responder.silent["rate"] == 60)
    assert responder.answered == 20
    assert sum(peer.has_answer() for _ in range(60)) == 20


def test_a_key_that_is_replaced_counts_from_the_next_datagram_on(
    make: Make, run_until: Until
) -> None:
    key, newer = Key(SECRET), Key(OTHER)
    responder, peer = make(key)
    peer.send(peer.question(newer))
    run_until(lambda: responder.silent["bad-mac"] == 1)
    key.replace(Key(OTHER))
    peer.send(peer.question(newer))
    assert packet.verify(newer, peer.answer(), peer.target, peer.own)
    peer.send(peer.question(Key(SECRET)))
    run_until(lambda: responder.silent["bad-mac"] == 2)


def test_with_two_keys_a_request_is_answered_with_the_one_that_made_it(make: Make) -> None:
    _, peer = make(Key(SECRET, OTHER))
    for secret in (SECRET, OTHER):
        peer.send(peer.question(Key(secret)))
        raw = peer.answer()
        assert packet.verify(Key(secret), raw, peer.target, peer.own)


@pytest.mark.parametrize("secret", [SECRET, OTHER])
def test_a_question_for_a_queue_pair_gets_its_number(make: Make, secret: bytes) -> None:
    responder, peer = make(Key(SECRET, OTHER))
    responder.queue_pair = lambda ip, which: {("127.0.0.1", 3): 4711}.get((ip, which), 0)
    asked = peer.question(Key(secret), kind=packet.QUEUE_PAIR, which=3)
    peer.send(asked)
    raw = peer.answer()
    assert packet.unpack(raw) == packet.unpack(asked)._replace(kind=packet.REPLY, sent_ns=4711)
    assert packet.verify(Key(secret), raw, peer.target, peer.own)
    assert responder.answered == 1
    assert not responder.recent_flows, "it is no probe: no route is traced for it"


def test_damaged_requests_have_the_outcome_that_the_responder_gives_them(
    make: Make, key: Key, run_until: Until
) -> None:
    """Both engines against ``Responder.reply``, which has no sockets."""
    random, reference = Random(7), Responder(key, rate=1e9, burst=1e9)
    responder, peer = make(key, rate=1e9, burst=1e9)
    for number in range(1, 400):
        kind = random.choice(packet.KINDS[:1] + packet.KINDS[2:])
        raw = bytearray(peer.question(key, kind=kind, age_ns=random.choice((0, 60 * SECOND))))
        for _ in range(random.choice((0, 0, 1, 3))):
            at = random.choice((random.randrange(72), random.randrange(8)))
            raw[at] ^= random.choice((1, 2, 128))
        del raw[random.choice((72, 72, 72, random.randrange(72))) :]
        if raw[5:6] == bytes([packet.REPLY]):
            raw[5] = packet.PROBE
        now_ns = time_ns()
        reference.reply(bytes(raw), peer.own, peer.target, now_ns, now_ns, number)
        peer.send(bytes(raw))
        run_until(lambda total=number: responder.answered + responder.silent.total() == total)  # type: ignore[misc]
    assert responder.silent == reference.silent
    assert responder.answered == reference.answered > 0


def test_a_flow_that_rests_is_recorded_once_and_another_flow_at_once(
    make: Make, key: Key, run_until: Until
) -> None:
    responder, peer = make(key, flow_rest_ns=3600 * SECOND, rate=1e9, burst=1e9)
    peer.send(peer.question(key))
    run_until(lambda: len(responder.recent_flows) == 1)
    first = dict(responder.recent_flows)
    for _ in range(3):
        peer.send(peer.question(key))
    run_until(lambda: responder.answered == 4)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind(("127.0.0.1", 0))
        peer.own = other.getsockname()
        other.sendto(peer.question(key), peer.target)
        run_until(lambda: responder.answered == 5 and len(responder.recent_flows) == 2)
    assert first.items() <= dict(responder.recent_flows).items(), "its time is the first one's"


def test_a_flow_is_recorded_again_when_its_rest_is_over(
    make: Make, key: Key, run_until: Until
) -> None:
    responder, peer = make(key, flow_rest_ns=1, rate=1e9, burst=1e9)
    peer.send(peer.question(key))
    run_until(lambda: len(responder.recent_flows) == 1)
    first = dict(responder.recent_flows)
    peer.send(peer.question(key))
    run_until(lambda: responder.answered == 2 and dict(responder.recent_flows) != first)
    assert responder.recent_flows.keys() == first.keys()


@pytest.mark.parametrize("count", [15, 16, 17, 100])
def test_all_that_waits_in_one_socket_is_read(
    make: Make, key: Key, run_until: Until, count: int
) -> None:
    """No answer is sent and nothing more arrives: what one read leaves is read all the same."""
    responder, peer = make(key)
    for _ in range(count):
        peer.send(b"none of ours")
    run_until(lambda: responder.silent["not-ours"] == count)


def test_sockets_are_served_after_more_results_than_there_is_room_for(
    loop: Loop, key: Key, run_until: Until
) -> None:
    responder = Responder(key, rate=1e9, burst=1e9)
    pool = SocketPool(loop, key, responder, max_rate=1)
    peers = [Peer(pool, loop, run_until) for _ in range(6)]
    for peer in peers:  # each gets its own socket of the pool, whose buffer holds some 250
        for _ in range(150):
            peer.send(peer.question(key))
    run_until(lambda: responder.answered == 900)
    for peer in peers:
        peer.socket.close()
    pool.close_except(())


def test_a_refused_answer_leaves_nothing_unread(make: Make, key: Key, run_until: Until) -> None:
    responder, peer = make(key, rate=1e9, burst=1e9)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as closed:
        closed.bind(("127.0.0.1", 0))
        closed.sendto(packet.pack(key, Packet(packet.PROBE, 9, 1, time_ns(), 5),
                                  closed.getsockname(), peer.target), peer.target)  # fmt: skip
    for _ in range(40):
        peer.send(b"none of ours")
    run_until(lambda: responder.answered == 1 and responder.silent["not-ours"] == 40)
