"""Routes of replies: traced by the side that answers, from its responder's socket.

A reply takes its own way through the fabric: its five-tuple is the probe's, turned round. Only the
answering side can trace that one, because only it owns the source port.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from time import monotonic_ns

from probers.net.five_tuple import FiveTuple, Value
from probers.net.responder import Flow, Responder

#: own ip, peer ip -> DSCP and common columns of records about that pair.
Peers = Mapping[tuple[str, str], tuple[int, dict[str, Value]]]


class ReplyRoutes:
    """Traces the reply flow towards every listed peer that probed us lately.

    Peers outside the ping list are answered but not traced: an agent sends unasked only to whom
    its list names.
    """

    def __init__(
        self,
        responder: Responder,
        trace: Callable[[FiveTuple], None],
        random: Random,
    ) -> None:
        self._responder, self._trace, self._random = responder, trace, random
        self._peers: Peers = {}
        self._due: dict[Flow, int] = {}
        self._interval_ns = 0
        self._per_turn = 1

    def replace(self, peers: Peers, interval_s: float, rate: float) -> None:
        """Trace towards these peers from now on, each flow once per interval, ``rate`` a second."""
        self._peers, self._interval_ns = peers, int(interval_s * 1e9)
        self._per_turn = max(1, int(rate))

    def turn(self) -> None:
        """To be called once a second."""
        if not self._interval_ns:
            return
        now, started = monotonic_ns(), 0
        alive: set[Flow] = set()
        for flow, last in list(self._responder.recent.items()):
            peer = self._peers.get((flow[0], flow[2]))
            if peer is None or now - last > self._interval_ns:
                continue
            alive.add(flow)
            if started < self._per_turn and self._due.get(flow, 0) <= now:
                started += 1
                jitter = self._random.uniform(0.0, 0.1) * self._interval_ns
                self._due[flow] = now + self._interval_ns + int(jitter)
                dscp, columns = peer
                self._trace(FiveTuple((flow[0], flow[1]), (flow[2], flow[3]), dscp, columns))
        for gone in self._due.keys() - alive:
            del self._due[gone]
