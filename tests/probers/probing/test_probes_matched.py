"""Which probe a datagram is about: in Python, and in the compiled helper, the same."""

from __future__ import annotations

import errno
import os
import socket
import struct
import sys

import pytest
from builders.agents.waiting import HANG_S, Until

from probers.net import packet
from probers.net.five_tuple import FiveTuple
from probers.net.packet import Address, Key
from probers.net.socket_pool import SocketPool
from probers.probing.udp import Burst, UdpEngine
from probers.process.loop import Loop

PORT_UNREACHABLE = struct.pack("!BBHI", 3, 3, 0, 0)


@pytest.fixture
def bursts() -> list[Burst]:
    return []


@pytest.fixture
def engine(loop: Loop, sockets: SocketPool, bursts: list[Burst]) -> UdpEngine:
    return UdpEngine(loop, sockets, bursts.append, timeout_s=HANG_S)


def test_of_a_reply_that_comes_twice_one_counts(
    engine: UdpEngine, sockets: SocketPool, bursts: list[Burst], key: Key, run_until: Until
) -> None:
    source = sockets.open(("127.0.0.1", 0)).address
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as peer:
        peer.bind(("127.0.0.1", 0))
        target: Address = peer.getsockname()
        engine.probe(FiveTuple(source, target))
        request = packet.unpack(peer.recv(100))
        reply = packet.pack(key, packet.reply_to(request, 1, 2), target, source)
        for _ in range(3):
            peer.sendto(reply, source)
        run_until(lambda: sockets.counts["strange"] == 2)
    assert [burst.dials for burst in bursts] == [["success"]]
    assert engine.answered.total() == 1


@pytest.mark.parametrize("wrong", ["nonce", "sequence", "sender"])
def test_a_reply_with_the_right_key_to_something_else_is_strange(
    wrong: str, engine: UdpEngine, sockets: SocketPool, key: Key, run_until: Until
) -> None:
    source = sockets.open(("127.0.0.1", 0)).address
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as peer,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other,
    ):
        for each in (peer, other):
            each.bind(("127.0.0.1", 0))
        engine.probe(FiveTuple(source, peer.getsockname()))
        reply = packet.reply_to(packet.unpack(peer.recv(100)), 1, 2)
        if wrong != "sender":
            reply = reply._replace(**{wrong: getattr(reply, wrong) + 1})
        by = other if wrong == "sender" else peer
        by.sendto(packet.pack(key, reply, by.getsockname(), source), source)
        run_until(lambda: sockets.counts["strange"] == 1)
    assert engine.in_flight == 1, "it waits for its own reply"


def test_a_thousand_probes_at_once_all_end(
    loop: Loop, sockets: SocketPool, mute: Address, bursts: list[Burst], run_until: Until
) -> None:
    engine = UdpEngine(loop, sockets, bursts.append, timeout_s=0.2)
    source, target = (sockets.open(("127.0.0.1", 0)).address for _ in range(2))
    for _ in range(50):
        engine.probe(FiveTuple(source, mute), burst=10)
        engine.probe(FiveTuple(source, target), burst=10)
    run_until(lambda: len(bursts) == 100)
    assert engine.in_flight == 0
    ended = [dial for burst in bursts for dial in burst.dials]
    assert len(ended) == 1000
    assert ended.count("timeout") + engine.stalled >= 500
    assert sum(burst.sent + burst.dials.count("error") for burst in bursts) == 1000


def test_a_socket_that_is_closed_withdraws_its_probes_and_no_others(
    engine: UdpEngine, sockets: SocketPool, mute: Address, bursts: list[Burst], run_until: Until
) -> None:
    gone, kept, target = (sockets.open(("127.0.0.1", 0)).address for _ in range(3))
    engine.probe(FiveTuple(gone, mute), burst=3)
    engine.probe(FiveTuple(kept, target))
    sockets.close_except([kept, target])
    run_until(lambda: bool(bursts))
    assert (engine.withdrawn, engine.in_flight) == (3, 0)
    assert [burst.flow.src for burst in bursts] == [kept]


@pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0, reason="forges an ICMP error: needs root, Linux"
)
def test_an_icmp_error_that_quotes_headers_only_is_about_the_newest_probe(
    engine: UdpEngine, sockets: SocketPool, mute: Address, bursts: list[Burst], run_until: Until
) -> None:
    source = sockets.open(("127.0.0.1", 0)).address
    flow = FiveTuple(source, mute)
    engine.probe(flow)
    engine.probe(flow)
    quoted = struct.pack(
        "!BBHHHBBH4s4sHHHH", 0x45, 0, 100, 0, 0, 64, socket.IPPROTO_UDP, 0,
        socket.inet_aton(source[0]), socket.inet_aton(mute[0]), source[1], mute[1], 80, 0,
    )  # fmt: skip
    message = PORT_UNREACHABLE + quoted
    words = sum(struct.unpack(f"!{len(message) // 2}H", message))
    check = ~((words & 0xFFFF) + (words >> 16)) & 0xFFFF
    try:
        router = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
    except OSError as why:
        pytest.skip(f"no raw socket: {errno.errorcode.get(why.errno or 0)}")
    with router:
        router.sendto(message[:2] + struct.pack("!H", check) + message[4:], mute)
        run_until(lambda: bool(bursts))
    assert [burst.dials for burst in bursts] == [["refused"]]
    assert engine.in_flight == 1
