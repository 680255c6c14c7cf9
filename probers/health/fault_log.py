"""Logs once a minute the faults that no record shows, when there are new ones."""

from __future__ import annotations

from collections.abc import Callable

from probers.net.responder import Responder
from probers.net.socket_pool import SocketPool
from probers.probing.traceroute import Tracer
from probers.probing.udp import UdpEngine
from probers.process.log import log_event
from probers.process.loop import Loop
from probers.publishing.publisher import Publisher

Faults = dict[str, int]


class FaultLog:
    """Writes the event ``complaints`` with all counts whenever one of them has changed."""

    def __init__(self, read: Callable[[], Faults]) -> None:
        self._read = read
        self._last: Faults = {}

    def write(self) -> None:
        """Log the faults unless they are those of the last call; called once a minute."""
        faults = self._read()
        if faults != self._last:
            log_event("warning", "complaints", **faults)
        self._last = faults


def count_faults(
    loop: Loop,
    sockets: SocketPool,
    responder: Responder,
    engine: UdpEngine,
    tracer: Tracer,
    publisher: Publisher,
) -> Faults:
    """Everything since the start that went wrong, by name; without the counts that are 0."""
    faults = {f"silent.{why}": count for why, count in responder.silent.items()}
    faults |= {f"question.{why}": count for why, count in sockets.counts.items()}
    published = ("overflow", "failed", "reconnects")
    faults |= {f"publish.{why}": publisher.counts[why] for why in published}
    faults |= {
        "traces.dropped": tracer.dropped,
        "probes.stalled": engine.stalled,
        "sources.unopened": len(sockets.unopened),
        "callbacks.failed": loop.errors,
    }
    faults = {name: count for name, count in faults.items() if count}
    if "silent.stale" in faults:
        faults["silent.stale.skew_ms"] = responder.last_skew_ns // 1_000_000
    return faults
