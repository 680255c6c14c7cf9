"""GET /api/v1/incidents, /api/v1/incidents/{id}, /api/v1/summary."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Path, Query, Request, Response

from api import queries
from api.documents import IncidentDetail, IncidentPage, Problem, Summary, answer, described

_BUSY = described(503, Problem)


def router(store: queries.Store) -> APIRouter:
    """The routes that answer from ``store``."""
    routes = APIRouter(prefix="/api/v1", tags=["incidents"])

    @routes.get(
        "/incidents",
        response_model=None,
        responses={**described(200, IncidentPage), **_BUSY},
        summary="Incidents that match, newest first, each in its last version",
    )
    def incidents(request: Request, filters: Annotated[queries.Filters, Query()]) -> Response:
        if filters.since and filters.until and filters.since >= filters.until:
            raise HTTPException(422, [_mistake("since", "since must be before until")])
        items, total = queries.find(store, filters)
        after = filters.offset + len(items)
        more = request.url.include_query_params(offset=after) if items and after < total else None
        return answer(
            IncidentPage(
                items=items,
                total=total,
                limit=filters.limit,
                offset=filters.offset,
                next=f"{more.path}?{more.query}" if more else None,
            )
        )

    @routes.get(
        "/incidents/{incident_id}",
        response_model=None,
        responses={**described(200, IncidentDetail), **described(404, Problem), **_BUSY},
        summary="One incident with its history and the incidents that it explains",
    )
    def incident(incident_id: Annotated[str, Path(max_length=100)]) -> Response:
        found = queries.get(store, incident_id)
        if found is None:
            return answer(Problem(f"there is no incident {incident_id!r}"), 404)
        return answer(found)

    @routes.get(
        "/summary",
        response_model=None,
        responses={**described(200, Summary), **_BUSY},
        summary="How many paths are watched and how many incidents are active",
    )
    def summary() -> Response:
        return answer(queries.summary(store))

    return routes


def _mistake(name: str, message: str) -> dict[str, Any]:
    """In the form that FastAPI gives to its own findings."""
    return {"loc": ["query", name], "msg": message, "type": "value_error"}
