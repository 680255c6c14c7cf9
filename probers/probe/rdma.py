"""RDMA probes by hand: over one own queue pair, to the first one of each target's agent."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from probers.net.addresses import at_port
from probers.net.five_tuple import FiveTuple
from probers.net.packet import Address, Key
from probers.net.responder import Responder
from probers.net.socket_pool import SocketPool
from probers.probing.udp import Burst
from probers.process.loop import Loop
from probers.rdma.packet import ROCE_PORT
from probers.rdma.scheduled.bursts import Aim, RdmaBursts
from probers.rdma.scheduled.peers import Answer, PeerQueuePairs, Question
from probers.rdma.scheduled.rnic import OpenPort, RdmaOptions, Rnic

_WHY = {
    "none": "its agent has no RDMA device",
    "refused": "no agent runs there",
    "silent": "no agent with this key answers",
    "unknown": "it could not be asked",
}


class RdmaByHand:
    """Takes the place of an engine for targets given as their responders' addresses."""

    def __init__(
        self,
        loop: Loop,
        key: Key,
        sockets: SocketPool,
        on_done: Callable[[Burst, Address], None],
        on_unknown: Callable[[str], None],
        *,
        timeout_s: float,
        open_port: OpenPort,
    ) -> None:
        """on_unknown  gets one line when a target's queue pair cannot be learnt"""
        self._loop, self._key, self._timeout_s = loop, key, timeout_s
        self._sockets, self._open_port = sockets, open_port
        self._on_done, self._on_unknown = on_done, on_unknown
        self._silent = Responder(key, rate=1.0, burst=1.0)
        self._rnics: dict[str, Rnic] = {}
        self._to: dict[FiveTuple, Address] = {}
        self._peers = PeerQueuePairs(loop, sockets, timeout_s=timeout_s)
        self._bursts = RdmaBursts(self._rnics.get, self._peers, lambda: True, self._done)

    def open(self, ip: str) -> None:
        """Open the device of an own address; raises RdmaError."""
        if ip not in self._rnics:
            self._rnics[ip] = Rnic(
                self._loop, self._key, self._open_port(ip, RdmaOptions(queue_pairs=1)),
                self._silent, timeout_s=self._timeout_s, on_failed=self._on_unknown,
            )  # fmt: skip

    def probe(self, flow: FiveTuple, size: int) -> None:
        """Probe the agent whose responder is at ``flow.dst``."""
        question = Question(flow.src, flow.dst, 0)
        if self._peers.known(question) is None:
            self._peers.ask(question, partial(self._answered, flow, size))
            return
        (port,) = self._rnics[flow.src[0]].source_ports
        probed = FiveTuple((flow.src[0], port), (flow.dst[0], ROCE_PORT))
        self._to[probed] = flow.dst
        self._bursts.probe(probed, Aim(0, question), size)

    def _answered(self, flow: FiveTuple, size: int, answer: Answer) -> None:
        if answer.target is not None:
            self.probe(flow, size)
        else:
            self._on_unknown(f"{at_port(flow.dst)}: {_WHY[answer.outcome]}")

    def _done(self, burst: Burst) -> None:
        self._on_done(burst, self._to[burst.flow])

    def close(self) -> None:
        """Release devices and sockets."""
        for rnic in self._rnics.values():
            rnic.close()
        self._sockets.close_except(())
