"""Applies ping lists: which addresses reply, which five-tuples are probed and traced, how often.

Fails closed: without a valid list, with an empty one, or when the list could not be read three
times in a row, the agent stops probing. It goes on replying and sending heartbeats, so that a lost
controller does not look like a lost network.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from random import Random
from typing import Final

from probers.agent import probe_plan
from probers.agent.endpoint_binder import EndpointBinder
from probers.agentless.probing import AgentlessProbing
from probers.command_line.options import Options
from probers.net.five_tuple import FiveTuple
from probers.net.packet import Address
from probers.net.responder import Responder
from probers.net.socket_pool import SocketPool
from probers.ping_list.controller import Ready
from probers.ping_list.document import (
    JobRnics,
    PingList,
    containers,
    job_rnics,
    restrict,
    split_by_permission,
)
from probers.probing.reply_tracer import Peers, ReplyTracer
from probers.probing.schedule import Schedule
from probers.probing.traceroute import Tracer
from probers.probing.udp import UdpEngine
from probers.process.log import log_event
from probers.process.loop import Loop
from probers.rdma.scheduled.probing import RdmaProbing

#: Containers of the list -> those that are ready; None: that is not known yet.
Announced = Callable[[Collection[str]], tuple[str, ...] | None]
#: Share of --max-rate that traces may use, and requests that one trace takes on average.
_TRACE_SHARE, _REQUESTS_PER_TRACE = 0.2, 6.0
EMPTY: Final = PingList(node_sn="-")


class ProbeControl:
    """Owns the schedules; must be called in the loop's thread."""

    def __init__(
        self,
        options: Options,
        loop: Loop,
        sockets: SocketPool,
        responder: Responder,
        engine: UdpEngine,
        tracer: Tracer,
        random: Random,
        announced: Announced | None = None,
        rdma: RdmaProbing | None = None,
        agentless: AgentlessProbing | None = None,
    ) -> None:
        """announced  which containers of the host are ready, where they have agents of their own
        rdma       also probes the list's underlay targets
        agentless  also probes all of its targets
        """
        self._announced, self._rdma, self._agentless = announced, rdma, agentless
        self._options, self._sockets, self._engine = options, sockets, engine
        self._tracer = tracer
        self._probes = Schedule(loop, self._probe, random)
        self._traces = Schedule(loop, self._trace, random)
        self.reply_tracer = ReplyTracer(responder, tracer.trace, random)
        self.binder = EndpointBinder(sockets, options.listen_port)
        #: The list in effect, and its fabric.
        self.document, self.fabric = EMPTY, options.fabric or "default"
        #: Of the last list, whatever part of it this agent serves; also while the list is lost.
        self.job_rnics = JobRnics()
        self._placed: frozenset[str] = frozenset()
        #: Five-tuples of the list: probed, sockets, forbidden (see schemas.metrics).
        self.five_tuples: Counter[str] = Counter()
        #: Addresses that others than the list need: those of requests.
        self.also_used: Callable[[], set[Address]] = set
        self._flows: list[FiveTuple] = []

    def apply(self, document: PingList | None) -> str | None:
        """Serve and probe what the list says; None: the list is lost.

        Returns why nothing is probed from now on; None: something is.
        """
        if document is None:
            why = "the ping list could not be read 3 times in a row"
            log_event("error", "probing-stopped", why=why)
            self.stop()
            return why
        options = self._options
        self.job_rnics = job_rnics(document)
        self._placed = containers(document)
        document = restrict(document, layer=options.layer, node_id=options.node_id)
        targets, forbidden = split_by_permission(document.targets, options.allowed)
        if forbidden:
            log_event("warning", "targets-refused", count=len(forbidden), first=forbidden[0].ip,
                      why="outside --allow-cidr")  # fmt: skip
        self.document, self.fabric = document, document.fabric
        wanted, peers = probe_plan.five_tuples(document, targets, options.node_sn)
        for each in self._others:
            each.plan(document, targets, options.node_sn)
        bound = self._listening() | self._rdma_sources()
        flows = probe_plan.fit(wanted, bound, self._sockets.max_sockets)
        left_out = len(wanted) - len(flows)
        if left_out:
            why = "the list names more source ports than the limit on open files allows"
            log_event("error", "five-tuples-left-out", count=left_out, probed=len(flows),
                      sockets=self._sockets.max_sockets, why=why)  # fmt: skip
        self.five_tuples = Counter(
            probed=len(flows),
            sockets=left_out,
            forbidden=sum(len(target.src_ports) for target in forbidden),
        )
        self._sockets.devices = {own.ip: own.device for own in document.endpoints if own.device}
        self._close_unused(flows)
        self.bind()
        if not flows and not self._other_flows():
            why = "the ping list names no target for this agent"
            log_event("warning", "probing-stopped", why=why)
            self.stop()
            return why
        interval_s = self._schedule_probes(flows)
        if options.trace_interval_s:
            self._schedule_traces(flows, peers)
        log_event("info", "probing", targets=len(targets), five_tuples=len(flows),
                  endpoints=len(document.endpoints), interval_s=round(interval_s, 3))  # fmt: skip
        return None

    def stop(self) -> None:
        """Stop probing and close its sockets; the responder's stay open."""
        self.five_tuples["probed"] = 0
        self.pause()
        self._close_unused([])

    def pause(self) -> None:
        """Start no more probes and traces; all sockets stay open."""
        self._probes.replace([], 1.0)
        self._traces.replace([], 1.0)
        self.reply_tracer.replace({}, 0.0, 1.0)
        for each in self._others:
            each.stop()

    def close_unused(self) -> None:
        """Close the sockets that neither the list nor requests need any more."""
        self._close_unused(self._flows)

    def bind(self) -> None:
        """Open the responder's socket on every own endpoint that has none."""
        self.binder.bind(own.ip for own in self.document.endpoints)

    def ready(self) -> Ready:
        """What answers probes. Only an agent of a whole host may speak for its containers."""
        own, unbound = self.document.endpoints, self.binder.unbound
        answering = len(own) - len(unbound)
        if self._announced is not None and self.document is not EMPTY:
            return Ready(self._announced(self._placed), len(unbound), answering)
        part = self._options.layer is not None or self._options.node_id is not None
        if part or self.document is EMPTY:  # without a list it does not know its containers
            return Ready(None, len(unbound), answering)
        waiting = {each.node_id for each in own if each.ip in unbound}
        served = {each.node_id for each in own if each.layer == "overlay" and each.node_id}
        return Ready(tuple(sorted(served - waiting)), len(unbound), answering)

    def _schedule_probes(self, flows: list[FiveTuple]) -> float:
        """Probe the flows at most at --max-rate; returns the interval [s]."""
        wanted_s = self.document.interval_s or self._options.interval_s
        rate = self._options.max_rate * (1 - _TRACE_SHARE)
        count = len(flows) + len(self._other_flows())
        interval_s = max(wanted_s, count * self._options.burst / rate)
        if interval_s > wanted_s:
            log_event("warning", "interval-stretched", wanted_s=wanted_s,
                      interval_s=round(interval_s, 3), why="--max-rate")  # fmt: skip
        self._probes.replace(flows, interval_s)
        for each in self._others:
            each.start(interval_s)
        return interval_s

    def _schedule_traces(self, flows: list[FiveTuple], peers: Peers) -> None:
        """Trace the routes of probes and of replies, each at half of the rate for traces."""
        rate = self._trace_rate()
        # Inside the overlay a trace shows one hop and nothing of the fabric: it would mislead.
        every = [*flows, *self._other_flows()]
        traced = [flow for flow in every if flow.columns["agent_type"] == "underlay"]
        first_s = max(1.0, len(traced) / rate)
        interval_s = max(self._options.trace_interval_s, first_s)
        self._traces.replace(traced, interval_s, first_s)
        self.reply_tracer.replace(peers, interval_s, rate)

    @property
    def _others(self) -> list[RdmaProbing | AgentlessProbing]:
        """What probes the list beside the UDP engine."""
        return [each for each in (self._rdma, self._agentless) if each is not None]

    def _other_flows(self) -> list[FiveTuple]:
        return [flow for each in self._others for flow in each.flows]

    def _listening(self) -> set[Address]:
        return {(own.ip, self._options.listen_port) for own in self.document.endpoints}

    def _rdma_sources(self) -> set[Address]:
        return set() if self._rdma is None else self._rdma.sources

    def _close_unused(self, flows: list[FiveTuple]) -> None:
        """Close the sockets that neither reply nor probe; their descriptors are free at once."""
        self._flows = flows
        others = (self.also_used(), self._rdma_sources())
        addresses = self._listening().union((flow.src for flow in flows), *others)
        self._sockets.close_except(addresses)
        self._tracer.cancel_except(addresses)
        self.binder.retain({own.ip for own in self.document.endpoints})

    def trace_learnt(self) -> None:
        """Trace RDMA five-tuples whose queue pairs were learnt; must be called once a second."""
        if self._rdma is not None and self._options.trace_interval_s:
            for flow in self._rdma.untraced(max(1, int(self._trace_rate()))):
                self._tracer.trace(flow)

    def _trace(self, flow: FiveTuple) -> None:
        if self._agentless is not None and self._agentless.trace(flow):
            return
        if self._rdma is None or self._rdma.traceable(flow):
            self._tracer.trace(flow)

    def _trace_rate(self) -> float:
        """Traces of probes' routes a second; those of replies may be as many."""
        return self._options.max_rate * _TRACE_SHARE / 2 / _REQUESTS_PER_TRACE

    def _probe(self, flow: FiveTuple) -> None:
        self._engine.probe(flow, self._options.burst)
