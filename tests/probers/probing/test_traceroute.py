"""Traceroutes on loopback: a neighbour, a silent peer, no sockets, a stopped process."""

from __future__ import annotations

import socket
import time

from builders.agents.waiting import HANG_S, Until

from probers.net import packet
from probers.net.five_tuple import FiveTuple
from probers.net.packet import Key, Packet
from probers.net.socket_pool import SocketPool
from probers.probing.traceroute import Trace, Tracer
from probers.process.loop import Loop
from probers.publishing.record import trace_record


def test_a_trace_of_a_neighbour_has_no_hops(
    loop: Loop, sockets: SocketPool, flow: FiveTuple, run_until: Until
) -> None:
    traces: list[Trace] = []
    Tracer(loop, sockets, traces.append, hop_timeout_s=HANG_S).trace(flow)
    run_until(lambda: bool(traces))
    record = trace_record(traces[0])
    assert (record["dial"], record["route"], record["task_type"]) == ("success", "[]", "TRACEROUTE")


def test_a_trace_to_a_silent_peer_ends_with_one_unknown_hop(
    loop: Loop, sockets: SocketPool, flow: FiveTuple, mute: packet.Address, run_until: Until
) -> None:
    traces: list[Trace] = []
    Tracer(loop, sockets, traces.append, hop_timeout_s=0.02, tries=2).trace(
        FiveTuple(flow.src, mute)
    )
    run_until(lambda: bool(traces))
    record = trace_record(traces[0])
    assert (record["dial"], record["route"]) == ("timeout", "[null]")


def test_queued_traces_that_fail_at_once_do_not_recurse(
    loop: Loop, sockets: SocketPool, run_until: Until
) -> None:
    traces: list[Trace] = []
    tracer = Tracer(loop, sockets, traces.append, max_active=1, hop_timeout_s=0.01, tries=1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as mute:
        mute.bind(("127.0.0.1", 0))
        tracer.trace(FiveTuple(sockets.open(("127.0.0.1", 0)).address, mute.getsockname()))
        for _ in range(800):  # wait behind the first one, then end one after another at once
            tracer.trace(FiveTuple(("192.0.2.1", 20_000), ("127.0.0.1", 9)))
        run_until(lambda: len(traces) == 801)
    assert loop.errors == 0
    assert sockets.counts["send-EADDRNOTAVAIL"] == 800


def test_a_hop_probed_before_the_process_was_stopped_is_probed_again(
    sockets: SocketPool, loop: Loop, run_until: Until, key: Key
) -> None:
    traces: list[Trace] = []
    tracer = Tracer(loop, sockets, traces.append, hop_timeout_s=0.5, tries=1)
    source = sockets.open(("127.0.0.1", 0)).address
    peer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with peer:
        peer.bind(("127.0.0.1", 0))
        peer.setblocking(False)
        loop.call_at(0, lambda: tracer.trace(FiveTuple(source, peer.getsockname())))
        loop.call_at(1, lambda: time.sleep(1.5))
        asked: list[Packet] = []

        def answer() -> None:
            raw, sender = peer.recvfrom(2048)
            asked.append(packet.unpack(raw))
            if len(asked) == 2:  # the first answer is lost
                reply = packet.reply_to(asked[1], time.time_ns(), time.time_ns())
                peer.sendto(packet.pack(key, reply, peer.getsockname(), source), sender)

        loop.add_reader(peer.fileno(), answer)
        run_until(lambda: bool(traces))
        loop.remove_reader(peer.fileno())
    assert (traces[0].dial, traces[0].hops) == ("success", [])
