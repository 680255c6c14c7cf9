"""One request that an agent works on: its turns, what came back, and its evidence. No I/O."""

from __future__ import annotations

from dataclasses import dataclass, field

from probers.net.five_tuple import FiveTuple
from probers.probing.traceroute import Trace
from probers.probing.udp import Burst
from schemas.documents.requests.evidence import (
    DeviceCounters,
    Evidence,
    ProbeResult,
    RouteResult,
    State,
)
from schemas.documents.requests.request import Request
from schemas.documents.times import rfc3339


@dataclass(slots=True)
class Running:
    """A request and how far it is.

    flows     its five-tuples; the objects themselves tell its results from those of the ping list
    until_ns  when it expires [monotonic ns]
    turns     probes, traceroutes or readings that were begun [count]; of ``total``
    ended_ns  when the last turn began [monotonic ns]; 0: not yet
    """

    request: Request
    flows: list[FiveTuple]
    until_ns: int
    turns: int = 0
    ended_ns: int = 0
    results: int = 0
    sent: int = 0
    answered: int = 0
    left_out: int = 0
    number: int = 0
    probes: list[ProbeResult] = field(default_factory=list)
    routes: list[RouteResult] = field(default_factory=list)
    counters: list[DeviceCounters] = field(default_factory=list)
    flow_table: str = ""
    truncated: bool = False

    @property
    def total(self) -> int:
        """Turns of the whole request."""
        if self.request.kind == "probe":
            return len(self.flows) * self.request.count
        if self.request.kind == "traceroute":
            return len(self.flows)
        return self.request.count

    @property
    def spacing_ns(self) -> int:
        """Between two turns."""
        return int(self.request.interval_s * 1e9 / max(1, len(self.flows)))

    @property
    def waiting(self) -> bool:
        """Whether there are results that are in no evidence yet."""
        return bool(self.probes or self.routes or self.counters or self.flow_table)

    def burst_done(self, burst: Burst, most: int) -> None:
        """A probe has ended; at most ``most`` results wait for the next evidence."""
        self.results += 1
        self.sent += burst.sent
        self.answered += len(burst.round_trips)
        rtt_us = round(burst.round_trips[0].rtt_us, 3) if burst.round_trips else None
        found = ProbeResult(*_ends(burst.flow), rfc3339(burst.sent_ns), burst.dial, rtt_us)
        if len(self.probes) < most:
            self.probes.append(found)
        else:
            self.left_out += 1

    def trace_done(self, trace: Trace, most: int) -> None:
        """A traceroute has ended."""
        self.results += 1
        time = rfc3339(trace.sent_ns)
        found = RouteResult(*_ends(trace.flow), time, trace.dial, list(trace.hops))
        if len(self.routes) < most:
            self.routes.append(found)
        else:
            self.left_out += 1

    def evidence(self, state: State, now_ns: int, reason: str = "") -> Evidence:
        """What came since the last one, taken out of here. now_ns: [wall ns]"""
        self.number += 1
        request = self.request
        found = Evidence(
            request_id=request.request_id, kind=request.kind, node_sn=request.node_sn,
            fabric=request.fabric, incident_id=request.incident_id, number=self.number,
            time=rfc3339(now_ns), state=state, reason=reason, sent=self.sent,
            answered=self.answered, left_out=self.left_out,
            probes=self.probes, routes=self.routes, counters=self.counters,
            flow_table=self.flow_table, truncated=self.truncated,
        )  # fmt: skip
        self.probes, self.routes, self.counters, self.flow_table = [], [], [], ""
        return found


def _ends(flow: FiveTuple) -> tuple[str, int, str, int]:
    return (*flow.src, *flow.dst)
