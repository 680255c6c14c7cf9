"""The FastAPI application: routes, middleware and error handlers over one store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from fastapi import Depends, FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware

from api.access import session
from api.access.guard import BODY_BYTES, Guard
from api.access.rate_limit import Rate
from api.access.tokens import Tokens
from api.actions import routes as actions
from api.actions.documents import Action, ActionList, Feedback
from api.answers import parameters
from api.answers.methods import Options
from api.answers.openapi import document
from api.answers.problems import internal_error, invalid_request, unavailable
from api.answers.shared import SharedAnswers
from api.incident_feed import IncidentFeed
from api.middleware import HostCheck, SecurityHeaders
from api.monitoring import Monitoring, Ready
from api.paths import routes as paths
from api.paths.documents import ComponentDetail, ComponentList, PathDetail, PathList, PingList
from api.queries.database import Database, DatabaseError, LimitableStore
from api.routes import coverage, health, incidents, matrix, pages, site, sql, stream
from schemas.metrics import Source
from store.read_only import ReadOnlySql

LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")
#: Documents of the parts that have a folder of their own, for the OpenAPI document.
_DOCUMENTS: Final = (
    Action, ActionList, Feedback, session.Session, PathList, PathDetail, PingList, ComponentList,
    ComponentDetail,
)  # fmt: skip


def create_app(
    store: LimitableStore | Database,
    *,
    counters: Sequence[Source] = (),
    ready: Sequence[Ready] = (),
    allowed_hosts: Sequence[str] = LOOPBACK,
    tokens: Callable[[], Tokens] | None = None,
    rate: Rate | None = None,
    keep_s: float = 0.0,
    people_sql: ReadOnlySql | None = None,
) -> FastAPI:
    """The whole service over an open store.

    store          answers ``rows(sql, parameters)``; raises ConnectionError when it is unavailable
    counters       sources of metrics, each called at a scrape of /metrics
    ready          checks, each called by /readyz: None, or why this process is not ready
    allowed_hosts  values of the Host header that are accepted ("*": any). Loopback only by default,
                   so that no foreign web page can read incidents through a browser on this machine
    tokens         called for each request; None: anyone who reaches the port reads, and acts on
                   incidents from this machine only
    rate           of the requests of one client; None: any
    keep_s         age up to which the answer to an equal question is given again [s]
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
        generate_unique_id_function=lambda route: route.name,  # names of functions in clients
    )
    # The last one added is the outermost, so that refusals have headers too.
    app.add_middleware(SharedAnswers, keep_s=keep_s)
    app.add_middleware(Options, routes=app.routes)
    app.add_middleware(Guard, tokens=tokens, rate=rate)
    app.add_middleware(HostCheck, allowed=allowed_hosts)
    app.add_middleware(SecurityHeaders)
    app.add_middleware(GZipMiddleware, minimum_size=1024, compresslevel=4)
    app.include_router(session.router(tokens), max_body_size=BODY_BYTES)
    named = [Depends(parameters.known)]
    app.include_router(actions.router(database), max_body_size=BODY_BYTES, dependencies=named)
    app.include_router(incidents.router(database), dependencies=named)
    app.include_router(coverage.router(database), dependencies=named)
    app.include_router(matrix.router(database), dependencies=named)
    app.include_router(site.router(database, counters), dependencies=named)
    app.include_router(paths.router(database), dependencies=named)
    app.include_router(sql.router(people_sql))
    feed = IncidentFeed(database)
    app.include_router(stream.router(feed), dependencies=named)
    app.state.end_streams = feed.close
    app.state.monitoring = monitoring = Monitoring([*counters, feed.samples], ready, database)
    app.include_router(health.router(monitoring, tokens))
    app.include_router(pages.router(None if tokens else database))
    app.add_exception_handler(DatabaseError, unavailable)
    app.add_exception_handler(RequestValidationError, invalid_request)
    app.add_exception_handler(HTTPException, pages.http_error)
    app.add_exception_handler(Exception, internal_error)

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = document(app, _DOCUMENTS)
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]  # the documented way to extend it
    return app
