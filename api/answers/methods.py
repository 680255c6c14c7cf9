"""OPTIONS: which methods a URL has. No other origin is ever permitted, so there is no CORS."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from starlette.responses import Response
from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Receive, Scope, Send

from api.documents import HEADERS, Problem, answer


class Options:
    """Answers OPTIONS from the routes of an application; other requests pass.

    routes  as in ``app.routes``, which may still grow
    """

    def __init__(self, app: ASGIApp, routes: list[BaseRoute]) -> None:
        self._app, self._routes = app, routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "OPTIONS":
            await self._app(scope, receive, send)
            return
        methods = {
            method
            for route in _flat(self._routes)
            if route.matches(dict(scope))[0] != Match.NONE
            for method in getattr(route, "methods", None) or ()
        }
        if not methods:
            response = answer(Problem("Not Found"), 404)
        else:
            more = {"OPTIONS"} | ({"HEAD"} if "GET" in methods else set())
            allowed = {**HEADERS, "Allow": ", ".join(sorted(methods | more))}
            response = Response(status_code=204, headers=allowed)
        await response(scope, receive, send)


def _flat(routes: Iterable[BaseRoute]) -> Iterator[BaseRoute]:
    """The routes, those of included routers too."""
    for route in routes:
        inner = getattr(route, "original_router", None)  # FastAPI's own wrapper
        if inner is None:
            yield route
        else:
            yield from _flat(inner.routes)
