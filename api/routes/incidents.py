"""GET /api/v1/incidents, /api/v1/incidents/{id} with /advice and /series, /api/v1/summary."""

from __future__ import annotations

import time
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, HTTPException, Path, Query, Request, Response

from api.documents import (
    IncidentAdvice,
    IncidentDetail,
    IncidentPage,
    Problem,
    Series,
    Summary,
    answer,
    described,
)
from api.queries import incidents as queries
from api.queries import places
from api.queries import series as path_series
from api.queries.database import Database, Store
from api.queries.filters import Filters
from api.runbook.steps import next_steps

_BUSY = described(503, Problem)


def router(database: Database) -> APIRouter:
    """The routes that answer from ``database``."""
    routes = APIRouter(prefix="/api/v1", tags=["incidents"])

    @routes.get(
        "/incidents",
        response_model=None,
        responses={**described(200, IncidentPage), **_BUSY},
        summary="Incidents that match, each in its last version, and how many there are",
    )
    async def incidents(request: Request, filters: Annotated[Filters, Query()]) -> Response:
        if filters.since and filters.until and filters.since >= filters.until:
            raise HTTPException(422, [_error("since", "since must be before until")])
        found = await database.run(lambda store: queries.find(store, filters))
        total = filters.count_selected(found.counts)
        after = filters.offset + len(found.items)
        more = after < total and found.items
        url = request.url.include_query_params(offset=after) if more else None
        return answer(
            IncidentPage(
                items=found.items,
                total=total,
                limit=filters.limit,
                offset=filters.offset,
                next=f"{url.path}?{url.query}" if url else None,
                counts=found.counts,
                explains=found.explains,
            )
        )

    @routes.get(
        "/incidents/{incident_id}",
        response_model=None,
        responses={**described(200, IncidentDetail), **described(404, Problem), **_BUSY},
        summary="One incident with its history and the incidents that it explains",
    )
    async def incident(incident_id: Annotated[str, Path(max_length=100)]) -> Response:
        return _answer(
            incident_id, await database.run(lambda store: queries.get(store, incident_id))
        )

    @routes.get(
        "/incidents/{incident_id}/advice",
        response_model=None,
        responses={**described(200, IncidentAdvice), **described(404, Problem), **_BUSY},
        summary="Where the incident's component is, and what to check and do",
    )
    async def advice(incident_id: Annotated[str, Path(max_length=100)]) -> Response:
        def query(store: Store) -> IncidentAdvice | None:
            incident = queries.latest(store, incident_id)
            if incident is None:
                return None
            where = places.place(store, incident)
            return IncidentAdvice(place=where, next_steps=next_steps(incident, where.by_kind))

        return _answer(incident_id, await database.run(query))

    @routes.get(
        "/incidents/{incident_id}/series",
        response_model=None,
        responses={**described(200, Series), **described(404, Problem), **_BUSY},
        summary="Loss and round trips of its bad paths over time, beside others of their hosts",
    )
    async def series(incident_id: Annotated[str, Path(max_length=100)]) -> Response:
        def query(store: Store) -> Series | None:
            incident = queries.latest(store, incident_id)
            return None if incident is None else path_series.series(store, incident, time.time())

        return _answer(incident_id, await database.run(query))

    @routes.get(
        "/summary",
        response_model=None,
        responses={**described(200, Summary), **_BUSY},
        summary="How many paths are watched and how many incidents are active",
    )
    async def summary() -> Response:
        return answer(await database.run(queries.summary))

    return routes


def _answer(incident_id: str, found: msgspec.Struct | None) -> Response:
    """What was found about an incident, or a 404."""
    if found is None:
        return answer(Problem(f"there is no incident {incident_id!r}"), 404)
    return answer(found)


def _error(name: str, message: str) -> dict[str, Any]:
    """One error in the form of FastAPI's own validation errors."""
    return {"loc": ["query", name], "msg": message, "type": "value_error"}
