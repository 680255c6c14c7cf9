"""The agent's counters as samples of the metrics in ``schemas.metrics``, a function per part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from time import monotonic_ns

from probers.agentless.probing import AgentlessProbing
from probers.containers.server import ContainerServer
from probers.health.heartbeat import AgentIdentity
from probers.net.responder import Responder
from probers.net.socket_pool import SocketPool
from probers.ping_list.poller import PingListPoller
from probers.probing.traceroute import Tracer
from probers.probing.udp import UdpEngine
from probers.process.log import lines_lost
from probers.process.loop import Loop
from probers.publishing.publisher import Publisher
from probers.publishing.relay import Relay
from probers.publishing.spool import SpooledPublisher
from probers.rdma.scheduled.probing import RdmaProbing
from schemas.metrics import Metric, Sample
from schemas.metrics import agent as metrics

_PUBLISHED = ("queued", "delivered", "overflow", "failed", "reconnects")


def of_identity(agent: AgentIdentity) -> Iterator[Sample]:
    """Who the agent is and when it started."""
    yield Sample(metrics.AGENT_INFO, 1, (agent.node_sn, agent.scope, agent.instance, agent.version))
    yield Sample(metrics.AGENT_STARTED, agent.started_ns / 1e9)


def of_probing(engine: UdpEngine, tracer: Tracer) -> Iterator[Sample]:
    """Probes by outcome, traces that were dropped."""
    for outcome, value in (
        ("sent", sum(engine.sent.values())),
        ("answered", sum(engine.answered.values())),
        ("stalled", engine.stalled),
        ("withdrawn", engine.withdrawn),
    ):
        yield Sample(metrics.AGENT_PROBES, value, (outcome,))
    yield Sample(metrics.AGENT_TRACES_DROPPED, tracer.dropped)


def of_sockets(sockets: SocketPool, responder: Responder) -> Iterator[Sample]:
    """Open sockets, requests by what happened to them, replies."""
    yield from _by_label(metrics.AGENT_QUESTIONS, sockets.counts, ("over-budget", "send-ENOBUFS"))
    yield Sample(metrics.AGENT_ANSWERS, responder.answered)
    silent = ("not-ours", "bad-mac", "stale", "late", "rate")
    yield from _by_label(metrics.AGENT_SILENT, responder.silent, silent)
    yield Sample(metrics.AGENT_SOCKETS, len(sockets))
    yield Sample(metrics.AGENT_SOCKETS_LIMIT, sockets.max_sockets)
    unopened = Counter(sockets.unopened.values())
    yield from _by_label(metrics.AGENT_UNOPENED, unopened, ("EADDRINUSE",))


def of_rdma(rdma: RdmaProbing) -> Iterator[Sample]:
    """Probes between queue pairs by outcome, answers to those of others, rnics."""
    bursts, rnics = rdma.bursts, [rnic for _, rnic in rdma.rnics]
    for outcome, value in (
        ("sent", sum(bursts.sent.values())),
        ("answered", sum(bursts.answered.values())),
        ("stalled", bursts.stalled),
        ("withdrawn", bursts.withdrawn),
        ("strange", sum(rnic.unmatched for rnic in rnics)),
    ):
        yield Sample(metrics.AGENT_RDMA_PROBES, value, (outcome,))
    yield Sample(metrics.AGENT_RDMA_ANSWERS, rdma.responder.answered, ("answered",))
    unsendable = sum(rnic.unsendable for rnic in rnics)
    yield Sample(metrics.AGENT_RDMA_ANSWERS, unsendable, ("unsendable",))
    yield from _by_label(metrics.AGENT_RDMA_ANSWERS, rdma.responder.silent, ("bad-mac",))
    yield Sample(metrics.AGENT_RDMA_RNICS, len(rnics), ("used",))
    yield Sample(metrics.AGENT_RDMA_RNICS, len(rdma.rnics.unopened), ("unusable",))


def of_agentless(probing: AgentlessProbing) -> Iterator[Sample]:
    """Probes that kernels of peers answer, by engine and outcome."""
    for engine, outcome, value in probing.counts():
        yield Sample(metrics.AGENT_AGENTLESS_PROBES, value, (engine, outcome))


def of_list(
    five_tuples: Counter[str], unbound: Collection[str], in_use: Collection[str], refused: int
) -> Iterator[Sample]:
    """What of the ping list is in effect.

    unbound, in_use  own addresses without a socket; those that another process has
    refused          lists that could not be applied
    """
    for why, value in (("in_use", len(in_use)), ("other", len(unbound) - len(in_use))):
        yield Sample(metrics.AGENT_ENDPOINTS_UNBOUND, value, (why,))
    always = ("probed", "sockets", "forbidden")
    yield from _by_label(metrics.AGENT_FIVE_TUPLES, five_tuples, always)
    yield Sample(metrics.AGENT_LIST, refused, ("refused",))


def of_loop(loop: Loop, delay_ns: int, publisher: Publisher) -> Iterator[Sample]:
    """Published messages, the worst delay of a timer in the last second, failed callbacks."""
    yield from _by_label(metrics.AGENT_PUBLISHED, publisher.counts, _PUBLISHED)
    if isinstance(publisher, SpooledPublisher):
        yield Sample(metrics.AGENT_SPOOL, publisher.left, ("messages",))
        yield Sample(metrics.AGENT_SPOOL, publisher.disk_bytes, ("bytes",))
    yield Sample(metrics.AGENT_DELAY, delay_ns / 1e9)
    yield Sample(metrics.AGENT_LOOP_ERRORS, loop.errors)


def of_threads(poller: PingListPoller, relays: Sequence[Relay]) -> Iterator[Sample]:
    """The parts that run in other threads; may be called in any thread."""
    yield from _by_label(
        metrics.AGENT_LIST, poller.counts, ("read", "failed", "hanging", "unexpected")
    )
    if poller.read_ns:
        yield Sample(metrics.AGENT_LIST_AGE, (monotonic_ns() - poller.read_ns) / 1e9)
    if relays:
        counts = sum((Counter(dict(relay.counts)) for relay in relays), Counter[str]())
        yield from _by_label(metrics.AGENT_RELAY, counts, ("frames", "bytes"))
        yield Sample(metrics.AGENT_RELAY_CONNECTIONS, sum(relay.connections for relay in relays))
        yield Sample(metrics.AGENT_RELAY_BUFFERED, sum(relay.buffered_bytes for relay in relays))
    yield Sample(metrics.AGENT_LOG_LOST, lines_lost())


def of_throughput(counts: Counter[str]) -> Iterator[Sample]:
    """Seconds of rnics whose throughput was measured, or why not."""
    yield from _by_label(metrics.AGENT_THROUGHPUT, counts, ())


def of_containers(server: ContainerServer) -> Iterator[Sample]:
    """Connections of containers."""
    yield Sample(metrics.AGENT_CONTAINERS, server.connections)
    yield from _by_label(metrics.AGENT_CONTAINER_EVENTS, server.counts, ("accepted", "malformed"))


def _by_label(metric: Metric, counts: Counter[str], always: tuple[str, ...]) -> Iterator[Sample]:
    """A sample per key; the keys in ``always`` also while they are 0, so that they are known."""
    now = dict(counts)  # in one step: another thread may add a key meanwhile
    for key in sorted({*now, *always}):
        yield Sample(metric, now.get(key, 0), (key,))
