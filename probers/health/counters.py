"""What an agent has counted, as samples of the metrics in ``schemas.metrics``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from time import monotonic_ns
from typing import TYPE_CHECKING

from probers.agent.log import lines_lost
from probers.agent.poller import PingListPoller
from probers.publishing.relay import Relay
from schemas import metrics
from schemas.metrics import Metric, Sample

if TYPE_CHECKING:
    from probers.agent.agent import Agent

_PUBLISHED = ("queued", "delivered", "overflow", "failed", "reconnects")


def of_agent(agent: Agent) -> Iterator[Sample]:
    """Of what runs in the loop's thread, to be called there."""
    yield Sample(metrics.AGENT_INFO, 1, (agent.node_sn, agent.scope, agent.instance, agent.version))
    yield Sample(metrics.AGENT_STARTED, agent.started_ns / 1e9)
    engine, doors = agent.engine, agent.doors
    for outcome, value in (
        ("sent", sum(engine.sent.values())),
        ("answered", sum(engine.answered.values())),
        ("stalled", engine.stalled),
        ("withdrawn", engine.withdrawn_count),
    ):
        yield Sample(metrics.AGENT_PROBES, value, (outcome,))
    yield from _by_label(metrics.AGENT_QUESTIONS, doors.counts, ("over-budget", "send-ENOBUFS"))
    yield Sample(metrics.AGENT_ANSWERS, agent.responder.answered)
    silent = ("not-ours", "bad-mac", "stale", "late", "rate")
    yield from _by_label(metrics.AGENT_SILENT, agent.responder.silent, silent)
    yield Sample(metrics.AGENT_SOCKETS, len(doors))
    yield Sample(metrics.AGENT_SOCKETS_LIMIT, doors.max_sockets)
    yield from _by_label(metrics.AGENT_UNOPENED, Counter(doors.unopened.values()), ("EADDRINUSE",))
    for why, value in (
        ("in_use", len(agent.in_use)),
        ("other", len(agent.unbound) - len(agent.in_use)),
    ):
        yield Sample(metrics.AGENT_ENDPOINTS_UNBOUND, value, (why,))
    yield from _by_label(
        metrics.AGENT_FIVE_TUPLES, agent.five_tuples, ("probed", "sockets", "forbidden")
    )
    yield Sample(metrics.AGENT_TRACES_DROPPED, agent.tracer.dropped)
    yield Sample(metrics.AGENT_LIST, agent.lists_refused, ("refused",))
    yield from _by_label(metrics.AGENT_PUBLISHED, agent.publisher.counts, _PUBLISHED)
    yield Sample(metrics.AGENT_DELAY, agent.delay_ns / 1e9)
    yield Sample(metrics.AGENT_LOOP_ERRORS, agent.loop.errors)


def of_threads(watch: PingListPoller, relays: Sequence[Relay]) -> Iterator[Sample]:
    """Of what runs in other threads; may be called in any."""
    yield from _by_label(
        metrics.AGENT_LIST, watch.counts, ("read", "failed", "hanging", "unexpected")
    )
    if watch.read_at_ns:
        yield Sample(metrics.AGENT_LIST_AGE, (monotonic_ns() - watch.read_at_ns) / 1e9)
    if relays:
        counts = sum((Counter(dict(relay.counts)) for relay in relays), Counter[str]())
        yield from _by_label(metrics.AGENT_RELAY, counts, ("frames", "bytes"))
        yield Sample(metrics.AGENT_RELAY_CONNECTIONS, sum(relay.connections for relay in relays))
        yield Sample(metrics.AGENT_RELAY_BUFFERED, sum(relay.buffered_bytes for relay in relays))
    yield Sample(metrics.AGENT_LOG_LOST, lines_lost())


def _by_label(metric: Metric, counts: Counter[str], always: tuple[str, ...]) -> Iterator[Sample]:
    """A sample for each key; those in ``always`` also while they are 0, so that they are known."""
    now = dict(counts)  # in one step: the thread that counts may add a key meanwhile
    for key in sorted({*now, *always}):
        yield Sample(metric, now.get(key, 0), (key,))
