"""GET /api/v1/incidents, /api/v1/incidents/{id} with /advice and /series, /api/v1/summary."""

from __future__ import annotations

import time
from typing import Annotated

import msgspec
from fastapi import APIRouter, Path, Query, Request, Response

from api.actions import queries as actions
from api.actions.documents import Handling, handling_of
from api.answers.problems import invalid
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
from api.queries.orders import BadCursor
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
            return answer(invalid("query", "since", "since must be before until"), 422)
        if filters.cursor and filters.offset:
            return answer(invalid("query", "offset", "give a cursor or an offset"), 422)
        try:
            found, done = await database.run(lambda store: _found(store, filters))
        except BadCursor as why:
            return answer(invalid("query", "cursor", str(why)), 422)
        url = request.url.remove_query_params("offset").include_query_params(cursor=found.next)
        return answer(
            IncidentPage(
                items=found.items,
                total=filters.count_selected(found.counts),
                limit=filters.limit,
                offset=filters.offset,
                next=f"{url.path}?{url.query}" if found.next else None,
                counts=found.counts,
                explains=found.explains,
                handling=done,
            ),
        )

    @routes.get(
        "/incidents/{incident_id}",
        response_model=None,
        responses={**described(200, IncidentDetail), **described(404, Problem), **_BUSY},
        summary="One incident with its history, the incidents that it explains, and actions on it",
    )
    async def incident(incident_id: Annotated[str, Path(max_length=100)]) -> Response:
        return _answer(incident_id, await database.run(lambda store: _detail(store, incident_id)))

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


def _found(store: Store, filters: Filters) -> tuple[queries.Found, dict[str, Handling]]:
    found = queries.find(store, filters)
    return found, actions.handling(store, [each.incident_id for each in found.items])


def _detail(store: Store, incident_id: str) -> IncidentDetail | None:
    found = queries.get(store, incident_id)
    if found is None:
        return None
    done = [each.action for each in actions.actions(store, incident_id)]
    return IncidentDetail(
        incident=found.versions[-1],
        versions=found.versions,
        children=found.children,
        handling=handling_of(done),
        actions=done,
    )
