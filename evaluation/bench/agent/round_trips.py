"""Round trips of the agent's engine against the truth, on an idle veth pair.

Each end is in a network namespace of its own, both in one process and one loop. The truth is what
packet sockets on both ends of the pair see: the time from request to reply at the prober's end,
less the time from request to reply at the responder's.

``python -m evaluation.bench.agent.round_trips`` (root, iproute2) prints the bias, measured less
true.
"""

from __future__ import annotations

import ctypes
import json
import os
import socket
import struct
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median, quantiles
from time import monotonic_ns
from typing import Any, Final

from probers.net import packet
from probers.net.five_tuple import FiveTuple
from probers.net.packet import Key
from probers.net.responder import Responder
from probers.net.socket_pool import SocketPool
from probers.probing.udp import Burst, UdpEngine
from probers.process.loop import Loop

_PROBES: Final = 400
_SPACING_NS: Final = 5_000_000  # from one answer to the next probe
_GOAL_US: Final = 3.0
_OURS, _THEIRS = "10.9.0.1", "10.9.0.2"  # in the namespaces only
_NAME: Final = f"skhb{os.getpid()}"
_ETH_P_ALL: Final = 3
_NETWORK: Final = 0x40000000  # CLONE_NEWNET
_SO_TIMESTAMPNS: Final = 35
_HEADERS: Final = 42  # Ethernet, IPv4, UDP


@contextmanager
def veth_pair() -> Iterator[None]:
    """A pair between the namespaces ``_NAME``a and b, interfaces of the same names: nothing of the
    host's network is touched."""
    near, far = f"{_NAME}a", f"{_NAME}b"

    def ip(*words: str) -> None:
        subprocess.run(["ip", *words], check=True)  # noqa: S603, S607  # fixed words

    ip("netns", "add", near)
    try:
        ip("netns", "add", far)
        ip("-n", near, "link", "add", near, "type", "veth", "peer", "name", far, "netns", far)
        for name, address in ((near, _OURS), (far, _THEIRS)):
            ip("-n", name, "address", "add", f"{address}/30", "dev", name)
            ip("-n", name, "link", "set", name, "up")
        yield
    finally:
        for name in (near, far):
            subprocess.run(["ip", "netns", "delete", name], check=False)  # noqa: S603, S607


@contextmanager
def inside(name: str) -> Iterator[None]:
    """What this thread opens is in the namespace ``name``."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open("/proc/self/ns/net") as own, open(f"/run/netns/{name}") as other:
        if libc.setns(other.fileno(), _NETWORK):
            raise OSError(ctypes.get_errno(), "cannot enter the namespace; run as root")
        try:
            yield
        finally:
            libc.setns(own.fileno(), _NETWORK)


def tap(interface: str) -> socket.socket:
    """Sees what passes the interface, in both directions, with the kernel's stamps."""
    made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ETH_P_ALL))
    made.bind((interface, 0))
    made.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
    made.setblocking(False)
    return made


def seen(by: socket.socket) -> dict[tuple[int, int], int]:
    """(kind, sequence) of each of our packets -> when it passed [wall ns]."""
    times: dict[tuple[int, int], int] = {}
    while True:
        try:
            raw, control, _, _ = by.recvmsg(256, 64)
        except BlockingIOError:
            return times
        body = raw[_HEADERS : _HEADERS + packet.SIZE]
        if (sequence := packet.sequence_of(body)) is not None:
            seconds, ns = struct.unpack("@ll", control[0][2])
            times[body[5], sequence] = seconds * 1_000_000_000 + ns


def round_trips(probes: int = _PROBES) -> dict[str, Any]:
    """Bias of ``probes`` round trips; raises OSError without the rights."""
    defects: list[Exception] = []

    def failed(why: Exception) -> None:
        defects.append(why)
        loop.stop()

    key, loop = Key(os.urandom(32)), Loop(failed)
    measured: list[Burst] = []  # with the kernel's stamps
    attempts: list[Burst] = []
    true_us: list[float] = []
    with veth_pair():
        asking = SocketPool(loop, key, Responder(key), max_rate=1e6)
        answering = SocketPool(loop, key, Responder(key, rate=1e6, burst=1e6), max_rate=1.0)
        with inside(f"{_NAME}a"):
            source, near = asking.open((_OURS, 0)).address, tap(f"{_NAME}a")
        with inside(f"{_NAME}b"):
            target, far = answering.open((_THEIRS, 0)).address, tap(f"{_NAME}b")

        def done(burst: Burst) -> None:
            here, there = seen(near), seen(far)
            attempts.append(burst)
            if burst.round_trips and burst.round_trips[0].kernel:
                (sequence,) = {sequence for _, sequence in here}
                request, reply = (packet.PROBE, sequence), (packet.REPLY, sequence)
                true_ns = here[reply] - here[request] - (there[reply] - there[request])
                true_us.append(true_ns / 1e3)
                measured.append(burst)
            if len(measured) == probes or len(attempts) == 2 * probes:
                loop.stop()
            else:
                loop.call_at(monotonic_ns() + _SPACING_NS, probe)

        engine = UdpEngine(loop, asking, done, timeout_s=5.0)
        flow = FiveTuple(source, target)

        def probe() -> None:
            engine.probe(flow)

        loop.call_at(0, probe)
        loop.run()
        asking.close_except(())
        answering.close_except(())
        loop.close()
        near.close()
        far.close()
    if defects:
        raise defects[0]
    found_us = [burst.round_trips[0].rtt_us for burst in measured]
    bias_us = [found - true for found, true in zip(found_us, true_us, strict=True)]
    low, *_, high = quantiles(bias_us, n=20)
    return {
        "figure": f"median bias {median(bias_us):.1f} us (5 to 95 %: {low:.1f} to {high:.1f} us), "
        f"true median {median(true_us):.1f} us, {len(bias_us)} round trips",
        "goal": f"<= {_GOAL_US:.0f} us",
        "missed": abs(median(bias_us)) > _GOAL_US,
    }


if __name__ == "__main__":
    print(json.dumps(round_trips()))
