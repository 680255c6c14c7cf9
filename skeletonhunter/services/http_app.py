"""The HTTP applications of a process: the API, or health and metrics of a part that runs alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from api.monitoring import Monitoring
from skeletonhunter import malloc
from streams import counters

if TYPE_CHECKING:
    from fastapi import FastAPI

    from controller.service.site import Site
    from schemas.metrics import Source
    from skeletonhunter.services.api_access import ApiAccess
    from skeletonhunter.services.controller.pods import FollowedPods
    from store.client import Store
    from store.read_only import ReadOnlySql
    from streams.sink.sink import Sink
    from streams.worker import StreamWorker

#: Age up to which the API gives an answer again [s]: incidents are stored about once a second.
_KEEP_S: Final = 1.0


def make_api(
    store: Store,
    sink: Sink | None = None,
    worker: StreamWorker | None = None,
    site: Site | None = None,
    *,
    further: Sequence[Source] = (),
    host_names: Sequence[str] = (),
    access: ApiAccess | None = None,
    people_sql: ReadOnlySql | None = None,
) -> FastAPI:
    """The API over a store.

    sink, worker, site  given when they, or the controller, run in this process: /metrics then has
                        their counters, and /readyz asks them
    further     more sources of metrics
    host_names  names besides loopback under which the API answers
    access      who may use it; None: anyone who reaches it reads, and acts from this machine only
    people_sql  answers /api/v1/sql; None: it is switched off
    """
    # Not needed for health and metrics alone: a stream worker starts half a second earlier without.
    from api.app import LOOPBACK, create_app
    from skeletonhunter.services.api_access import ApiAccess

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
    access = access or ApiAccess()
    return create_app(
        store,
        counters=sources,
        ready=ready,
        allowed_hosts=(*LOOPBACK, *host_names),
        tokens=access.tokens,
        rate=access.rate,
        keep_s=_KEEP_S,
        people_sql=people_sql,
    )


def worker_monitoring(worker: StreamWorker) -> Monitoring:
    """Health and metrics of a stream worker that runs alone."""
    return Monitoring([lambda: counters.samples(worker), malloc.samples], [worker.not_ready])


def sink_monitoring(sink: Sink) -> Monitoring:
    """Health and metrics of a sink that runs alone."""
    return Monitoring([sink.samples, malloc.samples], [sink.not_ready])


def controller_monitoring(
    site: Site, pods: FollowedPods | None = None, further: Sequence[Source] = ()
) -> Monitoring:
    """Health and metrics of the controller, and of its source of pods where it has one."""
    sources: list[Source] = [site.samples, *further]
    if pods is not None:
        sources.append(pods.source.samples)
    return Monitoring(sources, [site.not_ready])
