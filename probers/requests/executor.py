"""Does what the controller asks, in the agent's loop, within the agent's own limits.

A request runs at its own pace beside the ping list, over the same engine: its probes and routes are
ordinary records. It ends when all is done, when it expires, when the controller withdraws it, or
when the list no longer permits it; evidence says which.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from time import monotonic_ns, time_ns
from typing import Final

import msgspec

from probers.net.five_tuple import FiveTuple
from probers.net.packet import Address
from probers.ping_list import document as ping_list
from probers.probing.traceroute import Trace
from probers.probing.udp import Burst
from probers.process.log import log_event
from probers.process.loop import Loop
from probers.publishing.record import common_columns
from probers.requests.checks import Load, Own, concerns, refusal
from probers.requests.host_facts import HostFacts, in_thread
from probers.requests.limits import DEFAULT, RequestLimits
from probers.requests.running import Running
from schemas.documents.requests.evidence import Evidence, State
from schemas.documents.requests.request import SENDING, Request
from schemas.documents.times import milliseconds_of
from schemas.metrics import Sample
from schemas.metrics import agent as metrics

TICK_NS: Final = 500_000_000
_PROBE_GRACE_NS: Final = 2_000_000_000  # after the last probe, for its answer or time-out
OUTCOMES: Final = ("taken", "complete", "refused", "expired", "withdrawn")


class RequestExecutor:
    """Runs requests; ``offer`` may be called in any thread, all else in the loop's.

    own      what the agent serves now
    probe    sends one probe of a five-tuple; its end is reported to ``burst_done``
    trace    begins a traceroute; its end is reported to ``trace_done``
    publish  takes evidence
    release  called when sockets of ended requests may be closed
    counts   see OUTCOMES: taken = the others + those that run
    readings  of the client that asks for them
    """

    def __init__(
        self,
        loop: Loop,
        own: Callable[[], Own],
        probe: Callable[[FiveTuple], None],
        trace: Callable[[FiveTuple], None],
        publish: Callable[[Evidence], None],
        release: Callable[[], None],
        *,
        facts: HostFacts | None = None,
        limits: RequestLimits = DEFAULT,
        now: Callable[[], int] = monotonic_ns,
        wall: Callable[[], int] = time_ns,
        in_thread: Callable[[Callable[[], None]], None] = in_thread,
    ) -> None:
        self._loop, self._own, self._probe, self._trace = loop, own, probe, trace
        self._publish, self._release, self._limits = publish, release, limits
        self._facts = facts or HostFacts(limits=limits)
        self._now, self._wall, self._in_thread = now, wall, in_thread
        self._running: dict[str, Running] = {}
        self._of_flow: dict[int, Running] = {}
        self._seen: dict[str, int] = {}
        self._offered: Sequence[Request] = ()
        self.counts: Counter[str] = Counter()
        self.readings: Counter[str] = Counter()

    @property
    def addresses(self) -> set[Address]:
        """Source addresses whose sockets the running requests need."""
        return {flow.src for each in self._running.values() for flow in each.flows}

    def offer(self, requests: Sequence[Request]) -> None:
        """All open requests of this host: new ones begin, running ones that are not among them
        end. Safe in any thread."""
        self._loop.post(lambda: self._apply(requests))

    def burst_done(self, burst: Burst) -> None:
        """A probe has ended, of a request or of the ping list."""
        if self._of_flow and (running := self._of_flow.get(id(burst.flow))) is not None:
            running.burst_done(burst, self._limits.results)

    def trace_done(self, trace: Trace) -> None:
        """A traceroute has ended, of a request or of the ping list."""
        if (running := self._of_flow.get(id(trace.flow))) is not None:
            running.trace_done(trace, self._limits.results)

    def list_changed(self) -> None:
        """The ping list is another one, or is lost: what it does not permit any more ends."""
        own = self._own()
        self._facts.learn_rnics({each.real_ip for each in own.document.endpoints})
        for running in list(self._running.values()):
            why = refusal(running.request, own, Load(), self._limits)
            if why is not None:
                self._end(running, "withdrawn", why)
        self._apply(self._offered)  # those that came before the first list

    def tick(self) -> None:
        """Publish what came, end what is over; must be called every TICK_NS."""
        now_ns = self._now()
        for running in list(self._running.values()):
            grace_ns = _PROBE_GRACE_NS if running.request.kind == "probe" else None
            over = running.ended_ns > 0
            if over and running.results >= running.total:
                self._end(running, "complete")
            elif over and grace_ns is not None and now_ns - running.ended_ns >= grace_ns:
                missing = running.total - running.results
                self._end(running, "complete", f"{missing} probes were not sent")
            elif now_ns >= running.until_ns:
                self._end(running, "expired", "its time is over")
            elif running.waiting:
                self._publish(running.evidence("running", self._wall()))
        wall_ns = self._wall()
        for name in [name for name, expires_ns in self._seen.items() if expires_ns < wall_ns]:
            del self._seen[name]

    def samples(self) -> Iterator[Sample]:
        """Requests by outcome, and those that run."""
        for outcome in OUTCOMES:
            yield Sample(metrics.AGENT_REQUESTS, self.counts[outcome], (outcome,))
        yield Sample(metrics.AGENT_REQUESTS_RUNNING, len(self._running))
        for outcome in ("read", "failed", "invalid"):
            yield Sample(metrics.AGENT_REQUEST_READINGS, self.readings[outcome], (outcome,))

    def _apply(self, requests: Sequence[Request]) -> None:
        self._offered = requests
        if self._own().document.node_sn != self._own().node_sn:  # there is no list yet
            return
        open_ids = {each.request_id for each in requests}
        for running in [r for name, r in self._running.items() if name not in open_ids]:
            self._end(running, "withdrawn", "the controller has withdrawn it")
        for request in requests:
            if request.request_id not in self._seen:
                if len(self._seen) >= self._limits.remembered:
                    log_event("warning", "request-ignored", why="too many in a short time")
                    return
                self._take(request)

    def _take(self, request: Request) -> None:
        self._seen[request.request_id] = expires_ns = milliseconds_of(request.expires) * 1_000_000
        if not concerns(request, self._own()):
            return
        self.counts["taken"] += 1
        left_ns = min(expires_ns - self._wall(), int(self._limits.longest_s * 1e9))
        running = Running(request, [], self._now() + left_ns)
        why = refusal(request, self._own(), self._load(), self._limits) or self._without(request)
        if left_ns <= 0:
            self._finish(running, "expired", "it had expired when it came")
        elif why is not None:
            self._finish(running, "refused", why)
        else:
            log_event("info", "request", id=request.request_id, kind=request.kind,
                      five_tuples=request.five_tuples, why=request.reason)  # fmt: skip
            if request.kind in SENDING:
                running.flows = self._flows(request)
                self._of_flow |= {id(flow): running for flow in running.flows}
            self._running[request.request_id] = running
            self._turn(running, self._now())

    def _without(self, request: Request) -> str | None:
        if request.kind == "flow_table" and not self._facts.commands:
            return "no --flow-table-command is configured on this host"
        return None

    def _load(self) -> Load:
        requests = [each.request for each in self._running.values()]
        sending = [each for each in requests if each.kind in SENDING]
        return Load(
            len(requests),
            sum(each.rate for each in sending),
            sum(each.five_tuples for each in sending),
        )

    def _flows(self, request: Request) -> list[FiveTuple]:
        """Its five-tuples, in turns over the targets."""
        own = self._own()
        endpoints = {each.ip: each for each in own.document.endpoints}
        found = []
        for each in request.targets:
            target = msgspec.convert(msgspec.structs.asdict(each), ping_list.Target)
            columns = common_columns(
                own.document.fabric, own.node_sn, endpoints[each.src_ip], target
            )
            found += [
                FiveTuple((each.src_ip, port), (each.ip, each.port), each.dscp, columns)
                for port in each.src_ports
            ]
        return found

    def _turn(self, running: Running, due_ns: int) -> None:
        """The turn that is due; a late one does not make the next ones come faster."""
        if self._running.get(running.request.request_id) is not running:
            return
        if self._now() >= running.until_ns:
            self._end(running, "expired", "its time is over")
            return
        number, running.turns = running.turns, running.turns + 1
        if running.turns < running.total:
            next_ns = max(due_ns + running.spacing_ns, self._now())
            self._loop.call_at(next_ns, lambda: self._turn(running, next_ns))
        else:
            running.ended_ns = self._now()
        match running.request.kind:
            case "probe":
                self._probe(running.flows[number % len(running.flows)])
            case "traceroute":
                self._trace(running.flows[number])
            case "counters":
                self._in_thread(lambda: self._read_counters(running))
            case "flow_table":
                self._in_thread(lambda: self._read_flow_table(running))

    def _read_counters(self, running: Running) -> None:
        """In a thread of its own."""
        try:
            found = self._facts.counters()
        except Exception as why:  # whatever a driver does costs this reading only
            self._fail(running, why)
            return

        def add() -> None:
            running.results += 1
            running.counters += found

        self._loop.post(add)

    def _read_flow_table(self, running: Running) -> None:
        """In a thread of its own."""
        try:
            text, cut = self._facts.flow_table()
        except Exception as why:  # whatever the command does costs this request only
            self._fail(running, why)
            return

        def add() -> None:
            running.results += 1
            if running.flow_table:  # the one before is in no evidence yet: each has its own
                self._publish(running.evidence("running", self._wall()))
            running.flow_table, running.truncated = text, cut

        self._loop.post(add)

    def _fail(self, running: Running, why: Exception) -> None:
        reason = f"{running.request.kind} cannot be read: {why}"[:300]

        def end() -> None:
            if self._running.get(running.request.request_id) is running:
                self._end(running, "refused", reason)

        self._loop.post(end)

    def _end(self, running: Running, state: State, reason: str = "") -> None:
        del self._running[running.request.request_id]
        for flow in running.flows:
            del self._of_flow[id(flow)]
        self._finish(running, state, reason)
        if running.flows:
            self._release()

    def _finish(self, running: Running, state: State, reason: str) -> None:
        self.counts[state] += 1
        if state != "complete":
            log_event("info", f"request-{state}", id=running.request.request_id, why=reason)
        self._publish(running.evidence(state, self._wall(), reason))
