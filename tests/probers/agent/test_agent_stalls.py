"""An agent that was stopped, or whose list changes all the time, publishes no false record."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections import Counter, deque
from contextlib import closing
from pathlib import Path

from builders.agents.site import LISTEN_PORT, SECRET, Site, ended
from builders.agents.waiting import Until

from probers.net import packet
from probers.net.packet import Key

SECOND, HOUR = 10**9, 3600 * 10**9


class SlowPeer:
    """A host whose replies take a second: some are always in flight."""

    def __init__(self, ip: str) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind((ip, LISTEN_PORT))
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
    """Its requests are answered meanwhile; requests that wait for longer than 5 s get no reply."""
    peer_ip = f"{site.network}.9"
    with closing(SlowPeer(peer_ip)):
        site.write_list([*site.ips, peer_ip], port=LISTEN_PORT)
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
    assert max(beat.scheduling_delay_us for beat in site.beats) > 6e6, "heartbeats show the stop"


def test_an_agent_whose_list_changes_100_times_a_second_leaks_and_loses_nothing(
    site: Site, eventually: Until
) -> None:
    site.write_list([site.ips[1]], port=LISTEN_PORT)
    process = site.start("--list-interval", "0.01", "--max-rate", "5000", "--timeout", "5")
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
