"""GET and POST /api/v1/sql: one SELECT over the store's tables, read-only and bounded."""

from __future__ import annotations

from typing import Any, Final

from fastapi import APIRouter, Query, Request, Response

from api.documents import HEADERS, Problem, answer, described
from api.queries.database import Database
from store.client import StoreError, StoreUnavailable
from store.read_only import FORMATS, LONGEST, ReadOnlySql, SqlRefused

_OFF: Final = Problem("SQL is switched off here; SKH_API_SQL=true switches it on")
_FOREIGN: Final = Problem("SQL is not answered to web pages of others")
_PARAMETER: Final = "param_"
#: Statements at once, and that may wait [count].
THREADS: Final = 1
WAITING: Final = 16


def router(sql: ReadOnlySql | None) -> APIRouter:
    """The route over a store of its own; None: it refuses everything."""
    routes = APIRouter(prefix="/api/v1", tags=["sql"])
    # The gate knows its store, so the pool is given none that a query could use.
    pool = None if sql is None else Database(_NoStore(), threads=THREADS, waiting=WAITING)
    errors: dict[int | str, dict[str, Any]] = {
        **described(400, Problem), **described(403, Problem), **described(413, Problem),
        **described(503, Problem),
    }  # fmt: skip
    content: dict[str, Any] = {media: {} for media in dict.fromkeys(FORMATS.values())}
    responses = {200: {"description": "The rows", "content": content}, **errors}

    async def run(request: Request, statement: str, form: str) -> Response:
        if sql is None or pool is None:
            return answer(_OFF, 403)
        if request.headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return answer(_FOREIGN, 403)
        given = {
            name.removeprefix(_PARAMETER): value
            for name, value in request.query_params.items()
            if name.startswith(_PARAMETER)
        }
        try:
            rows, media = await pool.run(
                lambda _: sql.query(statement, given, form), wait_s=sql.longest_s
            )
        except SqlRefused as why:
            return answer(Problem(str(why)), 400)
        except StoreUnavailable as why:
            return answer(Problem(why.public), 503)
        except StoreError as why:
            return answer(Problem(str(why)), 400)
        return Response(rows, media_type=media, headers=HEADERS)

    @routes.get("/sql", response_model=None, responses=responses, summary="Rows of a SELECT")
    async def get(
        request: Request,
        query: str = Query(max_length=LONGEST, description="one SELECT; param_NAME gives values"),
        default_format: str = Query("JSON", description=f"one of {', '.join(FORMATS)}"),
    ) -> Response:
        return await run(request, query, default_format)

    @routes.post(
        "/sql", response_model=None, responses=responses,
        summary="Rows of a SELECT, which is the body",
        openapi_extra={"requestBody": {"content": {"text/plain": {"schema": {"type": "string"}}}}},
    )  # fmt: skip
    async def post(
        request: Request, default_format: str = Query("JSON", description="as of GET")
    ) -> Response:
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > LONGEST:
                return answer(Problem(f"a statement may have {LONGEST} bytes"), 413)
        return await run(request, body.decode("utf-8", "replace"), default_format)

    return routes


class _NoStore:
    """Stands where a pool of threads has a store."""

    def rows(
        self, sql: str, parameters: object = None, *, settings: object = None
    ) -> list[dict[str, Any]]:
        raise NotImplementedError("statements of people go through ReadOnlySql only")

    def execute(self, sql: str, parameters: object = None) -> None:
        raise NotImplementedError("statements of people go through ReadOnlySql only")
