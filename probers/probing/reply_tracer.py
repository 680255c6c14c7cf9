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
        now: Callable[[], int] = monotonic_ns,
    ) -> None:
        """``now``: the responder's clock [monotonic ns]."""
        self._responder, self._trace, self._random, self._now = responder, trace, random, now
        self._peers: Peers = {}
        self._due_ns: dict[ReplyFlow, int] = {}
        #: Flows that are due, in the order in which that was seen.
        self._waiting: dict[ReplyFlow, None] = {}
        self._looked_ns = self._pruned_ns = 0
        self._interval_ns = 0
        self._max_per_second = 1

    def replace(self, peers: Peers, interval_s: float, rate: float) -> None:
        """Trace replies to these peers from now on: each flow once per interval, at most ``rate``
        traces a second."""
        self._peers, self._interval_ns = peers, int(interval_s * 1e9)
        self._max_per_second = max(1, int(rate))
        self._looked_ns = 0  # all flows are looked at again: their peers may be listed now

    def trace_due(self) -> None:
        """Start the traces that are due; must be called once a second."""
        if not self._interval_ns:
            return
        now_ns = self._now()
        self._look(now_ns)
        started = 0
        while self._waiting and started < self._max_per_second:
            flow = next(iter(self._waiting))
            del self._waiting[flow]
            if self._is_active(flow, now_ns) and (peer := self._peer(flow)) is not None:
                started += 1
                jitter = self._random.uniform(0.0, 0.1) * self._interval_ns
                self._due_ns[flow] = now_ns + self._interval_ns + int(jitter)
                dscp, columns = peer
                self._trace(FiveTuple((flow[0], flow[1]), (flow[2], flow[3]), dscp, columns))
        if now_ns - self._pruned_ns > self._interval_ns:
            self._pruned_ns = now_ns
            self._due_ns = {
                flow: due for flow, due in self._due_ns.items() if self._is_active(flow, now_ns)
            }

    def _look(self, now_ns: int) -> None:
        """Find what is due among the flows that were probed since the last look: a flow that is
        probed no more needs no trace, and few of all flows are probed in a second."""
        found = []
        for flow, last_ns in reversed(self._responder.recent_flows.items()):
            if last_ns < self._looked_ns or now_ns - last_ns > self._interval_ns:
                break  # this one and all before it
            if self._due_ns.get(flow, 0) <= now_ns and self._peer(flow) is not None:
                found.append(flow)
        self._looked_ns = now_ns
        self._waiting.update(dict.fromkeys(reversed(found)))

    def _is_active(self, flow: ReplyFlow, now_ns: int) -> bool:
        last_ns = self._responder.recent_flows.get(flow)
        return last_ns is not None and now_ns - last_ns <= self._interval_ns

    def _peer(self, flow: ReplyFlow) -> tuple[int, dict[str, Value]] | None:
        return self._peers.get((flow[0], flow[2]))
