"""The ICMP engine, on loopback: who answers, who does not, and which echoes are ours."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from time import sleep

import pytest

from probers.agentless import echo_socket
from probers.agentless.echo_socket import EchoSocket
from probers.agentless.icmp import IcmpEngine
from probers.net.five_tuple import FiveTuple
from probers.probing.udp import Burst
from probers.process.loop import Loop
from probers.publishing.record import ping_record

IDENTIFIER = 65_311


class Prober:
    """An engine in its loop."""

    def __init__(self, allowed: int = 1000) -> None:
        self.errors: list[Exception] = []
        self.loop = Loop(self.errors.append)
        self.done: list[Burst] = []
        self.left = allowed
        self.engine = IcmpEngine(self.loop, self._on_done, timeout_s=0.2, allowed=self._allowed)

    def probe(self, flow: FiveTuple, burst: int = 1, held_up_s: float = 0.0) -> Burst:
        self.done.clear()
        self.engine.probe(flow, burst)
        sleep(held_up_s)  # the process does not run: this is what is tested
        if not self.done:
            self.loop.run()
        assert not self.errors
        return self.done[-1]

    def _on_done(self, burst: Burst) -> None:
        self.done.append(burst)
        self.loop.stop()

    def _allowed(self) -> bool:
        self.left -= 1
        return self.left >= 0


@pytest.fixture
def prober() -> Iterator[Prober]:
    made = Prober()
    yield made
    made.engine.close()
    made.loop.close()


def flow(ip: str, to: str | None = None) -> FiveTuple:
    return FiveTuple((ip, IDENTIFIER), (to or ip, 0))


@pytest.mark.parametrize("ip", ["127.0.0.1", "::1"])
def test_an_echo_is_measured_by_the_kernel(prober: Prober, ip: str) -> None:
    earlier = 1
    while not prober.probe(flow(ip)).round_trips[0].kernel:
        earlier += 1  # the kernel begins to stamp some time after the first socket asked for it
    burst = prober.probe(flow(ip), burst=5)
    assert burst.dials == ["success"] * 5
    assert (burst.sent, burst.lost) == (5, 0)
    assert all(each.kernel and 0 < each.rtt_us < 200_000 for each in burst.round_trips)
    assert prober.engine.sent[ip] == prober.engine.answered[ip] == earlier + 5
    record = ping_record(burst, 0.0, "ICMP_PING")
    assert (record["src_port"], record["dst_port"], record["dial"]) == (IDENTIFIER, 0, "success")


def test_a_prober_that_is_held_up_measures_right(prober: Prober) -> None:
    (trip,) = prober.probe(flow("127.0.0.1"), held_up_s=0.1).round_trips
    assert trip.prober_us > 90_000
    assert trip.rtt_us < 50_000


def test_what_the_own_kernel_does_not_send_is_no_loss(prober: Prober) -> None:
    burst = prober.probe(flow("203.0.113.1", "127.0.0.1"))
    assert (burst.dials, burst.sent, burst.lost) == (["error"], 0, 0)
    assert ping_record(burst, 0.0, "ICMP_PING")["loss_rate"] is None


def test_the_rate_limit_bounds_a_burst(prober: Prober) -> None:
    prober.left = 2
    burst = prober.probe(flow("127.0.0.1"), burst=5)
    assert (burst.sent, burst.dials) == (2, ["success"] * 2)


def test_sockets_of_own_addresses_share_an_identifier(prober: Prober) -> None:
    for ip in ("127.0.0.1", "127.0.0.2", "::1"):
        assert prober.probe(flow(ip)).dial == "success"


def test_nothing_is_reported_of_what_is_given_up() -> None:
    prober = Prober()
    prober.engine.probe(flow("127.0.0.1"))
    assert prober.engine.in_flight == 1
    prober.engine.close()
    assert prober.engine.in_flight == 0
    assert prober.done == []
    prober.loop.close()


@pytest.mark.parametrize("ip", ["127.0.0.1", "::1"])
def test_only_whole_echoes_of_the_own_identifier_are_read(ip: str) -> None:
    own = EchoSocket(ip, IDENTIFIER)
    try:
        request = own.request(7, b"12345678")
        assert own.read(request) == (7, b"12345678", False)
        assert own.read(request[:8]) == (7, b"", False), "a router quotes the header only"
        assert own.read(request[:4]) is None
        assert own.read(request[:4] + b"\0\1" + request[6:]) is None, "of another identifier"
        assert own.read(request[:8] + b"ping" + request[12:]) is None, "of another program"
        assert own.read(b"\3" + request[1:]) is None, "no echo"
    finally:
        own.close()


def test_the_checksum_of_a_packet_with_its_checksum_is_zero() -> None:
    made = bytes(range(2, 66))
    whole = made[:2] + echo_socket.checksum(made[:2] + b"\0\0" + made[4:]).to_bytes(2, "big")
    assert echo_socket.checksum(whole + made[4:]) == 0


_ASK = """
import os, sys
from probers.agentless.icmp import IcmpEngine
from probers.net.five_tuple import FiveTuple
from probers.process.loop import Loop
for each in sys.argv[1:]:
    name, _, value = each.partition("=")
    open(f"/proc/sys/net/ipv4/{name}", "w").write(value)
os.setgroups([]); os.setgid(65534); os.setuid(65534)
loop = Loop(lambda why: sys.exit(str(why)))
engine = IcmpEngine(loop, lambda burst: (print(burst.dials, burst.lost), loop.stop()))
for ip in ("127.0.0.1", "::1"):
    why = engine.refusal((ip, 9))
    if why is not None:
        print(why)
        continue
    engine.probe(FiveTuple((ip, 9), (ip, 0)), 2)
    loop.run()
"""


def unprivileged(*sysctls: str) -> list[str]:
    """What an engine of a user without rights finds, in a network namespace."""
    if os.geteuid() != 0:
        pytest.skip("needs root for a network namespace")
    done = subprocess.run(
        ["unshare", "-n", "sh", "-c", 'ip link set lo up && exec "$@"', "sh",
         sys.executable, "-c", _ASK, *sysctls],
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


EVERYBODY = "ping_group_range=0 2147483647"


@pytest.mark.netns
def test_a_user_without_rights_may_send_echoes_where_the_sysctl_lets_its_group() -> None:
    assert unprivileged(EVERYBODY) == ["['success', 'success'] 0"] * 2


@pytest.mark.netns
def test_an_echo_without_an_answer_is_lost() -> None:
    ignoring = unprivileged(EVERYBODY, "icmp_echo_ignore_all=1")
    assert ignoring == ["['timeout', 'timeout'] 2", "['success', 'success'] 0"]


@pytest.mark.netns
def test_who_may_not_send_echoes_is_told_what_to_do() -> None:
    first, second = unprivileged()
    assert first == second == echo_socket.NOT_ALLOWED
    assert "ping_group_range" in first
    assert "CAP_NET_RAW" in first


def test_a_raw_socket_of_another_process_does_not_disturb(prober: Prober) -> None:
    """Raw sockets get everybody's replies: those of other identifiers are not ours."""
    other = EchoSocket("127.0.0.1", IDENTIFIER + 1)
    try:
        for sequence in range(20):
            other.send(other.request(sequence, os.urandom(8)), ("127.0.0.1", 0))
        assert prober.probe(flow("127.0.0.1"), burst=20).dials == ["success"] * 20
    finally:
        other.close()
