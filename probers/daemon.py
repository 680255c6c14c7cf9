"""The agent's parts put together: what runs in the loop's thread.

It fails closed: without a list, with an empty one, or when the list could not be read three times
in a row, it probes nobody; it goes on answering and sending heartbeats, so that a lost controller
does not look like a lost network.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from random import Random
from time import time_ns
from typing import Final

from probers.doors import Doors
from probers.flow import FiveTuple
from probers.health import CpuSteal, heartbeat
from probers.log import say
from probers.loop import Loop
from probers.options import Options
from probers.outbox import Outbox
from probers.pinglist import PingList, Target, narrow, permitted
from probers.publish import Publisher
from probers.record import Record, common_columns, ping_record, trace_record
from probers.replies import Peers, ReplyRoutes
from probers.responder import Responder
from probers.schedule import Schedule
from probers.traceroute import Tracer
from probers.udp import UdpEngine
from schemas import topics

_SECOND_NS: Final = 1_000_000_000
#: Share of --max-rate that the schedule gives to traces, and questions a trace takes about.
_TRACE_SHARE, _ASKS_PER_TRACE = 0.2, 6.0
NOBODY: Final = PingList(node_sn="-")


class Agent:
    """Everything that runs in the loop's thread."""

    def __init__(self, options: Options, publisher: Publisher, random: Random) -> None:
        self.loop = Loop()
        self._options, self._publisher = options, publisher
        self._list, self._fabric = NOBODY, options.fabric or "default"
        self._responder = Responder(
            options.key, rate=options.answer_rate, burst=2 * options.answer_rate
        )
        self._doors = Doors(self.loop, options.key, self._responder, options.max_rate)
        self._outbox = Outbox(self.loop, publisher, options.node_sn, options.encoding)
        self._engine = UdpEngine(
            self.loop,
            self._doors,
            lambda burst: self._outbox.put(ping_record(burst, self._steal)),
            timeout_s=options.timeout_s,
        )
        self._tracer = Tracer(
            self.loop, self._doors, lambda trace: self._outbox.put(trace_record(trace))
        )
        self._probes = Schedule(self.loop, self._probe, random)
        self._traces = Schedule(self.loop, self._tracer.trace, random)
        self._replies = ReplyRoutes(self._responder, self._tracer.trace, random)
        self._cpu, self._steal = CpuSteal(), 0.0
        self._complaints: dict[str, int] = {}
        self._unbound: set[str] = set()
        self._version = _version()

    def run(self) -> None:
        """Serve until the loop is stopped, then hand over everything that was measured."""
        self.loop.every(_SECOND_NS, self._beat)
        self.loop.every(_SECOND_NS, self._replies.turn)
        self.loop.every(60 * _SECOND_NS, self._complain)
        self.loop.run()
        self._outbox.flush()
        self._send_heartbeat(alive=False)
        self._doors.keep_only(())
        self._complain()
        self.loop.close()

    def apply(self, document: PingList | None) -> None:
        """Serve and probe what this list says; None: nobody steers us, probe nobody."""
        if document is None:
            say("error", "probing-stopped", why="the ping list could not be read 3 times in a row")
            self._probe_nobody()
            return
        options = self._options
        document = narrow(document, layer=options.layer, node_id=options.node_id)
        targets, outside = permitted(document.targets, options.allowed)
        if outside:
            say("warning", "targets-refused", count=len(outside), first=outside[0].ip,
                why="outside --allow-cidr")  # fmt: skip
        self._list, self._fabric = document, document.fabric
        flows, peers = self._plan(targets)
        self._doors.devices = {own.ip: own.device for own in document.endpoints if own.device}
        listening = {(own.ip, options.listen_port) for own in document.endpoints}
        self._doors.keep_only(listening.union(flow.src for flow in flows))
        self._bind()
        if not flows:
            say("warning", "probing-stopped", why="the ping list names no target for this agent")
            self._probe_nobody()
            return
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

    def _plan(self, targets: list[Target]) -> tuple[list[FiveTuple], Peers]:
        endpoints = {own.ip: own for own in self._list.endpoints}
        flows: list[FiveTuple] = []
        peers: dict[tuple[str, str], tuple[int, Record]] = {}
        for target in targets:
            columns = common_columns(
                self._fabric, self._options.node_sn, endpoints[target.src_ip], target
            )
            if target.layer == "underlay":
                peers[target.src_ip, target.ip] = (target.dscp, columns)
            flows += [
                FiveTuple((target.src_ip, port), (target.ip, target.port), target.dscp, columns)
                for port in target.src_ports
            ]
        return flows, peers

    def _probe_nobody(self) -> None:
        self._probes.replace([], 1.0)
        self._traces.replace([], 1.0)
        self._replies.replace({}, 0.0, 1.0)
        self._tracer.forget_queue()

    def _probe(self, flow: FiveTuple) -> None:
        self._engine.probe(flow, self._options.burst)

    def _bind(self) -> None:
        """Answer on every own endpoint; one whose address is not there yet is tried again."""
        for own in self._list.endpoints:
            try:
                self._doors.open((own.ip, self._options.listen_port))
            except OSError as why:
                if own.ip not in self._unbound:
                    say("error", "endpoint-not-bound", ip=own.ip, port=self._options.listen_port,
                        why=why.strerror, retry="every second")  # fmt: skip
                self._unbound.add(own.ip)
            else:
                if own.ip in self._unbound:
                    self._unbound.discard(own.ip)
                    say("info", "endpoint-bound", ip=own.ip)

    def _beat(self) -> None:
        self._steal = self._cpu.read()
        if self._unbound:
            self._bind()
        self._publisher.poll()
        self._send_heartbeat(alive=True)

    def _send_heartbeat(self, *, alive: bool) -> None:
        beat = heartbeat(
            self._fabric, self._options.node_sn, self._list.endpoints,
            self._engine.sent, self._engine.answered,
            now_ns=time_ns(), cpu_steal=self._steal, delay_ns=self.loop.take_worst_delay_ns(),
            version=self._version, alive=alive,
        )  # fmt: skip
        self._publisher.publish(topics.HEARTBEATS.name, self._options.node_sn, beat, topics.JSON)

    def _complain(self) -> None:
        """Once a minute: what went wrong that nobody else sees, if there is more of it."""
        now = {f"silent.{why}": count for why, count in self._responder.silent.items()}
        now |= {f"question.{why}": count for why, count in self._doors.counts.items()}
        now |= {
            f"publish.{why}": self._publisher.counts[why]
            for why in ("overflow", "failed", "reconnects")
            if self._publisher.counts[why]
        }
        if self._tracer.dropped:
            now["traces.dropped"] = self._tracer.dropped
        if now.get("silent.stale"):
            now["silent.stale.skew_ms"] = self._responder.last_skew_ns // 1_000_000
        if now != self._complaints:
            say("warning", "complaints", **now)
        self._complaints = now


def _version() -> str:
    try:
        return version("skeletonhunter")
    except PackageNotFoundError:
        return ""
