"""What the agent does with RDMA: rnics, flows and schedule of the list in effect."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random

from probers.net.five_tuple import FiveTuple
from probers.net.packet import Address, Key
from probers.net.responder import Responder
from probers.net.socket_pool import SocketPool
from probers.ping_list.document import PingList, Target
from probers.probing.schedule import Schedule
from probers.probing.traceroute import Trace
from probers.probing.udp import Burst
from probers.process.log import log_event
from probers.process.loop import Loop
from probers.publishing.record import common_columns
from probers.rdma.packet import ROCE_PORT, QpAddress
from probers.rdma.scheduled import routes
from probers.rdma.scheduled.bursts import Aim, RdmaBursts
from probers.rdma.scheduled.peers import PeerQueuePairs, Question
from probers.rdma.scheduled.rnic import OpenPort, RdmaOptions, Rnics, open_port


class RdmaProbing:
    """Must be called in the loop's thread.

    Each own queue pair of an rnic probes each underlay target of that rnic. ``responder`` answers
    peers' questions for queue pairs over UDP; RDMA probes are answered at the same rates.
    """

    def __init__(
        self,
        loop: Loop,
        key: Key,
        sockets: SocketPool,
        responder: Responder,
        options: RdmaOptions,
        random: Random,
        on_done: Callable[[Burst], None],
        *,
        now: Callable[[], int],
        listen_port: int,
        burst: int,
        timeout_s: float,
        answer_rate: float,
        retry_s: float = 10.0,
        open_port: OpenPort = open_port,
    ) -> None:
        """now      the loop's clock [monotonic ns]
        retry_s  between two attempts to open an rnic
        """
        self.responder = Responder(key, rate=answer_rate, burst=2 * answer_rate)
        self.rnics = Rnics(
            loop, key, self.responder, options,
            timeout_s=timeout_s, retry_s=retry_s, open_port=open_port,
        )  # fmt: skip
        responder.queue_pair = self.rnics.queue_pair
        self._peers = PeerQueuePairs(loop, sockets, timeout_s=timeout_s)
        self.bursts = RdmaBursts(
            self.rnics.get, self._peers, lambda: sockets.within_budget(now()), on_done
        )
        self._probes = Schedule(loop, self._probe, random)
        self._listen_port, self._burst = listen_port, burst
        self._aims: dict[FiveTuple, Aim] = {}
        self._traced: dict[FiveTuple, set[int]] = {}  # -> queue pairs of the peer that it answered
        #: Called when rnics were opened later: the list has to be applied again.
        self.on_change: Callable[[], None] = lambda: None

    @property
    def flows(self) -> list[FiveTuple]:
        """The five-tuples in effect."""
        return list(self._aims)

    @property
    def sources(self) -> set[Address]:
        """Addresses from which traceroutes are sent."""
        return {flow.src for flow in self._aims}

    def plan(self, document: PingList, targets: Iterable[Target], node_sn: str) -> None:
        """Open the list's rnics and find its five-tuples; ``start`` probes them."""
        own = {each.ip: each for each in document.endpoints if each.layer == "underlay"}
        self.rnics.replace(list(own))
        self._aims = {}
        for target in targets:
            by_rdma = target.layer == "underlay" and target.agent
            rnic = self.rnics.get(target.src_ip) if by_rdma else None
            if rnic is None:
                continue
            columns = common_columns(document.fabric, node_sn, own[target.src_ip], target)
            asks = (target.src_ip, self._listen_port), (target.ip, target.port)
            for which, port in enumerate(rnic.source_ports):
                flow = FiveTuple(
                    (target.src_ip, port), (target.ip, ROCE_PORT), target.dscp, columns
                )
                self._aims[flow] = Aim(which, Question(*asks, which))
        self._peers.retain({aim.peer for aim in self._aims.values()})
        self._traced = {flow: seen for flow, seen in self._traced.items() if flow in self._aims}

    def start(self, interval_s: float) -> None:
        """Probe the planned five-tuples, each once per interval."""
        self._probes.replace(self.flows, interval_s)
        if self._aims:
            log_event("info", "rdma-probing", five_tuples=len(self._aims),
                      interval_s=round(interval_s, 3))  # fmt: skip

    def stop(self) -> None:
        """Probe nothing; go on answering."""
        self._aims = {}
        self._probes.replace([], 1.0)

    def tick(self) -> None:
        """Try again to open rnics; must be called once a second."""
        if self.rnics.retry():
            self.on_change()

    def traceable(self, flow: FiveTuple) -> bool:
        """Whether a traceroute of the five-tuple can be completed now; then it counts as traced.
        One that is not over RDMA always can."""
        aim = self._aims.get(flow)
        if aim is None:
            return True
        if self._peers.known(aim.peer) is None:
            return False
        self._traced[flow] = routes.answered(self.responder).get(self._ends(flow, aim), set())
        return True

    def untraced(self, most: int) -> list[FiveTuple]:
        """Five-tuples to be traced at once, at most so many: their peer's queue pair was learnt, or
        they carry answers to a queue pair that was not known."""
        found: list[FiveTuple] = []
        answered = routes.answered(self.responder)
        for flow, aim in self._aims.items():
            if len(found) == most:
                break
            seen = self._traced.get(flow)
            new = seen is None or answered.get(self._ends(flow, aim), set()) - seen
            if new and self.traceable(flow):
                found.append(flow)
        return found

    def complete(self, trace: Trace, on_trace: Callable[[Trace], None]) -> None:
        """Pass on a traceroute: of an RDMA five-tuple when it is complete, and as that of replies
        too; any other at once."""
        flow = trace.flow
        aim, rnic = self._aims.get(flow), self.rnics.get(flow.src[0])
        target = None if aim is None else self._peers.known(aim.peer)
        if aim is None or rnic is None or target is None:
            on_trace(trace)
            return
        own = rnic.queue_pairs[aim.own]

        def on_done(done: Trace) -> None:
            on_trace(done)
            for reply in list(routes.as_replies(done, own, self.responder)):
                on_trace(reply)

        routes.complete(trace, rnic, aim.own, target, on_done)

    def close(self) -> None:
        """Release all devices."""
        self.stop()
        self.rnics.replace([])

    def _ends(self, flow: FiveTuple, aim: Aim) -> tuple[QpAddress | None, str]:
        """The own queue pair of a five-tuple, and the peer's address."""
        rnic = self.rnics.get(flow.src[0])
        return None if rnic is None else rnic.queue_pairs[aim.own], flow.dst[0]

    def _probe(self, flow: FiveTuple) -> None:
        if (aim := self._aims.get(flow)) is not None:
            self.bursts.probe(flow, aim, self._burst)
