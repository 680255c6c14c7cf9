"""/healthz, /readyz and /metrics alone, for processes without an api and for the api's liveness."""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from api.documents import Problem, answer
from api.guards import HeadersOnAll
from api.probes import Probes


def machine_app(probes: Probes) -> Starlette:
    """An application with the three routes; called by machines under whatever name."""

    async def healthz(_: Request) -> Response:
        return await probes.healthz()

    async def readyz(_: Request) -> Response:
        return await probes.readyz()

    async def metrics(_: Request) -> Response:
        return await probes.exposition()

    return Starlette(
        routes=[
            Route("/healthz", healthz),
            Route("/readyz", readyz),
            Route("/metrics", metrics),
        ],
        middleware=[Middleware(HeadersOnAll)],
        exception_handlers={HTTPException: refused, Exception: internal_error},
    )


async def refused(_: Request, why: Exception) -> Response:
    """No such route or method, as a document."""
    assert isinstance(why, HTTPException)  # noqa: S101 — Starlette's signature is wider
    response = answer(Problem(str(why.detail)), why.status_code)
    response.headers.update(why.headers or {})
    return response


async def internal_error(_: Request, why: Exception) -> Response:
    """A bug of ours: the client learns that there is one; the server logs what it is."""
    response = answer(Problem("internal error; the log of this service has the details"), 500)
    response.headers["Connection"] = "close"  # uvicorn does; a client should know
    return response
