"""Sockets: bounded, closed at once when unused, every error counted."""

from __future__ import annotations

import errno
import os
import resource
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from builders.agents.site import own_network
from builders.agents.waiting import Until

from probers.net.five_tuple import FiveTuple
from probers.net.packet import Address, Key
from probers.net.responder import Responder
from probers.net.socket_pool import SocketPool
from probers.net.udp_socket import UdpSocket
from probers.probing.traceroute import Trace, Tracer
from probers.probing.udp import Burst, UdpEngine
from probers.process.loop import Loop

NETWORK = own_network()


@contextmanager
def no_descriptors_left() -> Iterator[None]:
    """This process can open nothing more: the soft limit is the number of the next descriptor."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    spare = os.dup(0)
    os.close(spare)
    resource.setrlimit(resource.RLIMIT_NOFILE, (spare, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def flows(sources: int, targets: int = 2) -> list[FiveTuple]:
    return [
        FiveTuple((f"{NETWORK}.1", 20_000 + port), (f"127.0.2.{target}", 65300))
        for target in range(1, targets + 1)
        for port in range(sources)
    ]


def test_the_bound_on_sockets_holds_for_any_number_of_source_ports(loop: Loop, key: Key) -> None:
    bounded = SocketPool(loop, key, Responder(key), max_rate=10_000, max_sockets=3)
    bursts: list[Burst] = []
    engine = UdpEngine(loop, bounded, bursts.append)
    for flow in flows(5, targets=1):
        engine.probe(flow)
    assert len(bounded) == 3
    assert [burst.dial for burst in bursts] == ["error", "error"]
    assert bounded.counts["send-EMFILE"] == 2
    assert set(bounded.unopened.values()) == {"EMFILE"}
    bounded.close_except(())
    assert len(bounded) == 0
    assert not bounded.unopened
    engine.probe(flows(9, targets=1)[8])
    assert len(bounded) == 1, "free again at once"
    bounded.close_except(())


def test_a_source_port_in_use_is_counted_and_the_others_work(
    sockets: SocketPool, loop: Loop, run_until: Until
) -> None:
    bursts: list[Burst] = []
    engine = UdpEngine(loop, sockets, bursts.append)
    target = sockets.open(("127.0.0.1", 0)).address
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))
        busy: Address = taken.getsockname()
        engine.probe(FiveTuple(busy, target))
        engine.probe(FiveTuple(sockets.open(("127.0.0.1", 0)).address, target))
        run_until(lambda: len(bursts) == 2)
    assert [burst.dial for burst in bursts] == ["error", "success"]
    assert sockets.unopened == {busy: "EADDRINUSE"}
    engine.probe(FiveTuple(busy, target))
    run_until(lambda: len(bursts) == 3)
    assert bursts[2].dial == "success", "free again, used again"
    assert not sockets.unopened


def test_probes_and_traces_without_descriptors_are_errors_and_recover(
    sockets: SocketPool, loop: Loop, run_until: Until
) -> None:
    bursts: list[Burst] = []
    traces: list[Trace] = []
    engine = UdpEngine(loop, sockets, bursts.append)
    tracer = Tracer(loop, sockets, traces.append, max_active=1)
    target = sockets.open(("127.0.0.1", 0)).address
    wanted = [FiveTuple(flow.src, target) for flow in flows(400, targets=1)]
    with no_descriptors_left():
        engine.probe(wanted[0])
        for flow in wanted:  # each ends at once and starts the next: no recursion
            tracer.trace(flow)
    assert bursts[0].dial == "error"
    assert {trace.dial for trace in traces} == {"error"}
    assert len(traces) == 400
    assert sockets.counts == {"send-EMFILE": 401}
    engine.probe(wanted[0])
    tracer.trace(wanted[0])
    run_until(lambda: len(bursts) == 2 and len(traces) == 401)
    assert (bursts[1].dial, traces[-1].dial) == ("success", "success")


def test_a_destination_that_the_kernel_refuses_is_counted_by_its_reason(
    sockets: SocketPool, loop: Loop
) -> None:
    bursts: list[Burst] = []
    engine = UdpEngine(loop, sockets, bursts.append)
    source = sockets.open(("127.0.0.1", 0)).address
    engine.probe(FiveTuple(source, ("255.255.255.255", 9)))  # broadcasts need a socket option
    assert [(burst.dial, burst.sent, burst.lost) for burst in bursts] == [("error", 0, 0)]
    assert sockets.counts == {"send-EACCES": 1}


@pytest.mark.parametrize("helper", ["python"], indirect=True)  # where a refusal can be made
@pytest.mark.parametrize("number", [errno.ENOBUFS, errno.ENOMEM, errno.EPERM])
def test_a_kernel_that_refuses_to_send_is_counted_by_its_reason(
    sockets: SocketPool, loop: Loop, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    bursts: list[Burst] = []
    engine = UdpEngine(loop, sockets, bursts.append)
    source = sockets.open(("127.0.0.1", 0)).address

    def refuse(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(UdpSocket, "send", refuse)
    engine.probe(FiveTuple(source, ("127.0.0.1", 9)))
    assert [(burst.dial, burst.sent, burst.lost) for burst in bursts] == [("error", 0, 0)]
    assert sockets.counts == {f"send-{errno.errorcode[number]}": 1}


@pytest.mark.parametrize("helper", ["python"], indirect=True)
def test_a_socket_that_the_loop_cannot_watch_is_closed_and_not_used(
    sockets: SocketPool, loop: Loop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its answers would never be read, and every probe from it would be a loss."""

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, "too many watches")

    monkeypatch.setattr(loop, "add_reader", refuse)
    with pytest.raises(OSError, match="too many watches"):
        sockets.open(("127.0.0.1", 0))
    assert len(sockets) == 0


def test_probes_whose_socket_is_closed_are_neither_answered_nor_lost(
    sockets: SocketPool, loop: Loop, run_until: Until
) -> None:
    bursts: list[Burst] = []
    traces: list[Trace] = []
    engine = UdpEngine(loop, sockets, bursts.append, timeout_s=0.05)
    tracer = Tracer(loop, sockets, traces.append, hop_timeout_s=0.05)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as mute:
        mute.bind(("127.0.0.1", 0))
        closed, open_ = (sockets.open(("127.0.0.1", 0)).address for _ in range(2))
        for source in (closed, open_):
            engine.probe(FiveTuple(source, mute.getsockname()), burst=2)
            tracer.trace(FiveTuple(source, mute.getsockname()))
        sockets.close_except([open_])
        tracer.cancel_except([open_])
        run_until(lambda: bool(bursts) and bool(traces))
    assert [(burst.flow.src, burst.dial, burst.lost) for burst in bursts] == [(open_, "timeout", 2)]
    assert [trace.flow.src for trace in traces] == [open_]
    assert engine.withdrawn == 2
    assert engine.in_flight == 0
    assert len(sockets) == 1, "no trace has opened its old socket again"
