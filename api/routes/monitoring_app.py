"""/healthz, /readyz and /metrics on a port of their own, for every part of the system."""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from api.answers.problems import http_error, internal_error
from api.middleware import SecurityHeaders
from api.monitoring import Monitoring


def monitoring_app(monitoring: Monitoring) -> Starlette:
    """An application with the three routes; any Host header is accepted."""

    async def healthz(_: Request) -> Response:
        return await monitoring.healthz()

    async def readyz(_: Request) -> Response:
        return await monitoring.readyz()

    async def metrics(_: Request) -> Response:
        return await monitoring.exposition()

    return Starlette(
        routes=[
            Route("/healthz", healthz),
            Route("/readyz", readyz),
            Route("/metrics", metrics),
        ],
        middleware=[Middleware(SecurityHeaders)],
        exception_handlers={HTTPException: http_error, Exception: internal_error},
    )
