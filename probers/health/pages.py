"""The pages of --health-listen: /metrics, /healthz, /readyz."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from time import monotonic_ns
from typing import Final

from probers.containers.server import ContainerServer
from probers.health import counters, exposition
from probers.health.server import Page
from probers.health.status import AgentStatus
from probers.ping_list.poller import PingListPoller
from probers.publishing.relay import Relay
from probers.throughput.reporter import ThroughputReporter
from schemas.metrics import Sample
from schemas.metrics import agent as metrics

#: The loop ticks every second; after this time without a tick the agent is not alive.
MAX_AGE_S: Final = 10.0
_TEXT: Final = "text/plain; charset=utf-8"


class Pages:
    """Built from the loop's last status: a hanging loop is detected, and a running one is not
    disturbed by requests."""

    def __init__(
        self,
        status: AgentStatus,
        poller: PingListPoller,
        relays: Sequence[Relay] = (),
        throughput: ThroughputReporter | None = None,
        containers: ContainerServer | None = None,
        now_ns: Callable[[], int] = monotonic_ns,
    ) -> None:
        self._status, self._poller, self._relays, self._now_ns = status, poller, relays, now_ns
        self._throughput, self._containers = throughput, containers

    def __call__(self, path: str, requests: Counter[str]) -> Page:
        """The page at ``path``; ``requests``: the server's counts so far."""
        if path == "/metrics":
            return Page(200, exposition.CONTENT_TYPE, self._metrics(requests))
        if path == "/healthz":
            return _page(self._not_alive())
        if path == "/readyz":
            return _page(self._not_ready())
        return Page(404, _TEXT, b"/metrics, /healthz and /readyz are here\n")

    def _metrics(self, requests: Counter[str]) -> bytes:
        samples = [*self._status.samples, *counters.of_threads(self._poller, self._relays)]
        if self._throughput is not None:
            samples += counters.of_throughput(self._throughput.counts)
        if self._containers is not None:
            samples += counters.of_containers(self._containers)
        samples.append(Sample(metrics.AGENT_READY, self._not_ready() is None))
        for outcome in ("served", "refused", "failed"):
            samples.append(Sample(metrics.AGENT_HEALTH_REQUESTS, requests[outcome], (outcome,)))
        return exposition.render(samples)

    def _not_alive(self) -> str | None:
        age_s = (self._now_ns() - self._status.tick_ns) / 1e9
        if age_s > MAX_AGE_S:
            return f"the agent's event loop has not run for {age_s:.0f} s"
        return None

    def _not_ready(self) -> str | None:
        why = self._not_alive() or self._status.stopped_why
        if why is not None and self._poller.last_error and self._poller.last_error not in why:
            why = f"{why}; {self._poller.last_error}"
        return why


def _page(why_not: str | None) -> Page:
    if why_not is None:
        return Page(200, _TEXT, b"ok\n")
    return Page(503, _TEXT, why_not.encode(errors="replace") + b"\n")
