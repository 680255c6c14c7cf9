"""What serves beside the loop, each in a thread of its own: list, relays, requests, health, ..."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from dataclasses import replace

from probers.agent.agent import Agent
from probers.agent.list_source import ListSource
from probers.command_line.options import Options
from probers.containers.server import ContainerServer
from probers.health.access import HealthAccess
from probers.health.pages import Pages
from probers.health.server import HealthServer
from probers.publishing.frames import MAX_FRAME_BYTES
from probers.publishing.publisher import Publisher
from probers.publishing.relay import Headers, Identify, Relay, RelayError
from probers.publishing.relay.limits import Limits
from probers.requests.client import RequestClient
from probers.throughput.port_counters import PortCounters
from probers.throughput.reporter import ThroughputReporter
from schemas import topics
from schemas.documents.requests.request import Request


class Threads:
    """Relays and health server serve at once, the others from ``start`` on."""

    def __init__(
        self,
        options: Options,
        publisher: Publisher,
        agent: Agent,
        lists: ListSource,
        containers: ContainerServer | None,
        connections: int,
    ) -> None:
        """``connections``: of relays at most, together; raises RelayError."""
        self._lists, self._containers = lists, containers
        identify = None if containers is None else containers.client_of
        self._relays = _relays(options, publisher, connections, identify)
        self._throughput = _throughput(options, publisher, agent)
        self.requests = _requests(options, agent, containers)
        self._health: HealthServer | None = None
        if options.health_listen is not None:
            pages = Pages(agent.status, lists.poller, self._relays, self._throughput, containers)
            host, port = options.health_listen
            access = HealthAccess.of(
                host, options.health_from, (socket.gethostname(), options.node_sn)
            )
            self._health = HealthServer(host, port, pages, access=access).start()
        self._closed = False

    def start(self) -> None:
        """Read lists and requests, measure throughput, let containers in."""
        self._lists.start()
        if self._containers is not None:
            self._containers.start()
        if self.requests is not None:
            self.requests.start()
        if self._throughput is not None:
            self._throughput.start()

    def close(self) -> None:
        """End all of them; again: nothing happens."""
        if self._closed:
            return
        self._closed = True
        self._lists.stop()
        if self._containers is not None:
            self._containers.close()
        if self.requests is not None:
            self.requests.stop()
        if self._throughput is not None:
            self._throughput.close()
        if self._health is not None:
            self._health.close()
        for relay in self._relays:
            relay.close()


def _throughput(options: Options, publisher: Publisher, agent: Agent) -> ThroughputReporter | None:
    if options.throughput is None:
        return None
    return ThroughputReporter(
        publisher, options.node_sn, options.encoding, lambda: agent.status.job_rnics,
        PortCounters(options.throughput, options.throughput_sources),
    )  # fmt: skip


def _requests(
    options: Options, agent: Agent, containers: ContainerServer | None
) -> RequestClient | None:
    """Asks the controller for requests, where there is one and the agent may do some; agents inside
    containers do theirs."""
    if not options.controllers or not options.request_rate:
        return None

    def offer(requests: Sequence[Request]) -> None:
        agent.requests.offer(requests)
        if containers is not None:
            containers.ask(requests)

    return RequestClient(
        options.controllers, options.node_sn, options.token, offer, agent.requests.readings
    )


def _relays(
    options: Options, publisher: Publisher, connections: int, identify: Identify | None
) -> list[Relay]:
    def pass_on(topic: str, key: str, headers: Headers, payload: bytes) -> None:
        content_type = headers.pop(topics.CONTENT_TYPE).decode()
        publisher.publish(topic, key, payload, content_type, headers)

    defaults = Limits()
    count = max(1, len(options.relay_listen))  # all relays together have the bounds of one
    limits = replace(
        defaults,
        connections=max(1, connections // count),
        buffered_bytes=max(MAX_FRAME_BYTES, defaults.buffered_bytes // count),
        total_bytes_per_s=defaults.total_bytes_per_s / count,
    )
    started: list[Relay] = []
    try:
        for path, client in options.relay_listen:
            relay = Relay(
                path, pass_on, node_sn=options.node_sn, client=client, limits=limits,
                identify=identify if client is None else None,
            )  # fmt: skip
            started.append(relay.start())
    except RelayError:
        for relay in started:
            relay.close()
        raise
    return started
