"""What an agent answers on --health-listen: /metrics, /healthz, /readyz."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from time import monotonic_ns
from typing import Final

from probers.agent.agent import Agent
from probers.agent.poller import PingListPoller
from probers.health import counters, exposition
from probers.health.server import Page
from probers.publishing.relay import Relay
from schemas import metrics
from schemas.metrics import Sample

#: The loop turns every second; so long without a turn and the agent does not live.
MAX_AGE_S: Final = 10.0
_TEXT: Final = "text/plain; charset=utf-8"


class Pages:
    """Answers from what the loop left behind at its last turn: a loop that hangs is seen, and is
    not disturbed by who looks."""

    def __init__(
        self,
        agent: Agent,
        watch: PingListPoller,
        relays: Sequence[Relay] = (),
        now_ns: Callable[[], int] = monotonic_ns,
    ) -> None:
        self._agent, self._watch, self._relays, self._now_ns = agent, watch, relays, now_ns

    def __call__(self, path: str, requests: Counter[str]) -> Page:
        """The page at ``path``; ``requests``: what the server has counted so far."""
        if path == "/metrics":
            return Page(200, exposition.CONTENT_TYPE, self._metrics(requests))
        if path == "/healthz":
            return _page(self._not_alive())
        if path == "/readyz":
            return _page(self._not_ready())
        return Page(404, _TEXT, b"/metrics, /healthz and /readyz are here\n")

    def _metrics(self, requests: Counter[str]) -> bytes:
        samples = [*self._agent.samples, *counters.of_threads(self._watch, self._relays)]
        samples.append(Sample(metrics.AGENT_READY, self._not_ready() is None))
        for outcome in ("served", "refused", "failed"):
            samples.append(Sample(metrics.AGENT_HEALTH_REQUESTS, requests[outcome], (outcome,)))
        return exposition.render(samples)

    def _not_alive(self) -> str | None:
        age_s = (self._now_ns() - self._agent.turned_at_ns) / 1e9
        if age_s > MAX_AGE_S:
            return f"the agent's loop has not turned for {age_s:.0f} s"
        return None

    def _not_ready(self) -> str | None:
        why = self._not_alive() or self._agent.closed_why
        if why is not None and self._watch.why and self._watch.why not in why:
            why = f"{why}; {self._watch.why}"
        return why


def _page(why_not: str | None) -> Page:
    if why_not is None:
        return Page(200, _TEXT, b"ok\n")
    return Page(503, _TEXT, why_not.encode(errors="replace") + b"\n")
