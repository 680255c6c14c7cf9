"""All peers of the measured agent, in one process: they answer its probes and probe its rnics.

Each address is a host of its own: requests go out one by one at random times (a Poisson process),
because the hosts of a fabric do not know each other's schedules.

``python -m evaluation.bench.agent.peer KEYFILE RATE`` (0: it only answers) prints a line once its
sockets are open, answers until its standard input ends, and then prints how many probes it sent,
and how many were answered, as JSON.
"""

from __future__ import annotations

import json
import os
import sys
from itertools import cycle
from random import Random
from time import monotonic_ns
from typing import Final

from probers.command_line.options import read_probe_key
from probers.net.five_tuple import FiveTuple
from probers.net.responder import Responder
from probers.net.socket_pool import SocketPool
from probers.ping_list.document import RESPONDER_PORT
from probers.probing.udp import UdpEngine
from probers.process.loop import Loop

RNICS: Final = tuple(f"127.0.7.{rail}" for rail in range(1, 9))
_PEERS: Final = 64  # of each rnic
_SECOND_NS: Final = 1_000_000_000


def peers_of(rail: int) -> list[str]:
    """Addresses of the peers of the rnic ``rail``."""
    return [f"127.1.{rail}.{peer}" for peer in range(1, _PEERS + 1)]


def main(key_file: str, rate: float) -> None:
    """Serve; see above."""
    loop, key, random = Loop(), read_probe_key(key_file), Random(1)  # noqa: S311  # spreads probes
    answers = Responder(key, rate=1e9, burst=1e9)
    sockets = SocketPool(loop, key, answers, max_rate=10 * rate + 1)
    flows = [
        FiveTuple((peer, RESPONDER_PORT), (rnic, RESPONDER_PORT))
        for rail, rnic in enumerate(RNICS)
        for peer in peers_of(rail)
    ]
    for flow in flows:
        sockets.open(flow.src)
    engine = UdpEngine(loop, sockets, lambda _: None)
    due_ns = monotonic_ns() + _SECOND_NS // 2
    turns = cycle(random.sample(flows, len(flows)))

    def probe() -> None:
        nonlocal due_ns
        engine.probe(next(turns))
        due_ns += int(random.expovariate(rate) * _SECOND_NS)
        loop.call_at(due_ns, probe)

    def ended() -> None:
        if not os.read(0, 1):
            loop.stop()

    if rate:
        loop.call_at(due_ns, probe)
    loop.add_reader(0, ended)
    print("ready", flush=True)
    loop.run()
    counts = {"sent": engine.sent.total(), "answered": engine.answered.total()}
    print(json.dumps(counts), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
