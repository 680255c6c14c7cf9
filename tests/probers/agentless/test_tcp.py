"""The TCP engine, on loopback: who answers, who does not, and whose clock measures."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from time import monotonic, sleep

import pytest

from probers.agentless.tcp import TcpEngine
from probers.net.five_tuple import FiveTuple
from probers.probing.udp import Burst
from probers.process.loop import Loop
from probers.publishing.record import ping_record

HERE = "127.0.0.1"


class Prober:
    """An engine in its loop."""

    def __init__(self, timeout_s: float = 0.3) -> None:
        self.errors: list[Exception] = []
        self.loop = Loop(self.errors.append)
        self.done: list[Burst] = []
        self.engine = TcpEngine(self.loop, self._on_done, timeout_s=timeout_s)
        self._wanted = 0

    def probe(
        self, to: int, burst: int = 1, src: tuple[str, int] = (HERE, 0), held_up_s: float = 0.0
    ) -> Burst:
        self._wanted = len(self.done) + 1
        self.engine.probe(FiveTuple(src, (HERE, to)), burst)
        sleep(held_up_s)  # the process does not run: this is what is tested
        if len(self.done) < self._wanted:
            self.loop.run()
        assert not self.errors
        return self.done[-1]

    def _on_done(self, burst: Burst) -> None:
        self.done.append(burst)
        if len(self.done) >= self._wanted:
            self.loop.stop()


@pytest.fixture
def prober() -> Iterator[Prober]:
    made = Prober()
    yield made
    made.engine.close()
    made.loop.close()


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    with socket.create_server((HERE, 0)) as server:
        yield server


def port_of(server: socket.socket) -> int:
    port: int = server.getsockname()[1]
    return port


def closed_port() -> int:
    with socket.create_server((HERE, 0)) as server:
        return port_of(server)


def test_a_handshake_is_measured_by_the_kernel(prober: Prober, listening: socket.socket) -> None:
    burst = prober.probe(port_of(listening), burst=5)
    assert burst.dials == ["success"] * 5
    assert (burst.sent, burst.lost) == (5, 0)
    assert all(each.kernel for each in burst.round_trips)
    assert all(0 < each.rtt_us < 300_000 for each in burst.round_trips)
    assert prober.engine.sent[HERE] == prober.engine.answered[HERE] == 5


def test_a_prober_that_is_held_up_measures_right(prober: Prober, listening: socket.socket) -> None:
    burst = prober.probe(port_of(listening), held_up_s=0.1)
    (trip,) = burst.round_trips
    assert trip.prober_us > 90_000
    assert trip.rtt_us < 50_000


def test_a_closed_port_answers_too(prober: Prober) -> None:
    burst = prober.probe(closed_port(), burst=3)
    assert burst.dials == ["refused"] * 3
    assert (burst.sent, burst.lost, len(burst.round_trips)) == (3, 0, 3)
    assert not any(each.kernel for each in burst.round_trips)
    record = ping_record(burst, 0.0, "TCP_PING")
    assert (record["dial"], record["task_type"], record["loss_rate"]) == ("refused", "TCP_PING", 0)
    assert record["latency"] is not None


def test_who_does_not_answer_is_lost_after_the_timeout(prober: Prober) -> None:
    with socket.create_server((HERE, 0), backlog=0) as server:
        waiting = []  # the kernel drops a SYN when as many connections wait as the server wants
        for _ in range(2):
            waiting.append(each := socket.socket())
            each.setblocking(False)
            each.connect_ex((HERE, port_of(server)))
        started = monotonic()
        burst = prober.probe(port_of(server), burst=2)
        for each in waiting:
            each.close()
    assert burst.dials == ["timeout"] * 2
    assert (burst.sent, burst.lost, burst.round_trips) == (2, 2, [])
    assert monotonic() - started >= 0.6


def test_the_source_port_is_the_list_s(prober: Prober, listening: socket.socket) -> None:
    with socket.socket() as free:
        free.bind((HERE, 0))
        src = free.getsockname()
    for _ in range(20):  # the five-tuple is free again after each
        assert prober.probe(port_of(listening), src=src).dial == "success"
    listening.settimeout(5)
    accepted, peer = listening.accept()
    accepted.close()
    assert peer == src


def test_what_the_own_kernel_does_not_send_is_no_loss(prober: Prober) -> None:
    burst = prober.probe(closed_port(), src=("203.0.113.1", 0))
    assert (burst.dials, burst.sent, burst.lost) == (["error"], 0, 0)
    assert ping_record(burst, 0.0, "TCP_PING")["loss_rate"] is None


def test_a_long_burst_of_which_nothing_can_be_sent_ends(prober: Prober) -> None:
    burst = prober.probe(closed_port(), burst=1000, src=("203.0.113.1", 0))
    assert (len(burst.dials), burst.sent, burst.lost) == (1000, 0, 0)


def test_the_rate_limit_bounds_a_burst() -> None:
    left = iter([True, True, False, False, True])
    done: list[Burst] = []
    loop = Loop()
    engine = TcpEngine(loop, lambda b: (done.append(b), loop.stop())[0], allowed=lambda: next(left))
    engine.probe(FiveTuple((HERE, 0), (HERE, closed_port())), 5)
    loop.run()
    loop.close()
    assert (done[0].size, done[0].dials) == (3, ["refused"] * 3)


def test_nothing_is_reported_of_what_is_given_up(listening: socket.socket) -> None:
    prober = Prober()
    prober.engine.probe(FiveTuple((HERE, 0), (HERE, port_of(listening))))
    assert prober.engine.in_flight == 1
    prober.engine.close()
    assert prober.engine.in_flight == 0
    assert prober.done == []
    prober.loop.close()
