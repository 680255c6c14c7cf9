"""Routes of RDMA five-tuples: traced over UDP, completed over RDMA.

A UDP socket with a queue pair's source port makes packets of the same five-tuple to port 4791, so
routers hash them as they hash its probes, and answer by ICMP. The destination's device does not
answer them. That the route ends there is shown by a probe between the queue pairs whose hop limit
is one more than the hops of the route.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from time import monotonic_ns
from typing import Final

from probers.net.five_tuple import FiveTuple
from probers.net.responder import Responder
from probers.probing.traceroute import Trace
from probers.rdma.devices import RdmaError
from probers.rdma.packet import ROCE_PORT, QpAddress, RdmaRoundTrip, source_port
from probers.rdma.scheduled.rnic import Rnic

_TRIES: Final = 5  # of the probe that completes a route; one of two may be lost
_RECENT_NS: Final = 120_000_000_000

OnTrace = Callable[[Trace], None]


def complete(trace: Trace, rnic: Rnic, own: int, target: QpAddress, on_done: OnTrace) -> None:
    """Call ``on_done`` with the trace, complete if a probe reaches ``target`` in as many hops."""
    if trace.dial != "timeout" or not trace.hops or trace.hops[-1] is not None:
        on_done(trace)
        return
    left = _TRIES

    def on_end(measured: RdmaRoundTrip | None, stalled: bool) -> None:
        if measured is not None:
            on_done(replace(trace, hops=trace.hops[:-1], dial="success"))
        elif stalled:
            on_done(trace)
        else:
            probe()

    def probe() -> None:
        nonlocal left
        left -= 1
        try:
            if left >= 0:
                rnic.probe(own, target, on_end, trace.flow.dscp, hop_limit=len(trace.hops))
                return
        except RdmaError:
            pass  # the route stays incomplete
        on_done(trace)

    probe()


def answered(responder: Responder) -> dict[tuple[QpAddress | None, str], set[int]]:
    """Own queue pair and a peer's address -> numbers of the peer's queue pairs that it answered
    lately."""
    found: dict[tuple[QpAddress | None, str], set[int]] = {}
    since_ns = monotonic_ns() - _RECENT_NS
    for (ip, qpn, peer, peer_qpn), last_ns in responder.recent_flows.items():
        if last_ns >= since_ns:
            found.setdefault((QpAddress(ip, qpn), peer), set()).add(peer_qpn)
    return found


def as_replies(trace: Trace, own: QpAddress, responder: Responder) -> Iterator[Trace]:
    """The same route as that of replies which ``own`` sent lately to the destination.

    A queue pair replies as it probes: to port 4791, from its source port. A record of a reply has
    the five-tuple of its probe with both ends swapped, whatever the ports of its packets are.
    """
    peer = trace.flow.dst[0]
    for qpn in sorted(answered(responder).get((own, peer), ())):
        ends = (own.ip, ROCE_PORT), (peer, source_port(qpn))
        yield replace(trace, flow=FiveTuple(*ends, trace.flow.dscp, trace.flow.columns))
