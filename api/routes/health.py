"""GET /healthz, /readyz, /metrics of the api."""

from __future__ import annotations

from collections.abc import Callable

from fastapi import APIRouter, Request, Response

from api.access.guard import token_of
from api.access.tokens import Tokens
from api.documents import Health, described
from api.monitoring import Monitoring


def router(monitoring: Monitoring, tokens: Callable[[], Tokens] | None) -> APIRouter:
    """The routes for monitoring; none of them uses a thread that data routes use.

    With ``tokens``, metrics name incidents to those only who see all tenants.
    """
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
    async def prometheus(request: Request) -> Response:
        named = tokens is None
        if tokens is not None and (token := token_of(request.headers)) is not None:
            caller = tokens().caller(token)
            named = caller is not None and not caller.tenants
        return await monitoring.exposition(incidents_named=named)

    return routes
