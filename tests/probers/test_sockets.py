"""Sockets and file descriptors: shared out, never used up, freed at once, errors counted."""

from __future__ import annotations

import errno
import json
import os
import resource
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from agent_site import Site, ended, own_network

from probers.agent import descriptor_limits
from probers.agent.descriptor_limits import RESERVE, shares
from probers.agent.probe_plan import fit
from probers.net.five_tuple import FiveTuple
from probers.net.packet import Address, Key
from probers.net.responder import Responder
from probers.net.socket_pool import MAX_SOCKETS, SocketPool
from probers.net.udp_socket import UdpSocket
from probers.probing.traceroute import Trace, Tracer
from probers.probing.udp import Burst, UdpEngine
from probers.process.loop import Loop
from probers.publishing import frames
from probers.publishing.relay import Headers, Relay
from schemas import topics

Until = Callable[[Callable[[], bool]], None]


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


NETWORK = own_network()


def flows(sources: int, targets: int = 2) -> list[FiveTuple]:
    return [
        FiveTuple((f"{NETWORK}.1", 20_000 + port), (f"127.0.2.{target}", 65300))
        for target in range(1, targets + 1)
        for port in range(sources)
    ]


@pytest.mark.parametrize("limit", [256, 1024, 4096, 20_000, 2**31])
def test_no_share_of_the_descriptors_uses_up_another(limit: int) -> None:
    share = shares(limit)
    assert share.sockets + share.connections + RESERVE <= limit
    assert 1 <= share.sockets <= MAX_SOCKETS
    assert 1 <= share.connections <= 512
    if limit >= 20_000:
        assert share == (MAX_SOCKETS, 512)


def test_the_soft_limit_is_raised_to_the_hard_one() -> None:
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (100, 900))\n"
        "from probers.agent.descriptor_limits import raise_file_limit\n"
        "print(raise_file_limit(), *resource.getrlimit(resource.RLIMIT_NOFILE))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["900"] * 3


def test_a_list_that_fits_is_probed_as_it_is() -> None:
    wanted = flows(10)
    assert fit(wanted, {(f"{NETWORK}.1", 65300)}, 11) == wanted


def test_a_list_that_is_too_long_loses_ports_before_it_loses_targets() -> None:
    wanted = [
        FiveTuple((f"{NETWORK}.{own}", 20_000 + port), (f"127.0.2.{peer}", 65300))
        for own in (1, 2) for peer in (1, 2, 3) for port in range(100)
    ]  # fmt: skip
    chosen = fit(wanted, {(f"{NETWORK}.1", 65300)}, 9)
    sources = {flow.src for flow in chosen}
    assert len(sources) == 8
    assert {(flow.src[0], flow.dst) for flow in chosen} == {
        (flow.src[0], flow.dst) for flow in wanted
    }
    assert len(chosen) == 3 * 8, "a socket serves every target of its address"
    assert chosen == [flow for flow in wanted if flow.src in sources], "in the list's order"


def test_the_bound_on_sockets_holds_whatever_is_asked(loop: Loop, key: Key) -> None:
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


def test_a_port_that_another_process_has_is_counted_and_the_others_work(
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


def test_a_socket_that_cannot_be_watched_is_closed_and_not_used(
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
        gone, kept = (sockets.open(("127.0.0.1", 0)).address for _ in range(2))
        for source in (gone, kept):
            engine.probe(FiveTuple(source, mute.getsockname()), burst=2)
            tracer.trace(FiveTuple(source, mute.getsockname()))
        sockets.close_except([kept])
        tracer.close_except([kept])
        run_until(lambda: bool(bursts) and bool(traces))
    assert [(burst.flow.src, burst.dial, burst.lost) for burst in bursts] == [(kept, "timeout", 2)]
    assert [trace.flow.src for trace in traces] == [kept]
    assert engine.withdrawn == 2
    assert engine.in_flight == 0
    assert len(sockets) == 1, "no trace has opened its old socket again"


def test_the_relay_serves_who_is_there_while_descriptors_are_used_up(
    tmp_path: Path, eventually: Until
) -> None:
    served: list[bytes] = []
    gate = threading.Event()

    def sink(_topic: str, _key: str, _headers: Headers, payload: bytes) -> None:
        served.append(payload)
        gate.set()

    def frame(payload: bytes) -> bytes:
        return frames.pack(frames.Frame(topics.PINGS.name, "x", topics.ARROW, payload))

    path = str(tmp_path / "relay.sock")
    with Relay(path, sink) as relay, socket.socket(socket.AF_UNIX) as early:
        early.connect(path)
        early.sendall(frame(b"early"))
        assert gate.wait(300.0)
        late = socket.socket(socket.AF_UNIX)
        with no_descriptors_left():
            late.connect(path)  # into the backlog
            eventually(lambda: relay.counts["no-descriptor"] > 0)
            for number in range(20):
                early.sendall(frame(b"%d" % number))
            eventually(lambda: len(served) == 21)
        late.sendall(frame(b"late"))
        eventually(lambda: b"late" in served)
        late.close()


def test_60000_source_ports_are_served_in_part_and_a_sane_list_works_at_once(
    site: Site, eventually: Until
) -> None:
    site.write_list([site.ips[1]])
    path = site.directory / "list.json"
    sane = path.read_text()
    document = json.loads(sane)
    document["targets"] = document["targets"][:1]
    document["targets"][0]["src_ports"] = list(range(1024, 61_024))
    document["targets"][0]["port"] = 65311
    path.write_text(json.dumps(document))
    limit = ["prlimit", "--nofile=400:400"]
    site.command = [*limit, *site.command]
    process = site.start("--max-rate", "2000", "--relay-listen", str(site.directory / "own.sock"))
    eventually(lambda: len({row["src_port"] for row in site.pings}) > 50)
    assert len(os.listdir(f"/proc/{process.pid}/fd")) <= 400
    fresh = site.directory / "sane.json"
    fresh.write_text(sane.replace('"src_ports"', '"port": 65311, "src_ports"'))
    fresh.replace(path)
    known = len(site.pings)
    eventually(lambda: any(row["src_port"] == 51000 for row in site.pings[known:]))
    eventually(lambda: len(os.listdir(f"/proc/{process.pid}/fd")) < 40)
    code, errors = ended(process)
    assert code == 0, errors
    assert errors.count("event=five-tuples-left-out") == 1, errors
    assert "sockets=236" in errors, "400 without a quarter for the relay and the reserve"
    assert {row["dial"] for row in site.pings} == {"success"}
    assert descriptor_limits.RESERVE == 64
