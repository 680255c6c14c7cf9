"""What the agent does with engines that need no agent at the peer: flows of the list in effect."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from random import Random
from typing import Final, Literal

from probers.agentless.engine import AgentlessEngine, Allowed, DeviceOf
from probers.agentless.icmp import IcmpEngine
from probers.agentless.icmp_hops import EchoHops
from probers.agentless.tcp import TcpEngine
from probers.agentless.tcp_hops import TcpHops
from probers.net.five_tuple import FiveTuple
from probers.ping_list.document import PingList, Target
from probers.probing.schedule import Schedule
from probers.probing.traceroute import Trace, Tracer
from probers.probing.udp import Burst
from probers.process.log import log_event
from probers.process.loop import Loop
from probers.publishing.record import common_columns

Kind = Literal["icmp", "tcp"]
KINDS: Final[tuple[Kind, ...]] = ("icmp", "tcp")
TASKS: Final[dict[Kind, str]] = {"icmp": "ICMP_PING", "tcp": "TCP_PING"}
#: TCP port that is probed by default: not the UDP responder's, whose traceroutes are those of other
#: five-tuples. No service listens there, so a reset answers.
TCP_PORT: Final = 65301


@dataclass(frozen=True, slots=True)
class AgentlessOptions:
    """Which engines, and the port that TCP probes."""

    kinds: frozenset[Kind]
    tcp_port: int = TCP_PORT


class AgentlessProbing:
    """Every target of the list by each of the engines; must be called in the loop's thread."""

    def __init__(
        self,
        loop: Loop,
        options: AgentlessOptions,
        random: Random,
        on_burst: Callable[[Burst, str], None],
        on_trace: Callable[[Trace], None],
        *,
        allowed: Allowed,
        device_of: DeviceOf,
        identifier: int,
        burst: int,
        timeout_s: float,
    ) -> None:
        """on_burst    gets the bursts, each with its task_type
        identifier  of echoes
        """
        self._options, self._identifier, self._burst = options, identifier, burst
        self._engines: dict[Kind, AgentlessEngine] = {}
        self._icmp: IcmpEngine | None = None
        self._refused: str | None = None  # why ICMP is not used
        self._tracers: dict[Kind, Tracer] = {}
        if "tcp" in options.kinds:
            self._engines["tcp"] = TcpEngine(
                loop, lambda burst: on_burst(burst, TASKS["tcp"]),
                timeout_s=timeout_s, allowed=allowed, device_of=device_of,
            )  # fmt: skip
            self._tracers["tcp"] = Tracer(loop, TcpHops(loop, allowed, device_of), on_trace)
        if "icmp" in options.kinds:
            self._engines["icmp"] = self._icmp = icmp = IcmpEngine(
                loop, lambda burst: on_burst(burst, TASKS["icmp"]),
                timeout_s=timeout_s, allowed=allowed, device_of=device_of,
            )  # fmt: skip
            hops = EchoHops(icmp.echoes, allowed)
            self._tracers["icmp"] = Tracer(loop, hops, lambda trace: _both_ways(trace, on_trace))
        self._probes = Schedule(loop, self._probe, random)
        self._flows: dict[FiveTuple, Kind] = {}

    @property
    def flows(self) -> list[FiveTuple]:
        """The five-tuples in effect."""
        return list(self._flows)

    @property
    def in_flight(self) -> int:
        """Probes that have not ended."""
        return sum(engine.in_flight for engine in self._engines.values())

    @property
    def sent(self) -> Counter[str]:
        """Probes by own address."""
        return sum((engine.sent for engine in self._engines.values()), Counter[str]())

    @property
    def answered(self) -> Counter[str]:
        """Those that were answered, by own address."""
        return sum((engine.answered for engine in self._engines.values()), Counter[str]())

    def counts(self) -> Iterator[tuple[Kind, str, int]]:
        """Engine, outcome, probes."""
        for kind, engine in self._engines.items():
            yield kind, "sent", sum(engine.sent.values())
            yield kind, "answered", sum(engine.answered.values())
            yield kind, "stalled", engine.stalled

    def plan(self, document: PingList, targets: Iterable[Target], node_sn: str) -> None:
        """Find the five-tuples of a list; ``start`` probes them."""
        own = {each.ip: each for each in document.endpoints}
        self._flows = {}
        echoes = self._may_send_echoes(own)
        for target in targets:
            columns = common_columns(document.fabric, node_sn, own[target.src_ip], target)
            if "tcp" in self._engines:
                for port in target.src_ports:
                    src, dst = (target.src_ip, port), (target.ip, self._options.tcp_port)
                    self._flows[FiveTuple(src, dst, target.dscp, columns)] = "tcp"
            if echoes:
                src = target.src_ip, self._identifier
                self._flows[FiveTuple(src, (target.ip, 0), target.dscp, columns)] = "icmp"
        sources = {flow.src for flow in self._flows}
        for kind, engine in self._engines.items():
            self._tracers[kind].cancel_except(sources)
            engine.retain(sources)

    def start(self, interval_s: float) -> None:
        """Probe the planned five-tuples, each once per interval."""
        self._probes.replace(self.flows, interval_s)

    def stop(self) -> None:
        """Probe nothing."""
        self._flows = {}
        self._probes.replace([], 1.0)

    def trace(self, flow: FiveTuple) -> bool:
        """Trace the route of one of its five-tuples; False: it is none of them."""
        if (kind := self._flows.get(flow)) is None:
            return False
        self._tracers[kind].trace(flow)
        return True

    def close(self) -> None:
        """Release all sockets."""
        self.stop()
        for kind, engine in self._engines.items():
            self._tracers[kind].cancel_except(())
            engine.close()

    def _may_send_echoes(self, own: Iterable[str]) -> bool:
        """Whether ICMP is used; why not is logged once."""
        if self._icmp is None:
            return False
        refusals = (self._icmp.refusal((ip, self._identifier)) for ip in own)
        why = next((each for each in refusals if each is not None), None)
        if why is not None and why != self._refused:
            log_event("error", "icmp-not-used", why=why)
        self._refused = why
        return why is None

    def _probe(self, flow: FiveTuple) -> None:
        if (kind := self._flows.get(flow)) is not None:
            self._engines[kind].probe(flow, self._burst)


def _both_ways(trace: Trace, on_trace: Callable[[Trace], None]) -> None:
    """An echo's route, and as that of the answers to the peer's echoes: these have the same two
    addresses and no ports either, so ECMP treats them alike."""
    on_trace(trace)
    (own, identifier), (peer, _) = trace.flow.src, trace.flow.dst
    flow = FiveTuple((own, 0), (peer, identifier), trace.flow.dscp, trace.flow.columns)
    on_trace(replace(trace, flow=flow))
