"""GET /healthz, /readyz, /metrics."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from fastapi import APIRouter, Response

from api import queries
from api.documents import Health, answer, described
from api.metrics import render
from schemas import metrics

#: None when this process does its work, else why it does not.
Ready = Callable[[], str | None]


def router(
    store: queries.Store, counters: Sequence[metrics.Source], ready: Sequence[Ready]
) -> APIRouter:
    """The routes that machines ask."""
    routes = APIRouter(tags=["health"])

    def obstacle() -> str | None:
        try:
            store.rows("SELECT incident_id FROM incidents_latest LIMIT 0")
        except Exception as why:  # whatever stands between us and the tables: not ready
            return f"database: {why}"
        return next((reason for each in ready if (reason := each())), None)

    def own_samples() -> Iterator[metrics.Sample]:
        reason = obstacle()
        yield metrics.Sample(metrics.API_READY, reason is None)
        if reason is None or not reason.startswith("database:"):
            now = queries.summary(store)
            yield metrics.Sample(metrics.API_PATHS, now.paths_watched)
            for severity in ("P0", "P1", "P2"):
                value = now.active.get(severity, 0)
                yield metrics.Sample(metrics.API_INCIDENTS, value, (severity,))

    @routes.get(
        "/healthz",
        response_model=None,
        responses=described(200, Health),
        summary="This process lives",
    )
    def healthz() -> Response:
        return answer(Health("alive"))

    @routes.get(
        "/readyz",
        response_model=None,
        responses={**described(200, Health), **described(503, Health)},
        summary="The database answers and the workers of this process work",
    )
    def readyz() -> Response:
        reason = obstacle()
        return answer(Health("ready" if reason is None else "not ready", reason),
                      200 if reason is None else 503)  # fmt: skip

    @routes.get(
        "/metrics",
        response_model=None,
        responses={200: {"description": "Prometheus text", "content": {"text/plain": {}}}},
        summary="Counters and gauges of this process",
    )
    def prometheus() -> Response:
        text = render([*counters, own_samples])
        return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")

    return routes
