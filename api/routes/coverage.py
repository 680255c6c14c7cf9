"""GET /api/v1/coverage."""

from __future__ import annotations

from fastapi import APIRouter, Response

from api.documents import CoverageList, Problem, answer, described
from api.queries import coverage as queries
from api.queries.database import Database


def router(database: Database) -> APIRouter:
    """The route that answers from ``database``."""
    routes = APIRouter(prefix="/api/v1", tags=["coverage"])

    @routes.get(
        "/coverage",
        response_model=None,
        responses={**described(200, CoverageList), **described(503, Problem)},
        summary="What no judged probe crosses, of each fabric whose topology is known",
    )
    async def coverage() -> Response:
        return answer(CoverageList(await database.run(queries.newest)))

    return routes
