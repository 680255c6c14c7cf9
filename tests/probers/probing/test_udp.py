"""The UDP engine against loopback: answered, refused, lost, unsendable."""

from __future__ import annotations

import socket
import sys
import time

import pytest
from builders.agents.waiting import HANG_S, Until

from probers.net import packet
from probers.net.five_tuple import FiveTuple
from probers.net.packet import Key, Packet
from probers.net.responder import Responder
from probers.net.socket_pool import SocketPool
from probers.net.udp_socket import Received
from probers.probing.udp import Burst, UdpEngine
from probers.process.loop import Loop
from probers.publishing.record import ping_record

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="ICMP errors need Linux's queue")


@pytest.fixture
def bursts() -> list[Burst]:
    return []


@pytest.fixture
def engine(loop: Loop, sockets: SocketPool, bursts: list[Burst]) -> UdpEngine:
    """For probes that are answered, however loaded the machine is."""
    return UdpEngine(loop, sockets, bursts.append, timeout_s=HANG_S)


@pytest.fixture
def impatient(loop: Loop, sockets: SocketPool, bursts: list[Burst]) -> UdpEngine:
    """For probes that are not answered."""
    return UdpEngine(loop, sockets, bursts.append, timeout_s=0.1)


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_an_answered_probe_has_a_round_trip_without_the_responders_delay(
    engine: UdpEngine, flow: FiveTuple, bursts: list[Burst], run_until: Until
) -> None:
    begin_ns = time.monotonic_ns()
    engine.probe(flow)
    run_until(lambda: bool(bursts))
    elapsed_us = (time.monotonic_ns() - begin_ns) / 1e3
    record = ping_record(bursts[0], cpu_steal=0.0)
    assert record["dial"] == "success"
    assert (record["sent"], record["lost"], record["loss_rate"]) == (1, 0, 0.0)
    assert isinstance(record["latency"], float)
    assert 0 < record["latency"] < elapsed_us
    assert record["responder_delay_us"] is not None
    assert (record["src_port"], record["dst_port"]) == (flow.src[1], flow.dst[1])


@linux_only
def test_a_probes_round_trip_has_the_kernels_time_stamps(
    engine: UdpEngine, flow: FiveTuple, bursts: list[Burst], run_until: Until
) -> None:
    def probe_again() -> bool:
        # The kernel switches receive stamps on some moments after the first socket asks for them.
        if any(burst.round_trips and burst.round_trips[0].kernel for burst in bursts):
            return True
        if engine.in_flight == 0:
            engine.probe(flow)
        return False

    run_until(probe_again)
    record = ping_record(bursts[-1], cpu_steal=0.0)
    assert (record["dial"], record["timestamp"]) == ("success", "kernel")


@pytest.mark.parametrize(
    ("responder_us", "latency", "of_responder"),
    [
        (10, 30.0, 10.0),
        (39, 1.0, 39.0),
        (60, 1.0, 39.0),  # its time of sending is an estimate, and this network is faster
        (90, 40.0, None),  # more than an estimate can be wrong
        (-10, 40.0, None),
    ],
)
def test_the_responders_share_leaves_a_positive_round_trip_or_is_not_believed(
    sockets: SocketPool, loop: Loop, responder_us: int, latency: float, of_responder: float | None
) -> None:
    bursts: list[Burst] = []
    engine = UdpEngine(loop, sockets, bursts.append, timeout_s=HANG_S)
    flow = FiveTuple(sockets.open(("127.0.0.1", 0)).address, ("127.0.0.1", free_port()))
    sequence, now = sockets.next_sequence() + 1, time.time_ns()
    engine.probe(flow)
    engine.on_send_timestamp(sequence, now)
    reply = Packet(packet.REPLY, sequence, 0, now, 0, 0, now, now + responder_us * 1000)
    engine.on_reply(sequence, reply, Received(b"", flow.dst, now + 40_000, kernel=True))
    record = ping_record(bursts[0], 0.0)
    assert (record["latency"], record.get("responder_delay_us")) == (latency, of_responder)


def test_a_burst_becomes_one_record_with_percentiles_and_jitter(
    engine: UdpEngine, flow: FiveTuple, bursts: list[Burst], run_until: Until
) -> None:
    engine.probe(flow, burst=20)
    run_until(lambda: bool(bursts))
    record = ping_record(bursts[0], cpu_steal=0.25)
    assert len(bursts) == 1
    assert (record["sent"], record["lost"], record["cpu_steal"]) == (20, 0, 0.25)
    p50, p99, jitter = record["p50_us"], record["p99_us"], record["jitter_us"]
    assert isinstance(p50, float)
    assert isinstance(p99, float)
    assert isinstance(jitter, float)
    assert 0 < p50 <= p99
    assert record["latency"] == p50


@linux_only
def test_a_closed_port_is_refused_and_not_lost(
    engine: UdpEngine, flow: FiveTuple, bursts: list[Burst], run_until: Until
) -> None:
    engine.probe(FiveTuple(flow.src, ("127.0.0.1", free_port())))
    run_until(lambda: bool(bursts))
    record = ping_record(bursts[0], 0.0)
    assert (record["dial"], record["sent"], record["lost"]) == ("refused", 1, 0)
    assert "latency" not in record


def test_a_mute_peer_is_a_timeout(
    impatient: UdpEngine,
    flow: FiveTuple,
    mute: packet.Address,
    bursts: list[Burst],
    run_until: Until,
) -> None:
    impatient.probe(FiveTuple(flow.src, mute), burst=3)
    run_until(lambda: bool(bursts))
    record = ping_record(bursts[0], 0.0)
    assert (record["dial"], record["lost"], record["loss_rate"]) == ("timeout", 3, 1.0)
    assert impatient.in_flight == 0


def test_a_probe_to_a_responder_with_another_key_is_a_timeout(
    loop: Loop, impatient: UdpEngine, flow: FiveTuple, bursts: list[Burst], run_until: Until
) -> None:
    other_key = Key(b"the key of another fabric")
    stranger = Responder(other_key)
    others = SocketPool(loop, other_key, stranger, max_rate=100)
    impatient.probe(FiveTuple(flow.src, others.open(("127.0.0.1", 0)).address))
    run_until(lambda: bool(bursts) and bool(stranger.silent))
    others.close_except(())
    assert bursts[0].dial == "timeout"
    assert stranger.silent == {"bad-mac": 1}


def test_a_source_address_of_another_host_is_an_error_and_no_loss(
    engine: UdpEngine, flow: FiveTuple, bursts: list[Burst]
) -> None:
    engine.probe(FiveTuple(("192.0.2.1", 51000), flow.dst))
    record = ping_record(bursts[0], 0.0)
    assert (record["dial"], record["sent"], record["lost"]) == ("error", 0, 0)
    assert record["loss_rate"] is None


def test_the_agents_rate_limit_is_never_exceeded(
    loop: Loop, key: Key, bursts: list[Burst], mute: packet.Address, run_until: Until
) -> None:
    sockets = SocketPool(loop, key, Responder(key), max_rate=1)
    engine = UdpEngine(loop, sockets, bursts.append, timeout_s=0.05)
    source = sockets.open(("127.0.0.1", 0)).address
    for _ in range(100):
        engine.probe(FiveTuple(source, mute))
    run_until(lambda: engine.in_flight == 0)
    sockets.close_except(())
    assert sockets.counts["over-budget"] >= 60
    assert sum(engine.sent.values()) + sockets.counts["over-budget"] == 100


def test_a_replayed_or_forged_reply_is_not_accepted(
    impatient: UdpEngine,
    sockets: SocketPool,
    flow: FiveTuple,
    mute: packet.Address,
    bursts: list[Burst],
    run_until: Until,
    key: Key,
) -> None:
    impatient.probe(FiveTuple(flow.src, mute))
    forged = packet.pack(key, packet.Packet(packet.REPLY, 1, 2, 3, 4), mute, flow.src)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as forger:
        forger.sendto(forged, flow.src)
    run_until(lambda: bool(bursts) and sockets.counts["strange"] == 1)
    assert bursts[0].dial == "timeout"
