"""The pages: incidents at /, one of them, the matrix, and the description of the API at /docs.

FastAPI's own /docs loads Swagger from a CDN, but management networks often have no Internet access,
and foreign scripts do not belong there. This one is a small script over /openapi.json, which any
Swagger or Redoc elsewhere can read as well.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from fastapi import APIRouter, Response

_FOLDER: Final = Path(__file__).parents[1] / "page"
_TYPES: Final = {
    ".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml",
}  # fmt: skip
_PAGES: Final = {
    "/": "index.html", "/docs": "docs.html", "/incidents/{incident_id}": "incident.html",
    "/matrix": "matrix.html", "/login": "login.html",
}  # fmt: skip
_FILES: Final = (
    "page.css", "views.css", "ask.js", "page.js", "view.js", "coverage.js", "detail.js",
    "incident.js", "actions.js", "charts.js", "matrix.js", "docs.js", "login.js", "icon.svg",
    "vendor/uplot.js", "vendor/uplot.css",
)  # fmt: skip
_HEADERS: Final = {
    # Only files of this folder run or load, whatever the text of an incident contains.
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self';"
    " connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none';"
    " frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-cache",
}


def router() -> APIRouter:
    """The files of ``page/``, read once."""
    routes = APIRouter(include_in_schema=False)
    for url, name in (_PAGES | {f"/page/{name}": name for name in _FILES}).items():
        file = _FOLDER / name
        _add(routes, url, file.read_bytes(), _TYPES[file.suffix])
    return routes


def _add(routes: APIRouter, url: str, content: bytes, media_type: str) -> None:
    async def page() -> Response:  # async: the page does not wait for a thread
        return Response(content, media_type=f"{media_type}; charset=utf-8", headers=_HEADERS)

    routes.add_api_route(url, page, methods=["GET"], response_class=Response)
