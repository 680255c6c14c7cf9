"""The FastAPI application: routes and errors over one site."""

from __future__ import annotations

import logging
from collections.abc import Callable

from fastapi import FastAPI, Request, Response

from controller.service.http import agents, blacklist, coverage, jobs, maintenance, skeletons, slurm
from controller.service.http.answers import Problem, Refused, answer
from controller.service.http.guard import Guard
from controller.service.requests import routes as requests
from controller.service.requests.desk import RequestDesk
from controller.service.site import NotStored, Site
from controller.service.tokens import Tokens

_log = logging.getLogger(__name__)


def create_app(
    site: Site, tokens: Callable[[], Tokens], desk: RequestDesk | None = None
) -> FastAPI:
    """The service over a site; ``tokens`` is called for each request.

    desk  of requests to agents; None: one that asks none by itself

    Every route needs a token, so no web page elsewhere reads anything through a browser here.
    """
    app = FastAPI(
        title="SkeletonHunter controller",
        summary="Who probes whom: agents, jobs, planned work",
        version="1",
        docs_url=None,
        redoc_url=None,
    )
    guard = Guard(site, tokens)
    app.include_router(agents.router(site, guard))
    app.include_router(requests.router(site, guard, desk or RequestDesk(site)))
    app.include_router(skeletons.router(site, guard))  # before jobs, whose names may hold slashes
    app.include_router(jobs.router(site, guard))
    app.include_router(slurm.router(site, guard))
    app.include_router(maintenance.router(site, guard))
    app.include_router(blacklist.router(site, guard))
    app.include_router(coverage.router(site, guard))

    @app.exception_handler(Refused)
    async def refused(_: Request, why: Refused) -> Response:
        if why.reason:
            site.refused[why.reason] += 1
        headers = {"WWW-Authenticate": "Bearer"} if why.status == 401 else None
        return answer(Problem(why.detail), why.status, headers)

    @app.exception_handler(NotStored)
    async def not_stored(_: Request, why: NotStored) -> Response:
        _log.error("documents are not stored: %s", why)
        detail = "the broker has not stored this yet; the same request may be repeated"
        return answer(Problem(detail), 503, {"Retry-After": "1"})

    return app
