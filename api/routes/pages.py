"""The pages: incidents at /, one of them, views of the site, and the API's description at /docs.

FastAPI's own /docs loads Swagger from a CDN, but management networks often have no Internet access,
and foreign scripts do not belong there. This one is a small script over /openapi.json, which any
Swagger or Redoc elsewhere can read as well.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from fastapi import APIRouter, Response
from starlette.exceptions import HTTPException
from starlette.requests import Request

from api.answers import problems
from api.queries import incidents
from api.queries.database import Database, DatabaseError, Store
from api.queries.site import jobs

_FOLDER: Final = Path(__file__).parents[1] / "page"
_TYPES: Final = {
    ".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml",
}  # fmt: skip
_MISSING: Final = "missing.html"
#: Longest wait for the database before a page is served all the same [s].
_LOOKED_UP_S: Final = 1.0
_PAGES: Final = {
    "/": "index.html", "/docs": "docs.html",
    "/matrix": "matrix.html", "/topology": "topology.html", "/jobs": "jobs.html",
    "/fleet": "fleet.html", "/pipeline": "pipeline.html",
    "/login": "login.html",
}  # fmt: skip
#: Pages of one thing: their file, and whether there is one of a name.
_LOOKED_UP: Final[dict[str, tuple[str, Callable[[Store, str], bool]]]] = {
    "/incidents/{name}": ("incident.html", incidents.known),
    "/jobs/{name:path}": ("job.html", jobs.known),  # names of schedulers may contain a slash
}
_FILES: Final = (
    "page.css", "views.css", "site.css", "shell.js", "overview.js", "clos.js", "topology.js",
    "jobs.js", "job.js", "job_skeleton.js", "skeleton.js", "fleet.js", "pipeline.js",
    "lines.js", "loss.js", "evidence.js", "ask.js", "page.js", "view.js", "coverage.js",
    "detail.js", "incident.js", "actions.js", "charts.js", "redraw.js",
    "matrix.js", "docs.js", "login.js", "icon.svg", "vendor/uplot.js", "vendor/uplot.css",
)  # fmt: skip
#: Active incidents that an icon counts; so many or more are "9+".
_MOST_COUNTED: Final = 10
_HEADERS: Final = {
    # Only files of this folder run or load, whatever the text of an incident contains.
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self';"
    " connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none';"
    " frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-cache",
}


def router(database: Database | None) -> APIRouter:
    """The files of ``page/``, read once.

    database  knows which incidents and jobs there are; None: pages do not say it, for any client
              has them, and incidents and jobs are for callers with a token
    """
    routes = APIRouter(include_in_schema=False)
    for url, name in (_PAGES | {f"/page/{name}": name for name in _FILES}).items():
        file = _FOLDER / name
        _add(routes, url, file.read_bytes(), _TYPES[file.suffix])
    for count in range(1, _MOST_COUNTED + 1):
        _add(routes, f"/page/icon-{count}.svg", _icon(count).encode(), _TYPES[".svg"])
    for url, (name, there_is) in _LOOKED_UP.items():
        _add_looked_up(routes, url, (_FOLDER / name).read_bytes(), database, there_is)
    return routes


async def http_error(request: Request, why: Exception) -> Response:
    """An unknown address, as a page for people and as a document for programs."""
    readable = "text/html" in request.headers.get("accept", "")
    if not readable or request.url.path.startswith(("/api/", "/page/")):
        return await problems.http_error(request, why)
    if not isinstance(why, HTTPException) or why.status_code != 404:
        return await problems.http_error(request, why)
    return _page((_FOLDER / _MISSING).read_bytes(), 404)


def _icon(count: int) -> str:
    """The icon with a number of active incidents; a page's policy allows no image of its own."""
    text = str(count) if count < _MOST_COUNTED else f"{count - 1}+"
    size = 11 if len(text) == 1 else 9
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16">'
        '<rect width="16" height="16" rx="4" fill="#b42318"/><text x="8" y="12" fill="#fff"'
        f' font-family="sans-serif" font-weight="700" font-size="{size}" text-anchor="middle">'
        f"{text}</text></svg>"
    )


def _page(content: bytes, status: int, media_type: str = "text/html") -> Response:
    return Response(content, status, _HEADERS, f"{media_type}; charset=utf-8")


def _add(routes: APIRouter, url: str, content: bytes, media_type: str) -> None:
    async def page() -> Response:  # async: the page does not wait for a thread
        return _page(content, 200, media_type)

    routes.add_api_route(url, page, methods=["GET"], response_class=Response)


def _add_looked_up(
    routes: APIRouter,
    url: str,
    content: bytes,
    database: Database | None,
    there_is: Callable[[Store, str], bool],
) -> None:
    async def page(name: str) -> Response:
        known = database is None or await _known(database, lambda store: there_is(store, name))
        return _page(content, 200 if known else 404)

    routes.add_api_route(url, page, methods=["GET"], response_class=Response)


async def _known(database: Database, there_is: Callable[[Store], bool]) -> bool:
    """Whether there may be what a page is about."""
    try:
        return await database.run(there_is, _LOOKED_UP_S)
    except DatabaseError:
        return True  # the page says that the database does not answer
