"""The relay bounds memory, time and connections: one client cannot take them from the others."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from builders.agents.relay_messages import frame, try_send
from builders.agents.waiting import Until

from probers.publishing import frames
from probers.publishing.frames import Frame
from probers.publishing.relay import Headers, Relay
from probers.publishing.relay.limits import Limits

MIB = 1024 * 1024
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


def test_the_largest_client_is_dropped_when_all_buffers_together_are_too_large(
    site: Site, eventually: Until
) -> None:
    relay = site.serve(Limits(buffered_bytes=4 * MIB))
    small = site.client()
    small.sendall(frame(b"s" * 100_000)[:50_000])
    large = [site.client() for _ in range(6)]
    threads = [threading.Thread(target=try_send, args=(one, HALF)) for one in large]
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
        try_send(site.client(), frame(b"late"))
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
