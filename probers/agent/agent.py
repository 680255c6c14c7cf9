"""All parts that run in the loop's thread, wired together, and the tick of every second."""

from __future__ import annotations

import os
import threading
from importlib.metadata import PackageNotFoundError, version
from random import Random
from time import monotonic_ns, time_ns
from typing import Final

import msgspec

from probers.agent.probe_control import Announced, ProbeControl
from probers.agent.reporting import Reporting
from probers.agentless.probing import AgentlessProbing
from probers.command_line.options import Options
from probers.health import counters
from probers.health.fault_log import FaultLog, count_faults
from probers.health.heartbeat import AgentIdentity
from probers.health.status import AgentStatus
from probers.net.responder import Responder
from probers.net.socket_pool import MAX_SOCKETS, SocketPool
from probers.ping_list.document import PingList
from probers.probing.traceroute import Trace, Tracer
from probers.probing.udp import Burst, UdpEngine
from probers.process.log import log_event
from probers.process.loop import Callback, Loop
from probers.process.thread_failures import describe_error
from probers.publishing.publisher import Publisher
from probers.rdma.scheduled.probing import RdmaProbing
from probers.requests.checks import Own
from probers.requests.executor import TICK_NS, RequestExecutor
from probers.requests.host_facts import HostFacts
from probers.requests.limits import RequestLimits
from schemas import topics
from schemas.documents.requests.evidence import Evidence
from schemas.metrics import Sample

_SECOND_NS: Final = 1_000_000_000
_MAX_PLACES: Final = 64  # places in the code whose defects are logged
_LOOK_NS: Final = 10_000_000  # between two looks whether all probes have ended
_LONGEST_FLOW_REST_S: Final = 15.0  # a route of replies is traced so much later than it is due
_GRACE_S: Final = 0.2  # time-outs share a timer that may be so much late


def flow_rest_ns(trace_interval_s: float) -> int:
    """How far behind the times of flows that are traced once per interval may be [ns]: not so far
    that a flow which is still probed looks idle."""
    return int(min(_LONGEST_FLOW_REST_S, trace_interval_s / 4) * _SECOND_NS)


class Agent:
    """Runs in the loop's thread; other threads may call ``offer`` and read ``status``."""

    def __init__(
        self,
        options: Options,
        publisher: Publisher,
        random: Random,
        *,
        max_sockets: int = MAX_SOCKETS,
        on_tick: Callback = lambda: None,
        on_list_refused: Callback = lambda: None,
        announced: Announced | None = None,
    ) -> None:
        """on_tick          called once a second
        on_list_refused  called when an offered list could not be applied: offer it again
        announced        see ``ProbeControl``
        """
        self.loop = Loop(self._on_callback_error)
        self._publisher = publisher
        self._on_tick, self._on_list_refused = on_tick, on_list_refused
        self._identity = AgentIdentity(
            node_sn=options.node_sn,
            scope=options.scope,
            instance=os.urandom(8).hex(),
            started_ns=time_ns(),
            version=_version(),
        )
        self._responder = Responder(
            options.key, rate=options.answer_rate, burst=2 * options.answer_rate,
            flow_rest_ns=flow_rest_ns(options.trace_interval_s),
        )  # fmt: skip
        self._sockets = SocketPool(
            self.loop, options.key, self._responder, options.max_rate, max_sockets
        )
        self._reporting = Reporting(self.loop, publisher, self._identity, options.encoding)
        self._engine = UdpEngine(
            self.loop,
            self._sockets,
            self._on_burst,
            timeout_s=options.timeout_s,
        )
        self._tracer = Tracer(self.loop, self._sockets, self._on_trace)
        self._rdma = self._rdma_probing(options, random)
        self._agentless = self._agentless_probing(options, random)
        self._control = ProbeControl(
            options, self.loop, self._sockets, self._responder, self._engine, self._tracer, random,
            announced, self._rdma, self._agentless,
        )  # fmt: skip
        self.requests = self._executor(options)
        self._control.also_used = lambda: self.requests.addresses
        self._fault_log = FaultLog(lambda: count_faults(
            self.loop, self._sockets, self._responder, self._engine, self._tracer, publisher
        ))  # fmt: skip
        self._faulty_places: set[str] = set()
        self._retiring = False
        self._has_pages = options.health_listen is not None
        self._last_probe_ns = int((options.timeout_s + _GRACE_S) * _SECOND_NS)
        self._offered: list[PingList | None] = []
        self._offer_lock = threading.Lock()
        self._applied: PingList | None = None
        self._lists_refused = 0
        self.status = AgentStatus()

    def run(self) -> None:
        """Serve until the loop is stopped, then publish everything that was measured."""
        self.loop.call_every(_SECOND_NS, self._tick)
        self.loop.call_every(_SECOND_NS, self._control.reply_tracer.trace_due)
        self.loop.call_every(TICK_NS, self.requests.tick)
        self.loop.call_every(60 * _SECOND_NS, self._fault_log.write)
        try:
            self.loop.run()
        finally:
            if not self._reporting.ended:
                self._reporting.flush()
                self._send_heartbeat(alive=False)
                self._sockets.close_except(())
            for each in (self._rdma, self._agentless):
                if each is not None:
                    each.close()
            self._fault_log.write()
            self.loop.close()

    @property
    def descriptors(self) -> list[int]:
        """Of the open UDP sockets."""
        return self._sockets.descriptors

    def adopt(self, descriptors: list[int]) -> None:
        """Serve the sockets of the agent before this one; before ``run``."""
        self._sockets.adopt(descriptors)

    def retire(self, on_retired: Callback) -> None:
        """End the probes, publish what was measured, then call ``on_retired``: nothing more is
        published. Requests are answered until ``run`` ends, and then the sockets stay open and no
        farewell is sent, because another agent goes on. In the loop's thread."""
        self._retiring = True
        self._control.pause()
        give_up_ns = monotonic_ns() + self._last_probe_ns

        def look() -> None:
            others = 0 if self._agentless is None else self._agentless.in_flight
            if self._engine.in_flight + others and monotonic_ns() < give_up_ns:
                self.loop.call_at(monotonic_ns() + _LOOK_NS, look)
                return
            self._reporting.end()
            on_retired()

        look()

    def offer(self, document: PingList | None) -> None:
        """Have the loop apply this list soon; safe in any thread. Replaces an offered list that
        was not applied yet. None: the list is lost."""
        with self._offer_lock:
            pending = bool(self._offered)
            self._offered[:] = [document]
        if not pending:
            self.loop.post(self._apply_offered)

    def _apply_offered(self) -> None:
        with self._offer_lock:
            document = self._applied = self._offered.pop()
        if self._retiring:
            return
        try:
            self.status.stopped_why = self._control.apply(document)
            self.status.ready = self._control.ready()
            self.status.job_rnics = self._control.job_rnics
        except Exception as why:  # no list, whatever it contains, may end the agent's replies
            self._lists_refused += 1
            log_event("error", "list-refused", why=describe_error(why))
            self._control.stop()
            kind = type(why).__name__
            self.status.stopped_why = f"the ping list cannot be applied ({kind}: {why})"
            self._on_list_refused()
        self.requests.list_changed()

    def _tick(self) -> None:
        if self._reporting.ended:
            return
        if self._control.binder.unbound:
            self._control.bind()
        if self._rdma is not None:
            self._rdma.tick()
            self._control.trace_learnt()
        self._reporting.measure()
        self._send_heartbeat(alive=True)
        self._on_tick()
        self.status.ready = self._control.ready()
        if self._has_pages:
            self.status.samples = self._samples()
        self.status.tick_ns = monotonic_ns()

    def _samples(self) -> tuple[Sample, ...]:
        control = self._control
        return (
            *counters.of_identity(self._identity),
            *counters.of_probing(self._engine, self._tracer),
            *counters.of_sockets(self._sockets, self._responder),
            *counters.of_list(
                control.five_tuples, control.binder.unbound, control.binder.in_use,
                self._lists_refused,
            ),
            *counters.of_loop(self.loop, self._reporting.delay_ns, self._publisher),
            *self.requests.samples(),
            *(() if self._rdma is None else counters.of_rdma(self._rdma)),
            *(() if self._agentless is None else counters.of_agentless(self._agentless)),
        )  # fmt: skip

    def _on_burst(self, burst: Burst) -> None:
        self._reporting.burst(burst)
        self.requests.burst_done(burst)

    def _on_rdma_burst(self, burst: Burst) -> None:
        self._reporting.burst(burst, "RDMA_PING")

    def _on_trace(self, trace: Trace) -> None:
        if self._rdma is None:
            self._reporting.trace(trace)
        else:
            self._rdma.complete(trace, self._reporting.trace)
        self.requests.trace_done(trace)

    def _rdma_probing(self, options: Options, random: Random) -> RdmaProbing | None:
        if options.rdma is None:
            return None
        made = RdmaProbing(
            self.loop, options.key, self._sockets, self._responder, options.rdma, random,
            self._on_rdma_burst, now=monotonic_ns, listen_port=options.listen_port,
            burst=options.burst, timeout_s=options.timeout_s, answer_rate=options.answer_rate,
        )  # fmt: skip
        made.on_change = self._apply_again
        return made

    def _agentless_probing(self, options: Options, random: Random) -> AgentlessProbing | None:
        if options.agentless is None:
            return None
        return AgentlessProbing(
            self.loop, options.agentless, random, self._reporting.burst, self._reporting.trace,
            allowed=lambda: self._sockets.within_budget(monotonic_ns()),
            device_of=lambda ip: self._sockets.devices.get(ip, ""),
            identifier=options.listen_port, burst=options.burst, timeout_s=options.timeout_s,
        )  # fmt: skip

    def _apply_again(self) -> None:
        """An rnic can be used now: the list has more five-tuples than before."""
        if self._applied is not None:
            self.offer(self._applied)

    def _executor(self, options: Options) -> RequestExecutor:
        """Does requests over this agent's engine, for the endpoints of its list."""
        node_sn, limits = options.node_sn, RequestLimits(rate=options.request_rate)
        part = options.layer is not None or options.node_id is not None

        def own() -> Own:
            lost = self.status.stopped_why is not None
            return Own(
                node_sn, self._control.document, lost, options.allowed, options.listen_port, part
            )

        def publish(evidence: Evidence) -> None:
            if self._reporting.ended:  # the spool is the successor's by now
                return
            raw = msgspec.json.encode(evidence)
            self._publisher.publish(topics.EVIDENCE.name, node_sn, raw, topics.JSON)

        return RequestExecutor(
            self.loop, own, self._engine.probe, self._tracer.trace, publish,
            self._control.close_unused,
            facts=HostFacts(options.flow_table_commands, limits), limits=limits,
        )  # fmt: skip

    def _send_heartbeat(self, *, alive: bool) -> None:
        sent, answered = self._engine.sent, self._engine.answered
        if self._rdma is not None:
            sent, answered = sent + self._rdma.bursts.sent, answered + self._rdma.bursts.answered
        if self._agentless is not None:
            sent, answered = sent + self._agentless.sent, answered + self._agentless.answered
        endpoints = self._control.document.endpoints
        self._reporting.heartbeat(self._control.fabric, endpoints, sent, answered, alive=alive)

    def _on_callback_error(self, why: Exception) -> None:
        """Log a defect once per place in the code; the loop counts all of them."""
        what = describe_error(why)
        place = what.rpartition(" at ")[2]
        if place not in self._faulty_places and len(self._faulty_places) < _MAX_PLACES:
            self._faulty_places.add(place)
            log_event("error", "callback-failed", why=what)


def _version() -> str:
    try:
        return version("skeletonhunter")
    except PackageNotFoundError:
        return ""
