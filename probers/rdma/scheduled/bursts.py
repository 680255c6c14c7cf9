"""Bursts of RDMA probes: sent over an own queue pair, reported once, as those over UDP are.

A probe without a reply is lost only if the peer still has the queue pair that was probed, or does
not answer at all: an agent that was started again has others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from time import time_ns
from typing import NamedTuple

from probers.net.five_tuple import FiveTuple
from probers.probing.udp import Burst, RoundTrip
from probers.rdma.devices import RdmaError
from probers.rdma.packet import QpAddress, RdmaRoundTrip
from probers.rdma.scheduled.peers import Answer, PeerQueuePairs, Question
from probers.rdma.scheduled.rnic import Rnic


class Aim(NamedTuple):
    """Between which queue pairs a five-tuple is: the own one's index, and the question for the
    peer's."""

    own: int
    peer: Question


class RdmaBursts:
    """Sends bursts and reports each one once, when the last of its probes has ended."""

    def __init__(
        self,
        rnic_of: Callable[[str], Rnic | None],
        peers: PeerQueuePairs,
        allowed: Callable[[], bool],
        on_done: Callable[[Burst], None],
    ) -> None:
        """rnic_of  the rnic of an own address
        allowed  spends a probe of the agent's rate limit
        """
        self._rnic_of, self._peers = rnic_of, peers
        self._allowed, self._on_done = allowed, on_done
        #: Probes by own address.
        self.sent: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()
        #: Probes that were in flight while this process did not run, or its device failed.
        self.stalled = 0
        #: Lost probes to queue pairs that their agent no longer has.
        self.withdrawn = 0

    def probe(self, flow: FiveTuple, aim: Aim, size: int) -> None:
        """Send ``size`` probes of ``flow`` now; without the peer's queue pair, ask for it."""
        rnic, target = self._rnic_of(flow.src[0]), self._peers.known(aim.peer)
        if rnic is None:
            return
        if target is None:
            self._peers.ask(aim.peer)
            return
        burst = Burst(flow, time_ns(), size)
        on_end = partial(self._end, burst, aim, target)
        for _ in range(size):
            self._send(rnic, aim.own, target, burst, on_end)
        burst.sending = False
        self._report_if_complete(burst, aim, target)

    def _send(
        self,
        rnic: Rnic,
        own: int,
        target: QpAddress,
        burst: Burst,
        on_end: Callable[[RdmaRoundTrip | None, bool], None],
    ) -> None:
        if not self._allowed():
            burst.size -= 1
            return
        burst.sent_ns = burst.sent_ns or time_ns()
        try:
            rnic.probe(own, target, on_end, burst.flow.dscp)
        except RdmaError:
            burst.dials.append("error")
            return
        burst.sent += 1
        self.sent[burst.flow.src[0]] += 1

    def _end(
        self,
        burst: Burst,
        aim: Aim,
        target: QpAddress,
        measured: RdmaRoundTrip | None,
        stalled: bool,
    ) -> None:
        if measured is not None:
            self.answered[burst.flow.src[0]] += 1
            burst.round_trips.append(
                RoundTrip(
                    measured.rtt_us, measured.prober_us or 0.0, measured.responder_us, kernel=False
                )
            )
            burst.dials.append("success")
        elif stalled:
            self.stalled += 1
            burst.sent -= 1
            burst.dials.append("error")
        else:
            burst.dials.append("timeout")
        self._report_if_complete(burst, aim, target)

    def _report_if_complete(self, burst: Burst, aim: Aim, target: QpAddress) -> None:
        if burst.sending or not 0 < burst.size == len(burst.dials):
            return
        if "timeout" in burst.dials:
            self._peers.ask(aim.peer, partial(self._judge, burst, target))
        else:
            self._on_done(burst)

    def _judge(self, burst: Burst, target: QpAddress, answer: Answer) -> None:
        """Decide what the lost probes of a burst are, by what the peer says of its queue pair."""
        instead = "timeout"
        if answer.outcome == "refused":
            instead = "refused"
        elif answer.outcome == "none" or answer.target not in (None, target):
            lost = burst.dials.count("timeout")
            burst.sent -= lost
            self.withdrawn += lost
            instead = "error"
        burst.dials = [instead if dial == "timeout" else dial for dial in burst.dials]
        self._on_done(burst)
