"""The relay bounds memory, time and connections: one client cannot take them from the others."""

from __future__ import annotations

import resource
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from builders.waiting import Until

from probers.publishing import frames
from probers.publishing.frames import Frame, FrameReader
from probers.publishing.relay import Headers, Relay
from probers.publishing.relay.limits import Connections, Limits, TokenBucket
from schemas import topics

MIB = 1024 * 1024
RELAY = """
import sys, threading
from probers.publishing.relay import Relay
with Relay(sys.argv[1], lambda *message: print(len(message[3]), flush=True)) as relay:
    print("ready", flush=True)
    sys.stdin.readline()
    print(dict(relay.counts), relay.connections, flush=True)
"""


def frame(payload: bytes) -> bytes:
    return frames.pack(Frame(topics.PINGS.name, "host-1", topics.ARROW, payload))


HALF = frame(b"x" * (8 * MIB - 100))[: 8 * MIB - 4096]


class Site:
    """A relay, what it has passed on, and clients of it."""

    def __init__(self, path: Path, stack: ExitStack) -> None:
        self.path, self._stack = str(path), stack
        self.payloads: list[bytes] = []
        self.relay: Relay

    def serve(self, limits: Limits) -> Relay:
        self.relay = self._stack.enter_context(Relay(self.path, self.sink, limits=limits))
        return self.relay

    def sink(self, _topic: str, _key: str, _headers: Headers, payload: bytes) -> None:
        if payload == b"defect":
            raise MemoryError("injected")
        self.payloads.append(payload)

    def client(self) -> socket.socket:
        made = self._stack.enter_context(socket.socket(socket.AF_UNIX))
        made.settimeout(60.0)
        made.connect(self.path)
        return made


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with ExitStack() as stack:
        yield Site(tmp_path / "relay.sock", stack)


def closed(client: socket.socket) -> bool:
    """Whether the relay has hung up; waits for that."""
    try:
        return client.recv(1) == b""
    except ConnectionResetError:
        return True


def test_a_silent_client_is_disconnected_and_one_with_heartbeats_is_not(
    site: Site, eventually: Until
) -> None:
    relay = site.serve(Limits(idle_s=4.0))
    mute, talker = site.client(), site.client()
    over = threading.Event()

    def talk() -> None:
        while not over.wait(0.05):
            talker.sendall(frame(b"beat"))

    thread = threading.Thread(target=talk)
    thread.start()
    assert closed(mute)
    assert relay.connections == 1
    over.set()
    thread.join()
    assert relay.counts["idle"] == 1
    site.client().sendall(frame(b"again"))
    eventually(lambda: b"again" in site.payloads)


def test_a_frame_that_arrives_too_slowly_ends_its_connection(site: Site) -> None:
    relay = site.serve(Limits(frame_s=1.0))
    client = site.client()
    over = threading.Event()

    def drip() -> None:
        raw = frame(b"x" * 10_000)
        for at in range(len(raw)):
            try:
                client.sendall(raw[at : at + 1])
            except OSError:
                return
            if over.wait(0.02):
                return

    thread = threading.Thread(target=drip)
    thread.start()
    assert closed(client), "200 s at that pace"
    over.set()
    thread.join()
    assert relay.counts["slow-frame"] == 1
    assert relay.buffered_bytes == 0


def test_a_connection_is_late_only_when_one_frame_takes_too_long() -> None:
    clients = Connections(Limits(frame_s=30.0, idle_s=120.0), Counter())
    raw = frame(b"y" * 1000)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        reader = FrameReader()
        clients.add(ours, reader, 0.0)

        def hear(data: bytes, now: float) -> None:
            clients.received(ours, len(data), len(list(reader.feed(data))), now)

        hear(raw[:500], 0.0)
        for now in range(1, 100):
            hear(raw[500:] + raw[:500], now)
            assert not list(clients.timed_out(now))
        for now in range(100, 129):
            hear(raw[500 + now : 501 + now], now)
            assert not list(clients.timed_out(now))
        assert list(clients.timed_out(129.5)) == [(ours, "slow-frame")]
        clients.remove(ours)
        assert clients.buffered == 0


def test_the_largest_client_is_dropped_when_all_buffers_together_are_too_large(
    site: Site, eventually: Until
) -> None:
    relay = site.serve(Limits(buffered_bytes=4 * MIB))
    small = site.client()
    small.sendall(frame(b"s" * 100_000)[:50_000])
    large = [site.client() for _ in range(6)]
    threads = [threading.Thread(target=_send, args=(one, HALF)) for one in large]
    for thread in threads:
        thread.start()
    eventually(lambda: relay.counts["over-memory"] >= 4)
    for thread in threads:
        thread.join()
    assert relay.buffered_bytes <= 4 * MIB
    small.sendall(frame(b"s" * 100_000)[50_000:])
    eventually(lambda: site.payloads == [b"s" * 100_000])
    for one in large:
        one.close()
    eventually(lambda: relay.buffered_bytes == 0)


def _send(client: socket.socket, raw: bytes) -> None:
    with suppress(OSError):  # the relay has hung up: that is what is tested
        client.sendall(raw)


def test_a_full_relay_drops_a_silent_client_for_one_that_sends(
    site: Site, eventually: Until
) -> None:
    relay = site.serve(Limits(connections=3, evict_s=3.0))
    talker = site.client()
    mute = [site.client() for _ in range(2)]
    eventually(lambda: relay.connections == 3)
    over = threading.Event()

    def talk() -> None:
        while not over.wait(0.01):
            talker.sendall(frame(b"talk"))

    thread = threading.Thread(target=talk)
    thread.start()

    def served() -> bool:
        _send(site.client(), frame(b"late"))
        return b"late" in site.payloads

    eventually(served)
    over.set()
    thread.join()
    assert closed(mute[0])
    assert relay.counts["evicted"] >= 1
    assert relay.connections <= 3


def test_a_full_relay_of_active_clients_refuses_another_one(site: Site, eventually: Until) -> None:
    relay = site.serve(Limits(connections=2, evict_s=60.0))
    _ = [site.client() for _ in range(2)]
    eventually(lambda: relay.connections == 2)
    assert closed(site.client())
    assert relay.counts["refused-connections"] == 1


def test_a_client_over_its_rate_waits_and_loses_nothing(site: Site, eventually: Until) -> None:
    relay = site.serve(Limits(bytes_per_s=4 * MIB, burst_bytes=MIB))
    greedy, modest = site.client(), site.client()
    payload = b"g" * MIB
    begin = time.monotonic()
    thread = threading.Thread(target=lambda: [greedy.sendall(frame(payload)) for _ in range(9)])
    thread.start()
    eventually(lambda: relay.counts["throttled"] > 0)
    modest.sendall(frame(b"modest"))
    eventually(lambda: b"modest" in site.payloads)
    thread.join()
    eventually(lambda: site.payloads.count(payload) == 9)
    assert time.monotonic() - begin >= 1.5, "8 MiB beyond the burst at 4 MiB/s"


def test_tiny_frames_are_charged_for_their_cost_per_frame(site: Site, eventually: Until) -> None:
    relay = site.serve(Limits(bytes_per_s=MIB, burst_bytes=MIB, frame_cost=64 * 1024))
    client = site.client()
    client.sendall(frame(b"tiny") * 32)
    eventually(lambda: len(site.payloads) == 32)
    assert relay.counts["throttled"] >= 1


def test_closing_a_relay_reads_also_what_a_throttled_client_has_sent(tmp_path: Path) -> None:
    with ExitStack() as stack:
        site = Site(tmp_path / "relay.sock", stack)
        relay = Relay(site.path, site.sink, limits=Limits(bytes_per_s=1.0, burst_bytes=1.0))
        relay.start()
        client = site.client()
        for number in range(30):
            client.sendall(frame(b"%d" % number))
        relay.close()
        assert site.payloads == [b"%d" % number for number in range(30)]


def test_a_defect_in_the_sink_or_the_reader_costs_one_client_and_not_the_service(
    site: Site, eventually: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    relay = site.serve(Limits())
    site.client().sendall(frame(b"defect"))
    eventually(lambda: relay.counts["sink-failed"] == 1)

    def broken(*_: object) -> Iterator[Frame]:
        raise RuntimeError("injected")

    with monkeypatch.context() as patch:
        patch.setattr(frames.FrameReader, "feed", broken)
        unlucky = site.client()
        unlucky.sendall(frame(b"unlucky"))
        assert closed(unlucky)
    assert relay.counts["failed"] == 1
    site.client().sendall(frame(b"lucky"))
    eventually(lambda: site.payloads == [b"lucky"])
    assert relay.buffered_bytes == 0


def test_a_token_bucket_refills_up_to_its_burst_and_returns_the_time_to_wait() -> None:
    allowance = TokenBucket(rate=10.0, burst=20.0, tokens=20.0, updated_s=0.0)
    assert allowance.spend(25.0, 0.0) == 0.5
    assert allowance.spend(0.0, 100.0) == 0.0
    assert allowance.tokens == 20.0


def test_512_malicious_clients_take_bounded_memory_and_an_honest_one_is_served(
    tmp_path: Path,
) -> None:
    path = str(tmp_path / "relay.sock")
    process = subprocess.Popen(
        [sys.executable, "-c", RELAY, path],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdin is not None
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
    try:
        assert process.stdout.readline() == "ready\n"
        before = _rss_mb(process.pid)
        with ExitStack() as stack:
            honest = stack.enter_context(socket.socket(socket.AF_UNIX))
            honest.connect(path)
            bad = []
            for _ in range(511):
                one = stack.enter_context(socket.socket(socket.AF_UNIX))
                one.connect(path)
                bad.append(one)
            senders = [threading.Thread(target=_send, args=(one, HALF)) for one in bad[:60]]
            senders += [threading.Thread(target=_send, args=(one, b"\0")) for one in bad[60:]]
            for sender in senders:
                sender.start()
            for _ in range(20):  # meanwhile
                honest.sendall(frame(b"h" * 100_000))
                assert process.stdout.readline() == "100000\n"
            for sender in senders:
                sender.join()
            honest.sendall(frame(b"h" * 100_000))
            assert process.stdout.readline() == "100000\n"
            grown = _rss_mb(process.pid) - before
        process.stdin.write("\n")
        process.stdin.flush()
        counts = process.stdout.readline()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        process.terminate()
        process.communicate(timeout=600)
    print(f"relay grew by {grown:.0f} MB, {counts}")
    assert grown < 100, "64 MiB of frames, and what the allocator keeps"
    assert "over-memory" in counts


def _rss_mb(pid: int) -> float:
    """The most that the process ever had [MB]."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024
