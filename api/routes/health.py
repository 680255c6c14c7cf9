"""GET /healthz, /readyz, /metrics of the api."""

from __future__ import annotations

from fastapi import APIRouter, Response

from api.documents import Health, described
from api.monitoring import Monitoring


def router(monitoring: Monitoring) -> APIRouter:
    """The routes for monitoring; none of them uses a thread that data routes use."""
    routes = APIRouter(tags=["health"])

    @routes.get(
        "/healthz",
        response_model=None,
        responses=described(200, Health),
        summary="This process lives",
    )
    async def healthz() -> Response:
        return await monitoring.healthz()

    @routes.get(
        "/readyz",
        response_model=None,
        responses={**described(200, Health), **described(503, Health)},
        summary="The database answers and the workers of this process work",
    )
    async def readyz() -> Response:
        return await monitoring.readyz()

    @routes.get(
        "/metrics",
        response_model=None,
        responses={200: {"description": "Prometheus text", "content": {"text/plain": {}}}},
        summary="Counters and gauges of this process",
    )
    async def prometheus() -> Response:
        return await monitoring.exposition()

    return routes
