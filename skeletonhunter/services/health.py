"""Liveness, readiness and metrics of a part, served on a port and a thread of their own."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from skeletonhunter import terminal
from skeletonhunter.errors import BadInput

if TYPE_CHECKING:
    from api.monitoring import Monitoring
    from skeletonhunter.settings import Settings

#: Default of SKH_HEALTH_PORT, by part; the page has 8765.
PORTS: Final = {
    "api": 8766, "stream": 8767, "sink": 8768, "controller": 8769, "notify": 8771,
}  # fmt: skip
OFF: Final = -1


@contextlib.contextmanager
def served(config: Settings, part: str, monitoring: Monitoring) -> Iterator[str | None]:
    """Serve /healthz, /readyz and /metrics of ``part`` while the block runs.

    Yields the URL, None when SKH_HEALTH_PORT is -1. A default port that is taken is replaced by a
    free one, so that many workers fit on a host. A port that SKH_HEALTH_PORT names is the one that
    probes ask: raises BadInput when it is taken.
    """
    from api.routes.monitoring_app import monitoring_app
    from api.serving import ThreadServer, listen

    if config.health_port == OFF:
        yield None
        return
    chosen = config.health_port
    port = PORTS[part] if chosen is None else chosen
    try:
        listener, moved = listen(config.health_host, port, or_any=chosen is None)
    except OSError as why:
        where = f"{config.health_host}:{port}"
        raise BadInput(f"SKH_HEALTH_HOST, SKH_HEALTH_PORT: {where}: {why.strerror}") from why
    server = ThreadServer(monitoring_app(monitoring), listener)
    server.start()
    moving = f" (port {port} is taken)" if moved and port else ""
    terminal.announce(f"health and metrics {server.url}{moving}")
    try:
        yield server.url
    finally:
        server.close()
