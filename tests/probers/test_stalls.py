"""A process that was stopped, clocks that step, lists that change all the time: no false record."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from random import Random

import pytest
from agent_site import SECRET, Site, ended

from probers.net import packet
from probers.net.five_tuple import FiveTuple
from probers.net.packet import Key, Packet
from probers.net.responder import Responder
from probers.net.socket_pool import SocketPool
from probers.net.udp_socket import Received
from probers.probing.schedule import Schedule
from probers.probing.traceroute import Trace, Tracer
from probers.probing.udp import Burst, UdpEngine
from probers.process.loop import Deadlines, Loop
from probers.publishing.record import ping_record

Until = Callable[[Callable[[], bool]], None]
SECOND, HOUR = 10**9, 3600 * 10**9
NOW = 1_700_000_000 * SECOND
FLOWS = [FiveTuple(("10.0.0.1", 61100 + n), ("10.0.0.2", 65300)) for n in range(20)]


def answering(site: Site, *ips: str) -> None:
    """A list whose targets are this agent's own responders."""
    site.write_list(list(ips))
    path = site.directory / "list.json"
    fresh = site.directory / "fresh"
    fresh.write_text(path.read_text().replace('"src_ports"', '"port": 65311, "src_ports"'))
    fresh.replace(path)


class SlowPeer:
    """A host whose answers are a second on their way: some are always outstanding."""

    def __init__(self, ip: str) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind((ip, 65311))
        self._socket.settimeout(0.05)
        self._key, self._over = Key(SECRET.encode()), threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def close(self) -> None:
        self._over.set()
        self._thread.join()
        self._socket.close()

    def _run(self) -> None:
        waiting: deque[tuple[float, bytes, packet.Address]] = deque()
        own = self._socket.getsockname()
        while not self._over.is_set():
            while waiting and waiting[0][0] <= time.monotonic():
                _, reply, peer = waiting.popleft()
                self._socket.sendto(reply, peer)
            try:
                raw, peer = self._socket.recvfrom(2048)
            except TimeoutError:
                continue
            now = time.time_ns()
            answer = packet.reply_to(packet.unpack(raw), now, now + SECOND)
            reply = packet.pack(self._key, answer, own, peer)
            waiting.append((time.monotonic() + 1.0, reply, peer))


def test_an_agent_that_was_stopped_reports_no_loss_and_no_latency_of_its_own(
    site: Site, eventually: Until
) -> None:
    """What it had asked was answered meanwhile, and what waits longer than it is fresh is left."""
    peer_ip = f"{site.network}.9"
    with closing(SlowPeer(peer_ip)):
        answering(site, *site.ips, peer_ip)
        process = site.start("--trace-interval", "0", "--timeout", "5")
        eventually(lambda: {row["dst_ip"] for row in site.pings} == {*site.ips, peer_ip})
        process.send_signal(signal.SIGSTOP)
        threading.Event().wait(float(os.environ.get("SKH_TEST_STOP_S", "7")))
        known = len(site.pings)
        process.send_signal(signal.SIGCONT)
        eventually(lambda: peer_ip in {row["dst_ip"] for row in site.pings[known + 200 :]})
        code, errors = ended(process)
    assert code == 0, errors
    dials = Counter((row["dst_ip"], row["dial"]) for row in site.pings)
    assert {dial for _, dial in dials} <= {"success", "error"}, dials
    assert dials[peer_ip, "success"] > 50
    for row in site.pings:
        assert row.get("loss_rate") == (0 if row["dial"] == "success" else None)
        assert row.get("latency") is None or row["latency"] < 5e6
    assert max(beat.scheduling_delay_us for beat in site.beats) > 6e6, "the stop is said"


def test_an_answer_that_came_while_the_loop_was_late_is_no_loss(
    sockets: SocketPool, loop: Loop, run_until: Until
) -> None:
    """The wait has ended, the answer has been in the socket for long."""
    bursts: list[Burst] = []
    engine = UdpEngine(loop, sockets, bursts.append, timeout_s=0.2)
    source, target = (sockets.open(("127.0.0.1", 0)).address for _ in range(2))
    for _ in range(10):
        loop.call_at(0, lambda: engine.probe(FiveTuple(source, target)))
    loop.call_at(1, lambda: time.sleep(0.35))  # our own process does not run
    run_until(lambda: len(bursts) == 10)
    assert {burst.dial for burst in bursts} == {"success"}
    assert engine.stalled == 0


def test_a_probe_that_was_in_flight_over_a_stop_is_an_error_and_no_loss(
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


def test_a_hop_that_was_asked_over_a_stop_is_asked_again(
    sockets: SocketPool, loop: Loop, run_until: Until, key: Key
) -> None:
    traces: list[Trace] = []
    tracer = Tracer(loop, sockets, traces.append, hop_timeout_s=0.1, tries=1)
    source = sockets.open(("127.0.0.1", 0)).address
    peer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with peer:
        peer.bind(("127.0.0.1", 0))
        peer.setblocking(False)
        loop.call_at(0, lambda: tracer.trace(FiveTuple(source, peer.getsockname())))
        loop.call_at(1, lambda: time.sleep(0.5))
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


def test_a_wait_knows_whether_the_process_ran(loop: Loop, run_until: Until) -> None:
    stalled: list[bool] = []
    waits = Deadlines(loop, 200_000_000, lambda _: stalled.append(waits.stalled))
    loop.call_at(0, lambda: waits.add(1, time.monotonic_ns()))
    run_until(lambda: len(stalled) == 1)
    loop.call_at(0, lambda: waits.add(2, time.monotonic_ns()))
    loop.call_at(1, lambda: time.sleep(1.0))
    run_until(lambda: len(stalled) == 2)
    assert stalled[1], "a second of which the process slept"


@pytest.mark.parametrize("step", [HOUR, -HOUR, 30 * SECOND])
@pytest.mark.parametrize("whose", ["ours", "theirs"])
def test_a_clock_that_steps_in_the_middle_of_a_round_trip_changes_no_latency(
    sockets: SocketPool, loop: Loop, step: int, whose: str
) -> None:
    """t1..t4 are wall clocks; the monotonic one says how much time can have passed at all."""
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


@pytest.mark.parametrize("step", [HOUR, -HOUR])
def test_peers_are_answered_again_as_soon_as_a_stepped_clock_is_right(key: Key, step: int) -> None:
    responder = Responder(key)
    peer, own = ("10.0.0.1", 51000), ("10.0.0.2", 65300)
    raw = packet.pack(key, Packet(packet.PROBE, 1, 0, NOW, 5), peer, own)
    assert responder.reply(raw, peer, own, NOW + step, NOW + step, 0) is None
    assert responder.silent == {"stale": 1}
    assert responder.last_skew_ns == -step, "names the difference"
    assert responder.reply(raw, peer, own, NOW, NOW, 0) is not None


def test_what_waited_while_we_were_stopped_is_not_blamed_on_the_peers_clock(key: Key) -> None:
    responder = Responder(key)
    peer, own = ("10.0.0.1", 51000), ("10.0.0.2", 65300)
    raw = packet.pack(key, Packet(packet.PROBE, 1, 0, NOW, 5), peer, own)
    assert responder.reply(raw, peer, own, NOW, NOW + 30 * SECOND, 0) is None
    assert responder.silent == {"late": 1}
    assert responder.last_skew_ns == 0


def test_stale_datagrams_leave_nothing_behind(key: Key) -> None:
    responder = Responder(key)
    own = ("10.0.0.2", 65300)
    for number in range(int(os.environ.get("SKH_TEST_STALE", "20000"))):
        peer = (f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}", 51000)
        raw = packet.pack(key, Packet(packet.PROBE, number, 0, NOW - HOUR, 5), peer, own)
        assert responder.reply(raw, peer, own, NOW, NOW, number) is None
    assert set(responder.silent) == {"stale"}
    assert not responder.recent_flows


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


def test_flows_that_stay_keep_their_turns_however_often_the_list_changes(
    loop: Loop, run_until: Until
) -> None:
    fired: Counter[FiveTuple] = Counter()
    schedule = Schedule(loop, lambda flow: fired.update([flow]), Random(1))
    begin = time.monotonic()
    extra = [FiveTuple(("10.0.0.1", 20_000 + n), ("10.0.0.2", 65300)) for n in range(1000)]
    turn = 0

    def replace() -> None:
        nonlocal turn
        turn += 1
        schedule.replace([*FLOWS, extra[turn % 1000]], 0.5)

    loop.call_every(10_000_000, replace)
    run_until(lambda: all(fired[flow] >= 4 for flow in FLOWS))
    elapsed = time.monotonic() - begin
    assert max(fired[flow] for flow in FLOWS) <= elapsed / 0.5 + 2


def test_replaced_schedules_leave_no_timers_behind(loop: Loop) -> None:
    schedule = Schedule(loop, lambda _: None, Random(1))
    for turn in range(5000):
        flows = [FiveTuple(("10.0.0.1", 20_000 + turn), ("10.0.0.2", n)) for n in range(1, 21)]
        schedule.replace(flows, 3600.0, 3600.0)
    assert len(schedule) == 20
    assert loop.timers < 100


def test_a_list_that_changes_100_times_a_second_leaks_nothing_and_loses_nothing(
    site: Site, eventually: Until
) -> None:
    answering(site, site.ips[1])
    process = site.start("--list-interval", "0.01", "--max-rate", "5000")
    eventually(lambda: bool(site.pings))
    base = (site.directory / "list.json").read_text()
    pause = threading.Event()

    def change(times: int) -> None:
        for number in range(times):
            ports = f"[51000, {20_000 + number % 997}, {30_000 + number % 991}]"
            fresh = site.directory / "fresh"
            fresh.write_text(base.replace("[51000, 51001]", ports))
            fresh.replace(site.directory / "list.json")
            pause.wait(0.01)

    def used() -> tuple[int, int, float]:
        place = Path(f"/proc/{process.pid}")
        status = (place / "status").read_text().splitlines()
        rss = next(int(line.split()[1]) for line in status if line.startswith("VmRSS")) / 1024
        return len(os.listdir(place / "fd")), len(os.listdir(place / "task")), rss

    change(200)
    before = used()
    change(600)
    after = used()
    known = len(site.pings)
    eventually(lambda: len(site.pings) > known)
    code, errors = ended(process)
    assert code == 0, errors
    assert after[0] <= before[0] + 4
    assert after[1] == before[1]
    assert after[2] < before[2] + 4.0, (before, after)
    assert {row["dial"] for row in site.pings} == {"success"}
    assert len(errors.splitlines()) < 200, "a line that repeats is left out"
