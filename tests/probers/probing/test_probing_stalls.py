"""Processes that stop and clocks that step cause neither losses nor latencies."""

from __future__ import annotations

import socket
import threading
import time

import pytest
from builders.agents.waiting import Until

from probers.net import packet
from probers.net.five_tuple import FiveTuple
from probers.net.packet import Key, Packet
from probers.net.socket_pool import SocketPool
from probers.net.udp_socket import Received
from probers.probing.udp import Burst, UdpEngine
from probers.process.loop import Loop
from probers.publishing.record import ping_record

SECOND, HOUR = 10**9, 3600 * 10**9
NOW = 1_700_000_000 * SECOND


def test_a_reply_that_arrived_while_the_loop_was_late_is_no_loss(
    sockets: SocketPool, loop: Loop, run_until: Until
) -> None:
    """The wait has ended, the answer has been in the socket for long."""
    bursts: list[Burst] = []
    engine = UdpEngine(loop, sockets, bursts.append, timeout_s=1.0)
    source, target = (sockets.open(("127.0.0.1", 0)).address for _ in range(2))

    def stamped() -> bool:
        """The kernel begins to stamp some time after the first socket has asked for it."""
        if any(trip.kernel for burst in bursts for trip in burst.round_trips):
            return True
        if not engine.in_flight:
            engine.probe(FiveTuple(source, target))
        return False

    run_until(stamped)
    bursts.clear()
    for _ in range(10):
        loop.call_at(0, lambda: engine.probe(FiveTuple(source, target)))
    loop.call_at(1, lambda: time.sleep(1.5))  # the process does not run
    run_until(lambda: len(bursts) == 10)
    assert {burst.dial for burst in bursts} == {"success"}
    assert engine.stalled == 0


def test_a_probe_in_flight_while_the_process_was_stopped_is_an_error_and_no_loss(
    sockets: SocketPool, loop: Loop, run_until: Until
) -> None:
    bursts: list[Burst] = []
    engine = UdpEngine(loop, sockets, bursts.append, timeout_s=0.1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as mute:
        mute.bind(("127.0.0.1", 0))
        flow = FiveTuple(sockets.open(("127.0.0.1", 0)).address, mute.getsockname())
        loop.call_at(0, lambda: engine.probe(flow, burst=2))
        loop.call_at(1, lambda: time.sleep(0.5))
        run_until(lambda: len(bursts) == 1)
        assert engine.stalled == 2
        record = ping_record(bursts[0], 0.0)
        assert (record["dial"], record["loss_rate"], record["sent"]) == ("error", None, 0)
        loop.call_at(0, lambda: engine.probe(flow))
        run_until(lambda: len(bursts) == 2)
    assert engine.in_flight == 0


def test_a_second_without_the_process_is_a_stall_however_long_the_time_out(
    sockets: SocketPool, loop: Loop, run_until: Until
) -> None:
    """An own responder was stopped as well, and leaves what waited for long unanswered."""
    bursts: list[Burst] = []
    engine = UdpEngine(loop, sockets, bursts.append, timeout_s=1.5)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as mute:
        mute.bind(("127.0.0.1", 0))
        flow = FiveTuple(sockets.open(("127.0.0.1", 0)).address, mute.getsockname())
        loop.call_at(0, lambda: engine.probe(flow))
        loop.call_at(1, lambda: time.sleep(2.8))
        run_until(lambda: len(bursts) == 1)
    assert (bursts[0].dial, engine.stalled) == ("error", 1)


@pytest.mark.parametrize("step", [HOUR, -HOUR, 30 * SECOND])
@pytest.mark.parametrize("whose", ["ours", "theirs"])
def test_a_clock_that_steps_in_the_middle_of_a_round_trip_changes_no_latency(
    sockets: SocketPool, loop: Loop, step: int, whose: str
) -> None:
    """t1..t4 are wall clocks; the monotonic clock bounds the time that can have passed."""
    bursts: list[Burst] = []
    engine = UdpEngine(loop, sockets, bursts.append, timeout_s=60.0)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as mute:
        mute.bind(("127.0.0.1", 0))
        flow = FiveTuple(sockets.open(("127.0.0.1", 0)).address, mute.getsockname())
        sequence = sockets.next_sequence() + 1
        engine.probe(flow)
    ours, theirs = (step, 0) if whose == "ours" else (0, step)
    engine.on_send_timestamp(sequence, NOW)
    reply = Packet(packet.REPLY, sequence, 0, NOW, 0, 0, NOW + 10_000, NOW + 20_000 + theirs)
    engine.on_reply(sequence, reply, Received(b"", flow.dst, NOW + 50_000 + ours, kernel=True))
    record = ping_record(bursts[0], 0.0)
    assert record["dial"] == "success"
    assert isinstance(record["latency"], float)
    assert 0 < record["latency"] < 60e6
    if whose == "theirs":
        assert (record["latency"], record["timestamp"]) == (50.0, "kernel")
        assert "responder_delay_us" not in record
    else:
        assert record["timestamp"] == "user"


def test_a_flood_of_stale_datagrams_does_not_stop_the_probing(
    sockets: SocketPool, loop: Loop, run_until: Until, key: Key
) -> None:
    bursts: list[Burst] = []
    engine = UdpEngine(loop, sockets, bursts.append, timeout_s=30.0)
    source, target = (sockets.open(("127.0.0.1", 0)).address for _ in range(2))
    over = threading.Event()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as flooder:
        flooder.bind(("127.0.0.1", 0))
        peer = flooder.getsockname()
        old = Packet(packet.PROBE, 1, 0, time.time_ns() - HOUR, 5)
        raw = packet.pack(key, old, peer, source)

        def flood() -> None:
            while not over.is_set():
                flooder.sendto(raw, source)

        thread = threading.Thread(target=flood)
        thread.start()
        loop.call_every(10_000_000, lambda: engine.probe(FiveTuple(source, target)))
        run_until(lambda: len(bursts) >= 50)
        over.set()
        thread.join()
    assert sum(burst.dial == "success" for burst in bursts) >= 1
    assert loop.errors == 0
