"""The HTTP applications of a process: the API, or health and metrics of a part that runs alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from api.app import LOOPBACK, create_app
from api.monitoring import Monitoring
from streams import counters

if TYPE_CHECKING:
    from fastapi import FastAPI

    from controller.service.site import Site
    from schemas.metrics import Source
    from skeletonhunter.services.controller.pods import FollowedPods
    from store.client import Store
    from store.read_only import ReadOnlySql
    from streams.sink.sink import Sink
    from streams.worker import StreamWorker


def make_api(
    store: Store,
    sink: Sink | None = None,
    worker: StreamWorker | None = None,
    site: Site | None = None,
    *,
    further: Sequence[Source] = (),
    host_names: Sequence[str] = (),
    people_sql: ReadOnlySql | None = None,
) -> FastAPI:
    """The API over a store.

    sink, worker, site  given when they, or the controller, run in this process: /metrics then has
                        their counters, and /readyz asks them
    further     more sources of metrics
    host_names  names besides loopback under which the API answers
    people_sql  answers /api/v1/sql; None: it is switched off
    """
    sources: list[Source] = [*further]
    ready: list[Callable[[], str | None]] = []
    if sink is not None:
        sources.append(sink.samples)
        ready.append(sink.not_ready)
    if worker is not None:
        sources.append(lambda: counters.samples(worker))
        ready.append(worker.not_ready)
    if site is not None:
        sources.append(site.samples)
        ready.append(site.not_ready)
    return create_app(
        store, counters=sources, ready=ready, allowed_hosts=(*LOOPBACK, *host_names),
        people_sql=people_sql,
    )  # fmt: skip


def worker_monitoring(worker: StreamWorker) -> Monitoring:
    """Health and metrics of a stream worker that runs alone."""
    return Monitoring([lambda: counters.samples(worker)], [worker.not_ready])


def sink_monitoring(sink: Sink) -> Monitoring:
    """Health and metrics of a sink that runs alone."""
    return Monitoring([sink.samples], [sink.not_ready])


def controller_monitoring(
    site: Site, pods: FollowedPods | None = None, further: Sequence[Source] = ()
) -> Monitoring:
    """Health and metrics of the controller, and of its source of pods where it has one."""
    sources: list[Source] = [site.samples, *further]
    if pods is not None:
        sources.append(pods.source.samples)
    return Monitoring(sources, [site.not_ready])
