"""Requests to one agent, and the part of it that does them: no packets, virtual time."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import IPv4Network
from typing import Any

import msgspec

from builders.agents.virtual_loop import VirtualLoop
from probers.net.five_tuple import FiveTuple
from probers.ping_list.document import Endpoint, PingList
from probers.probing.traceroute import Trace
from probers.probing.udp import Burst, RoundTrip
from probers.process.loop import Callback
from probers.requests.checks import Own
from probers.requests.executor import TICK_NS, RequestExecutor
from probers.requests.host_facts import HostFacts
from probers.requests.limits import RequestLimits
from schemas.documents.requests.evidence import Evidence
from schemas.documents.requests.request import Request, Target
from schemas.documents.times import rfc3339

T0_NS = 1_790_000_000 * 10**9
PORT = 65_300


def target(**changes: Any) -> Target:
    known = Target(
        src_ip="10.0.0.1", ip="10.0.1.1", real_ip="10.0.1.1", node_sn="h2", layer="underlay",
        src_ports=[52_000, 52_001], port=PORT,
    )  # fmt: skip
    return msgspec.structs.replace(known, **changes)


def request(**changes: Any) -> Request:
    """Ten probes of each of two five-tuples, two a second each; it expires after 30 s."""
    known: dict[str, Any] = {
        "request_id": "r1", "kind": "probe", "node_sn": "h1", "fabric": "f1",
        "targets": [target()], "count": 10, "interval_s": 0.5, "reason": "a test",
        "asked_at": rfc3339(T0_NS), "expires": rfc3339(T0_NS + 30 * 10**9),
    }  # fmt: skip
    return Request(**(known | changes))


def own(**changes: Any) -> Own:
    known = Own(
        "h1",
        PingList(
            node_sn="h1", fabric="f1",
            endpoints=[
                Endpoint("10.0.0.1", "10.0.0.1", "underlay"),
                Endpoint("172.16.0.1", "10.0.0.1", "overlay", "c1"),
            ],
        ),
        False, [IPv4Network("10.0.0.0/8"), IPv4Network("172.16.0.0/16")], PORT,
    )  # fmt: skip
    return known._replace(**changes)


class _Loop(VirtualLoop):
    def post(self, callback: Callback) -> None:
        callback()


class Worker:
    """An executor; probes are answered after 100 us where ``answers`` says so, at once.

    sent      five-tuples probed or traced, with the time since the start [s]
    released  times that sockets could be closed
    """

    def __init__(self, *, facts: HostFacts | None = None, **limits: Any) -> None:
        self.loop = _Loop()
        self.loop.close()  # nothing waits for its sockets
        self.start_ns = self.loop.now_ns
        self.own = own()
        self.evidence: list[Evidence] = []
        self.sent: list[tuple[float, FiveTuple]] = []
        self.released = 0
        self.answers: Callable[[FiveTuple], bool | None] = lambda _: True
        self.executor = RequestExecutor(
            self.loop, lambda: self.own, self._probe, self._trace, self.evidence.append,
            self._release, facts=facts, limits=RequestLimits(**limits), now=self.loop.now,
            wall=self.wall, in_thread=lambda read: read(),
        )  # fmt: skip

    def wall(self) -> int:
        return T0_NS + self.loop.now_ns - self.start_ns

    def offer(self, *requests: Request) -> None:
        self.executor.offer(requests)

    def advance(self, seconds: float) -> None:
        for _ in range(round(seconds * 1e9 / TICK_NS)):
            self.loop.advance(TICK_NS)
            self.executor.tick()

    def states(self, request_id: str = "r1") -> list[str]:
        return [each.state for each in self.evidence if each.request_id == request_id]

    def last(self) -> Evidence:
        return self.evidence[-1]

    def _probe(self, flow: FiveTuple) -> None:
        self._note(flow)
        answered = self.answers(flow)
        if answered is None:  # over the agent's rate: nothing is sent, nothing is reported
            return
        burst = Burst(flow, self.wall(), 1, sent_ns=self.wall(), sent=1)
        burst.dials.append("success" if answered else "timeout")
        if answered:
            burst.round_trips.append(RoundTrip(100.0, 1.0, None, True))
        self.executor.burst_done(burst)

    def _trace(self, flow: FiveTuple) -> None:
        self._note(flow)
        hops: list[str | None] = ["10.9.0.1"]
        self.executor.trace_done(Trace(flow, self.wall(), self.wall(), hops, "success"))

    def _note(self, flow: FiveTuple) -> None:
        self.sent.append(((self.loop.now_ns - self.start_ns) / 1e9, flow))

    def _release(self) -> None:
        self.released += 1
