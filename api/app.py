"""The FastAPI application: routes, middleware and error handlers over one store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from fastapi import FastAPI, Request, Response
from fastapi.openapi.utils import get_openapi

from api.documents import Problem, answer, json_schemas
from api.incident_feed import IncidentFeed
from api.middleware import HostCheck, SecurityHeaders
from api.monitoring import Monitoring, Ready
from api.queries.database import Database, DatabaseError, Store
from api.routes import coverage, health, incidents, matrix, pages, sql, stream
from api.routes.monitoring_app import internal_error
from schemas.metrics import Source
from store.read_only import ReadOnlySql

LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")


def create_app(
    store: Store | Database,
    *,
    counters: Sequence[Source] = (),
    ready: Sequence[Ready] = (),
    allowed_hosts: Sequence[str] = LOOPBACK,
    people_sql: ReadOnlySql | None = None,
) -> FastAPI:
    """The whole service over an open store.

    store          answers ``rows(sql, parameters)``; raises ConnectionError when it is unavailable
    counters       sources of metrics, each called at a scrape of /metrics
    ready          checks, each called by /readyz: None, or why this process is not ready
    allowed_hosts  values of the Host header that are accepted ("*": any). Loopback only by default,
                   so that no foreign web page can read incidents through a browser on this machine
    people_sql     answers /api/v1/sql, over a store of its own; None: it is switched off

    ``app.state.monitoring`` is for ``api.routes.monitoring_app``, the same URLs on their own port;
    ``app.state.end_streams()`` is called by the server when it shuts down.
    """
    database = store if isinstance(store, Database) else Database(store)
    app = FastAPI(
        title="SkeletonHunter",
        summary="Which component of the training network is to blame, and why",
        version="1",
        docs_url=None,
        redoc_url=None,
    )
    app.add_middleware(HostCheck, allowed=allowed_hosts)
    app.add_middleware(SecurityHeaders)  # the last one added is the outermost
    app.include_router(incidents.router(database))
    app.include_router(coverage.router(database))
    app.include_router(matrix.router(database))
    app.include_router(sql.router(people_sql))
    feed = IncidentFeed(database)
    app.include_router(stream.router(feed))
    app.state.end_streams = feed.close
    app.state.monitoring = monitoring = Monitoring(counters, ready, database)
    app.include_router(health.router(monitoring))
    app.include_router(pages.router())
    app.add_exception_handler(Exception, internal_error)

    @app.exception_handler(DatabaseError)
    async def unavailable(_: Request, why: DatabaseError) -> Response:
        return answer(Problem(why.public), 503)

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            document = get_openapi(
                title=app.title, version=app.version, summary=app.summary, routes=app.routes
            )
            document.setdefault("components", {}).setdefault("schemas", {}).update(json_schemas())
            app.openapi_schema = document
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]  # the documented way to extend it
    return app
