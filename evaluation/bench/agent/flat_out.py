"""Probes per second of CPU of the agent's UDP engine when it goes as fast as it can.

The engine, the sockets and the loop are the agent's; the peers are another process, on the other
core, and answer all that comes. A window of probes is in flight: a new group goes out when half of
it has ended. Only the prober's CPU time counts, and what it does: make and sign requests, send,
read the kernel's stamps and the replies, verify, and compute the round trip. Records and their
encoding are not in it.
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import tempfile
import time
from itertools import cycle, islice
from pathlib import Path
from statistics import median
from typing import Any, Final

from evaluation.bench.agent.cost import document
from evaluation.bench.method.figure import figure
from probers.agent.probe_plan import five_tuples
from probers.command_line.options import read_probe_key
from probers.net.responder import Responder
from probers.net.socket_pool import SocketPool
from probers.probing.udp import Burst, UdpEngine
from probers.process.loop import Loop

_WINDOW: Final = 512  # probes in flight
_GOAL: Final = 50_000
_UNBOUNDED: Final = 1e9  # requests a second: the cap of --max-rate is not what is measured


class _Driver:
    """Keeps the window full until the loop is stopped."""

    def __init__(self, key_file: str) -> None:
        key, listed = read_probe_key(key_file), document()
        flows, _ = five_tuples(listed, listed.targets, "bench")
        self.loop = Loop()
        self.sockets = SocketPool(self.loop, key, Responder(key), max_rate=_UNBOUNDED)
        self.engine = UdpEngine(self.loop, self.sockets, self._done, timeout_s=2.0)
        self._turns = cycle(flows)
        self.answered = self.kernel = self.failed = 0
        self.rtts_us: list[float] = []
        self._filling = False
        self.ended = False

    def fill(self) -> None:
        """Send up to the window, when half of it is free."""
        if self._filling or self.ended or self.engine.in_flight > _WINDOW // 2:
            return
        self._filling = True
        group = islice(self._turns, _WINDOW - self.engine.in_flight)
        for flow in group:
            self.engine.probe(flow)
        self._filling = False

    def finish(self) -> None:
        """End, once a window was answered: also where the machine is too busy for that at first."""
        if self.answered >= _WINDOW:
            self.loop.stop()
        else:
            self.loop.call_at(time.monotonic_ns() + 10**9, self.finish)

    def _done(self, burst: Burst) -> None:
        if burst.round_trips:
            self.answered += 1
            self.kernel += burst.round_trips[0].kernel
            self.rtts_us.append(burst.round_trips[0].rtt_us)
        else:
            self.failed += 1
        self.fill()


def flat_out(seconds: int = 10) -> dict[str, Any]:
    """Measure for ``seconds`` (Linux); raises RuntimeError when the peers cannot be started."""
    with tempfile.TemporaryDirectory() as place:
        key = Path(place) / "key"
        key.touch(mode=0o600)
        key.write_text("0" * 32)
        peer = subprocess.Popen(  # noqa: S603  # our own module
            [sys.executable, "-m", "evaluation.bench.agent.peer", str(key), "0"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert peer.stdout is not None  # noqa: S101  # a pipe, as asked for
        try:
            if peer.stdout.readline() != "ready\n":
                raise RuntimeError("the peers do not run; does another measurement?")
            driver = _Driver(str(key))
            gc.freeze()  # as the agent does
            used_s = time.process_time()
            driver.loop.call_at(0, driver.fill)
            driver.loop.call_at(time.monotonic_ns() + seconds * 10**9, driver.finish)
            driver.loop.run()
            used_s = time.process_time() - used_s
            driver.ended = True
            driver.sockets.close_except(())
            driver.loop.close()
        finally:
            peer.communicate("")
    rate = driver.answered / used_s
    return {
        **figure(
            "{rate:,.0f} probes/s/core ({stamped:.1%} with the kernel's stamps, {lost} lost; "
            "median {rtt_us:.0f} us)",
            rate=rate,
            stamped=driver.kernel / driver.answered,
            lost=driver.failed,
            rtt_us=median(driver.rtts_us),
        ),
        "goal": f">= {_GOAL:,}",
        "missed": rate < _GOAL,
        "stamped": driver.kernel / driver.answered,
    }


if __name__ == "__main__":
    print(json.dumps(flat_out()))
