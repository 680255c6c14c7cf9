"""GET /api/v1/paths and /api/v1/components, of both a list and one."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Response

from api.documents import Problem, answer, described
from api.paths import components as of_components
from api.paths import queries
from api.paths.documents import ComponentDetail, ComponentList, PathDetail, PathList, PingList
from api.paths.filters import (
    ComponentFilters,
    ComponentQuestion,
    PathFilters,
    PingFilters,
    WindowFilters,
)
from api.queries.database import Database
from api.queries.patterns import PATH_ID

_BUSY = described(503, Problem)
_PathId = Annotated[str, Path(pattern=PATH_ID, description="16 hex digits, as in anomalies")]


def router(database: Database) -> APIRouter:
    """The routes that answer from ``database``."""
    routes = APIRouter(prefix="/api/v1", tags=["paths and components"])

    @routes.get(
        "/paths", response_model=None,
        responses={**described(200, PathList), **described(404, Problem), **_BUSY},
        summary="Five-tuple paths with loss and round trips, the worst first",
    )  # fmt: skip
    async def paths(filters: Annotated[PathFilters, Query()]) -> Response:
        found = await database.run(lambda store: queries.paths(store, filters))
        if found is None:
            return answer(Problem(f"there is no incident {filters.incident!r}"), 404)
        return answer(found)

    @routes.get(
        "/paths/{path_id}", response_model=None,
        responses={**described(200, PathDetail), **described(404, Problem), **_BUSY},
        summary="One path: its windows, and the route that its traceroutes show",
    )  # fmt: skip
    async def path(path_id: _PathId, filters: Annotated[WindowFilters, Query()]) -> Response:
        number = int(path_id, 16)
        found = await database.run(lambda store: queries.path(store, number, filters))
        if found is None:
            return answer(Problem(f"path {path_id} has no windows in this time"), 404)
        return answer(found)

    @routes.get(
        "/paths/{path_id}/pings", response_model=None,
        responses={**described(200, PingList), **described(404, Problem), **_BUSY},
        summary="Ping records of one path, the newest first",
    )  # fmt: skip
    async def path_pings(path_id: _PathId, filters: Annotated[PingFilters, Query()]) -> Response:
        number = int(path_id, 16)
        found = await database.run(lambda store: queries.pings(store, number, filters))
        if found is None:
            text = f"path {path_id} has neither pings nor windows in this time"
            return answer(Problem(text), 404)
        return answer(found)

    @routes.get(
        "/components", response_model=None, responses={**described(200, ComponentList), **_BUSY},
        summary="Components of a kind and how they are, the worst first",
    )  # fmt: skip
    async def components(filters: Annotated[ComponentFilters, Query()]) -> Response:
        return answer(await database.run(lambda store: of_components.components(store, filters)))

    @routes.get(
        "/components/{component_id:path}", response_model=None,
        responses={
            **described(200, ComponentDetail), **described(404, Problem),
            **described(409, Problem), **_BUSY,
        },
        summary="One component of any kind: how it is, and incidents about it",
    )  # fmt: skip
    async def component(
        component_id: Annotated[str, Path(max_length=1200, description="Such as tor:asw-3")],
        filters: Annotated[ComponentQuestion, Query()],
    ) -> Response:
        try:
            found = await database.run(
                lambda store: of_components.detail(store, component_id, filters)
            )
        except of_components.SeveralFabrics as why:
            return answer(Problem(str(why)), 409)
        if found is None:
            return answer(Problem(f"nothing is known of component {component_id[:200]!r}"), 404)
        return answer(found)

    return routes
