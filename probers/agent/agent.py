"""The agent's parts put together: what runs in the loop's thread.

It fails closed: without a list, with an empty one, or when the list could not be read three times
in a row, it stops probing; it goes on answering and sending heartbeats, so that a lost controller
does not look like a lost network.
"""

from __future__ import annotations

import errno
import os
import threading
from collections import Counter
from importlib.metadata import PackageNotFoundError, version
from random import Random
from time import monotonic_ns, time_ns
from typing import Final

from probers.agent.log import say
from probers.agent.options import Options
from probers.agent.ping_list import PingList, narrow, permitted
from probers.agent.probe_plan import fit, plan
from probers.agent.threads import describe
from probers.health import counters
from probers.health.heartbeat import CpuSteal, heartbeat
from probers.net.five_tuple import FiveTuple
from probers.net.responder import Responder
from probers.net.socket_pool import MAX_SOCKETS, SocketPool
from probers.probing.loop import Call, Loop
from probers.probing.reply_tracer import ReplyRoutes
from probers.probing.schedule import Schedule
from probers.probing.traceroute import Tracer
from probers.probing.udp import UdpEngine
from probers.publishing.batcher import Batcher
from probers.publishing.publisher import Publisher
from probers.publishing.record import ping_record, trace_record
from schemas import topics
from schemas.metrics import Sample

_SECOND_NS: Final = 1_000_000_000
#: Share of --max-rate that the schedule gives to traces, and questions a trace takes about.
_TRACE_SHARE, _ASKS_PER_TRACE = 0.2, 6.0
_MAX_FAULTS: Final = 64  # different places in the code that are reported
NOBODY: Final = PingList(node_sn="-")


class Agent:
    """Everything that runs in the loop's thread; other threads call ``offer`` only, and read."""

    def __init__(
        self,
        options: Options,
        publisher: Publisher,
        random: Random,
        *,
        max_sockets: int = MAX_SOCKETS,
        tick: Call = lambda: None,
        refused: Call = lambda: None,
    ) -> None:
        """``tick`` is called once a second, ``refused`` when a list that was offered could not be
        applied: it is to be offered again."""
        self.loop = Loop(self._callback_failed)
        self._options, self.publisher = options, publisher
        self._tick, self._refused = tick, refused
        self.node_sn, self.version = options.node_sn, _version()
        self.scope = f"{options.layer or ''}/{options.node_id or ''}".removesuffix("/")
        self.instance, self.started_ns = os.urandom(8).hex(), time_ns()
        self._list, self._fabric = NOBODY, options.fabric or "default"
        self.responder = Responder(
            options.key, rate=options.answer_rate, burst=2 * options.answer_rate
        )
        self.doors = SocketPool(
            self.loop, options.key, self.responder, options.max_rate, max_sockets
        )
        self._outbox = Batcher(self.loop, publisher, options.node_sn, options.encoding)
        self.engine = UdpEngine(
            self.loop,
            self.doors,
            lambda burst: self._outbox.put(ping_record(burst, self._steal)),
            timeout_s=options.timeout_s,
        )
        self.tracer = Tracer(
            self.loop, self.doors, lambda trace: self._outbox.put(trace_record(trace))
        )
        self._probes = Schedule(self.loop, self._probe, random)
        self._traces = Schedule(self.loop, self.tracer.trace, random)
        self._replies = ReplyRoutes(self.responder, self.tracer.trace, random)
        self._cpu, self._steal, self.delay_ns = CpuSteal(), 0.0, 0
        self._complaints: dict[str, int] = {}
        self._faults: set[str] = set()
        self._offered: list[PingList | None] = []
        self._offering = threading.Lock()
        #: Own addresses that are not bound, and those of them that another process has.
        self.unbound: set[str] = set()
        self.in_use: set[str] = set()
        #: Five-tuples of the list: probed, sockets, forbidden (see schemas.metrics).
        self.five_tuples: Counter[str] = Counter()
        self.lists_refused = 0
        #: Why nothing is probed just now; None: something is.
        self.closed_why: str | None = "no ping list has been read yet"
        #: What was counted at the loop's last turn, and when that was [monotonic ns].
        self.samples: tuple[Sample, ...] = ()
        self.turned_at_ns = monotonic_ns()

    def run(self) -> None:
        """Serve until the loop is stopped, then hand over everything that was measured."""
        self.loop.every(_SECOND_NS, self._beat)
        self.loop.every(_SECOND_NS, self._replies.turn)
        self.loop.every(60 * _SECOND_NS, self._complain)
        try:
            self.loop.run()
        finally:
            self._outbox.flush()
            self._send_heartbeat(alive=False)
            self.doors.keep_only(())
            self._complain()
            self.loop.close()

    def offer(self, document: PingList | None) -> None:
        """Have the loop apply this list soon, from any thread; an older one that it has not come
        to yet is left out."""
        with self._offering:
            waiting = bool(self._offered)
            self._offered[:] = [document]
        if not waiting:
            self.loop.post(self._take_offer)

    def _take_offer(self) -> None:
        with self._offering:
            document = self._offered.pop()
        try:
            self.apply(document)
        except Exception as why:  # no list, whatever is in it, may end the answering
            self.lists_refused += 1
            say("error", "list-refused", why=describe(why))
            self._close(f"the ping list cannot be applied ({type(why).__name__}: {why})")
            self._refused()

    def apply(self, document: PingList | None) -> None:
        """Serve and probe what this list says; None: there is none, stop probing."""
        if document is None:
            why = "the ping list could not be read 3 times in a row"
            say("error", "probing-stopped", why=why)
            self._close(why)
            return
        options = self._options
        document = narrow(document, layer=options.layer, node_id=options.node_id)
        targets, outside = permitted(document.targets, options.allowed)
        if outside:
            say("warning", "targets-refused", count=len(outside), first=outside[0].ip,
                why="outside --allow-cidr")  # fmt: skip
        self._list, self._fabric = document, document.fabric
        wanted_flows, peers = plan(document, targets, options.node_sn)
        flows = fit(wanted_flows, self._listening(), self.doors.max_sockets)
        left_out = len(wanted_flows) - len(flows)
        if left_out:
            why = "the list names more source ports than the limit on open files allows"
            say("error", "five-tuples-left-out", count=left_out, probed=len(flows),
                sockets=self.doors.max_sockets, why=why)  # fmt: skip
        self.five_tuples = Counter(
            probed=len(flows),
            sockets=left_out,
            forbidden=sum(len(target.src_ports) for target in outside),
        )
        self.doors.devices = {own.ip: own.device for own in document.endpoints if own.device}
        self._keep_sockets(flows)
        self._bind()
        if not flows:
            why = "the ping list names no target for this agent"
            say("warning", "probing-stopped", why=why)
            self._close(why)
            return
        self.closed_why = None
        wanted = document.interval_s or options.interval_s
        probe_rate = options.max_rate * (1 - _TRACE_SHARE)
        interval = max(wanted, len(flows) * options.burst / probe_rate)
        if interval > wanted:
            say("warning", "interval-stretched", wanted_s=wanted, interval_s=round(interval, 3),
                why="--max-rate")  # fmt: skip
        self._probes.replace(flows, interval)
        trace_rate = options.max_rate * _TRACE_SHARE / 2 / _ASKS_PER_TRACE  # half is for replies'
        # Inside the overlay a trace sees one hop and nothing of the fabric: it would mislead.
        traced = [flow for flow in flows if flow.columns["agent_type"] == "underlay"]
        if options.trace_interval_s:
            first = max(1.0, len(traced) / trace_rate)
            trace_interval = max(options.trace_interval_s, first)
            self._traces.replace(traced, trace_interval, first)
            self._replies.replace(peers, trace_interval, trace_rate)
        say("info", "probing", targets=len(targets), five_tuples=len(flows),
            endpoints=len(document.endpoints), interval_s=round(interval, 3))  # fmt: skip

    def _listening(self) -> set[tuple[str, int]]:
        return {(own.ip, self._options.listen_port) for own in self._list.endpoints}

    def _keep_sockets(self, flows: list[FiveTuple]) -> None:
        """Close what neither answers nor probes any more: what is free can be used at once."""
        addresses = self._listening().union(flow.src for flow in flows)
        self.doors.keep_only(addresses)
        self.tracer.keep_only(addresses)
        own = {endpoint.ip for endpoint in self._list.endpoints}
        self.unbound &= own
        self.in_use &= own

    def _close(self, why: str) -> None:
        """Stop probing and free its sockets; go on answering."""
        self.closed_why = why
        self.five_tuples["probed"] = 0
        self._probes.replace([], 1.0)
        self._traces.replace([], 1.0)
        self._replies.replace({}, 0.0, 1.0)
        self._keep_sockets([])

    def _probe(self, flow: FiveTuple) -> None:
        self.engine.probe(flow, self._options.burst)

    def _bind(self) -> None:
        """Answer on every own endpoint; one whose address is not there yet is tried again."""
        for own in self._list.endpoints:
            try:
                self.doors.open((own.ip, self._options.listen_port))
            except OSError as why:
                taken = why.errno == errno.EADDRINUSE
                (self.in_use.add if taken else self.in_use.discard)(own.ip)
                if own.ip not in self.unbound:
                    twin = "; does another agent of this host run?" if taken else ""
                    say("error", "endpoint-not-bound", ip=own.ip, port=self._options.listen_port,
                        why=f"{why.strerror}{twin}", retry="every second")  # fmt: skip
                self.unbound.add(own.ip)
            else:
                self.in_use.discard(own.ip)
                if own.ip in self.unbound:
                    self.unbound.discard(own.ip)
                    say("info", "endpoint-bound", ip=own.ip)

    def _beat(self) -> None:
        self._steal = self._cpu.read()
        if self.unbound:
            self._bind()
        self.publisher.poll()
        self.delay_ns = self.loop.take_worst_delay_ns()
        self._send_heartbeat(alive=True)
        self._tick()
        self.samples = tuple(counters.of_agent(self))
        self.turned_at_ns = monotonic_ns()

    def _send_heartbeat(self, *, alive: bool) -> None:
        beat = heartbeat(
            self._fabric, self.node_sn, self._list.endpoints,
            self.engine.sent, self.engine.answered,
            now_ns=time_ns(), cpu_steal=self._steal, delay_ns=self.delay_ns,
            version=self.version, instance=self.instance, started_ns=self.started_ns,
            scope=self.scope, alive=alive,
        )  # fmt: skip
        self.publisher.publish(topics.HEARTBEATS.name, self.node_sn, beat, topics.JSON)

    def _callback_failed(self, why: Exception) -> None:
        """Report a defect once for each place in the code; all of them are counted."""
        what = describe(why)
        place = what.rpartition(" at ")[2]
        if place not in self._faults and len(self._faults) < _MAX_FAULTS:
            self._faults.add(place)
            say("error", "callback-failed", why=what)

    def _complain(self) -> None:
        """Once a minute: what went wrong that nothing else shows, if there is more of it."""
        now = {f"silent.{why}": count for why, count in self.responder.silent.items()}
        now |= {f"question.{why}": count for why, count in self.doors.counts.items()}
        now |= {
            f"publish.{why}": self.publisher.counts[why]
            for why in ("overflow", "failed", "reconnects")
            if self.publisher.counts[why]
        }
        for name, count in (
            ("traces.dropped", self.tracer.dropped),
            ("probes.stalled", self.engine.stalled),
            ("sources.unopened", len(self.doors.unopened)),
            ("callbacks.failed", self.loop.errors),
        ):
            if count:
                now[name] = count
        if now.get("silent.stale"):
            now["silent.stale.skew_ms"] = self.responder.last_skew_ns // 1_000_000
        if now != self._complaints:
            say("warning", "complaints", **now)
        self._complaints = now


def _version() -> str:
    try:
        return version("skeletonhunter")
    except PackageNotFoundError:
        return ""
