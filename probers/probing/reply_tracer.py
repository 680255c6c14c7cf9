"""Routes of replies, traced by the replying side from its responder's socket.

A reply's five-tuple is the probe's with both ends swapped, so its route through the fabric is
another one. Only the replying side can trace it, because only that side owns the source port.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from time import monotonic_ns

from probers.net.five_tuple import FiveTuple, Value
from probers.net.responder import ReplyFlow, Responder

#: own ip, peer ip -> DSCP and common columns of records about that pair.
Peers = Mapping[tuple[str, str], tuple[int, dict[str, Value]]]


class ReplyTracer:
    """Traces the reply flow to every listed peer that sent probes lately.

    Peers outside the ping list get replies but no traces: an agent sends packets of its own accord
    only to the peers that its list names.
    """

    def __init__(
        self,
        responder: Responder,
        trace: Callable[[FiveTuple], None],
        random: Random,
    ) -> None:
        self._responder, self._trace, self._random = responder, trace, random
        self._peers: Peers = {}
        self._due_ns: dict[ReplyFlow, int] = {}
        self._interval_ns = 0
        self._max_per_second = 1

    def replace(self, peers: Peers, interval_s: float, rate: float) -> None:
        """Trace replies to these peers from now on: each flow once per interval, at most ``rate``
        traces a second."""
        self._peers, self._interval_ns = peers, int(interval_s * 1e9)
        self._max_per_second = max(1, int(rate))

    def trace_due(self) -> None:
        """Start the traces that are due; must be called once a second."""
        if not self._interval_ns:
            return
        now_ns, started = monotonic_ns(), 0
        active: set[ReplyFlow] = set()
        for flow, last_ns in list(self._responder.recent_flows.items()):
            peer = self._peers.get((flow[0], flow[2]))
            if peer is None or now_ns - last_ns > self._interval_ns:
                continue
            active.add(flow)
            if started < self._max_per_second and self._due_ns.get(flow, 0) <= now_ns:
                started += 1
                jitter = self._random.uniform(0.0, 0.1) * self._interval_ns
                self._due_ns[flow] = now_ns + self._interval_ns + int(jitter)
                dscp, columns = peer
                self._trace(FiveTuple((flow[0], flow[1]), (flow[2], flow[3]), dscp, columns))
        for gone in self._due_ns.keys() - active:
            del self._due_ns[gone]
