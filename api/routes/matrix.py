"""GET /api/v1/matrix."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from api.documents import Matrix, Problem, answer, described
from api.queries.database import Database
from api.queries.matrix import MatrixFilters, TooManyNames, matrix


def router(database: Database) -> APIRouter:
    """The route that answers from ``database``."""
    routes = APIRouter(prefix="/api/v1", tags=["matrix"])

    @routes.get(
        "/matrix",
        response_model=None,
        responses={
            **described(200, Matrix), **described(413, Problem), **described(503, Problem),
        },
        summary="Loss and round trips between ToRs, pods or hosts, and what they look like",
    )  # fmt: skip
    async def cells(filters: Annotated[MatrixFilters, Query()]) -> Response:
        try:
            return answer(await database.run(lambda store: matrix(store, filters)))
        except TooManyNames as why:
            return answer(Problem(str(why)), 413)

    return routes
