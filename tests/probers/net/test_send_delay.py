"""The stamp of sending in a reply: when the kernel sends it, not when its bytes are made."""

from __future__ import annotations

import sys
from statistics import median

import pytest
from builders.agents.waiting import HANG_S, Until

from probers.net.five_tuple import FiveTuple
from probers.net.send_delay import SendDelay
from probers.net.socket_pool import SocketPool
from probers.probing.udp import Burst, UdpEngine
from probers.process.loop import Loop

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="send stamps need Linux's queue")


def test_the_usual_delay_is_the_lower_quartile_of_the_latest_fifteen() -> None:
    delay = SendDelay()
    assert delay.usual_ns == 0, "nothing is known: the stamp stays as it was taken"
    for microseconds in range(1, 16):
        delay.add(microseconds * 1000)
    assert delay.usual_ns == 4000
    for _ in range(15):
        delay.add(50_000)
    assert delay.usual_ns == 50_000, "the first fifteen are forgotten"


@pytest.mark.parametrize("impossible", [-5_000, 0, 20_000_000, 3_600 * 10**9])
def test_a_process_that_is_held_up_and_a_clock_that_is_set_teach_nothing(impossible: int) -> None:
    delay = SendDelay()
    delay.add(30_000)
    for _ in range(30):
        delay.add(impossible)
    assert delay.usual_ns == 30_000


def test_one_reply_of_sixteen_asks_for_the_stamp_once_the_delay_is_known() -> None:
    delay = SendDelay()
    for _ in range(15):
        assert delay.is_due(), "until fifteen are kept, each reply asks"
        delay.add(30_000)
    assert sum(delay.is_due() for _ in range(160)) == 10


def test_without_kernel_stamps_every_reply_is_free_to_ask_and_none_is_late() -> None:
    delay = SendDelay()
    assert all(delay.is_due() for _ in range(100))
    assert delay.usual_ns == 0


class SeesStamps(UdpEngine):
    """Compares the stamp of sending in each reply with the kernel's time of its arrival: on
    loopback both are one moment."""

    errors_ns: list[int]

    def on_round_trip(
        self, sequence: int, mono_ns: int, stamped_ns: int, received_ns: int, kernel: bool,
        read_ns: int, responder_received_ns: int, responder_sent_ns: int,
    ) -> None:  # fmt: skip
        if kernel:
            self.errors_ns.append(responder_sent_ns - received_ns)
        super().on_round_trip(
            sequence, mono_ns, stamped_ns, received_ns, kernel, read_ns, responder_received_ns,
            responder_sent_ns,
        )  # fmt: skip


@linux_only
def test_replies_are_stamped_with_the_time_at_which_the_kernel_sends_them(
    sockets: SocketPool, loop: Loop, run_until: Until
) -> None:
    source, target = (sockets.open(("127.0.0.1", 0)).address for _ in range(2))
    flow = FiveTuple(source, target)
    bursts: list[Burst] = []

    def done(burst: Burst) -> None:
        bursts.append(burst)
        if len(engine.errors_ns) < 400:
            engine.probe(flow)

    engine = SeesStamps(loop, sockets, done, timeout_s=HANG_S)
    engine.errors_ns = []
    engine.probe(flow)
    run_until(lambda: bool(bursts))
    for _ in range(8):  # at once: results rest a while
        engine.probe(flow)
    run_until(lambda: len(engine.errors_ns) >= 400)
    assert all(burst.dial == "success" for burst in bursts)
    first, later = engine.errors_ns[0], engine.errors_ns[15:]
    assert first < 0, "taken before the kernel is called"
    assert abs(median(later)) < abs(first)
