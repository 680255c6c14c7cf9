"""/api/v1/incidents/{id}/actions and /timeline, GET /api/v1/feedback."""

from __future__ import annotations

import time
import uuid
from typing import Annotated

from fastapi import APIRouter, Header, Path, Query, Response

from api.access.callers import CALLER
from api.actions import queries
from api.actions.documents import Action, ActionList, Feedback, NewAction, Timeline
from api.actions.feedback import FeedbackFilters, feedback
from api.actions.timeline import timeline
from api.answers.problems import invalid
from api.documents import Problem, answer, described
from api.queries import incidents
from api.queries.database import Database, Store

_BUSY = described(503, Problem)
_Id = Annotated[str, Path(max_length=100)]


def router(database: Database) -> APIRouter:
    """The routes that answer from ``database``."""
    routes = APIRouter(prefix="/api/v1", tags=["actions"])

    @routes.post(
        "/incidents/{incident_id}/actions",
        response_model=None,
        status_code=201,
        responses={
            **described(201, Action), **described(200, Action), **described(403, Problem),
            **described(404, Problem), **described(409, Problem), **described(415, Problem),
            **_BUSY,
        },
        summary="Acknowledge, assign, note, resolve, reopen, or say whether the verdict was right",
        description="A request with the Idempotency-Key of an earlier one has no further effect,"
        " and is answered with 200. Without one each request is an action of its own.",
    )  # fmt: skip
    async def act_on_incident(
        incident_id: _Id,
        wanted: NewAction,
        idempotency_key: Annotated[
            str | None, Header(min_length=1, max_length=100, pattern=r"^[\x21-\x7e]+$")
        ] = None,
    ) -> Response:
        try:
            by = _actor(wanted)
        except ValueError as why:
            return answer(Problem(str(why)), 403)
        key, now_us = _key(idempotency_key), time.time_ns() // 1000
        try:
            stored = await database.run(
                lambda store: queries.add(store, incident_id, key, by, wanted, now_us)
            )
        except queries.NoIncident as why:
            return answer(Problem(str(why)), 404)
        except (queries.OtherContent, queries.TooManyActions) as why:
            return answer(Problem(str(why)), 409)
        return answer(stored.action, 201 if stored.new else 200)

    @routes.get(
        "/incidents/{incident_id}/actions",
        response_model=None,
        responses={**described(200, ActionList), **described(404, Problem), **_BUSY},
        summary="What people did about the incident",
    )
    async def incident_actions(incident_id: _Id) -> Response:
        def query(store: Store) -> ActionList | None:
            if incidents.latest(store, incident_id) is None:
                return None
            return ActionList([each.action for each in queries.actions(store, incident_id)])

        found = await database.run(query)
        return _unknown(incident_id) if found is None else answer(found)

    @routes.get(
        "/incidents/{incident_id}/timeline",
        response_model=None,
        responses={**described(200, Timeline), **described(404, Problem), **_BUSY},
        summary="Versions of the incident and actions on it, in the order of their times",
    )
    async def incident_timeline(incident_id: _Id) -> Response:
        def query(store: Store) -> Timeline | None:
            found = incidents.get(store, incident_id)
            if found is None:
                return None
            done = queries.actions(store, incident_id)
            return timeline(found.versions, [each.action for each in done])

        found = await database.run(query)
        return _unknown(incident_id) if found is None else answer(found)

    @routes.get(
        "/feedback",
        response_model=None,
        responses={**described(200, Feedback), **_BUSY},
        summary="How often verdicts were right in production, by component kind and symptom",
    )
    async def feedback_of_people(filters: Annotated[FeedbackFilters, Query()]) -> Response:
        if filters.since and filters.until and filters.since >= filters.until:
            return answer(invalid("query", "since", "since must be before until"), 422)
        return answer(await database.run(lambda store: feedback(store, filters)))

    return routes


def _actor(wanted: NewAction) -> str:
    """Who acts; raises ValueError where that cannot be or is not known."""
    caller = CALLER.get()
    name = "" if caller is None else caller.name
    if not name:
        if wanted.by is None:
            raise ValueError("say who acts: the field by is missing, and no token says it")
        return wanted.by
    if wanted.by is None or wanted.by == name:
        return name
    if caller is not None and caller.may("admin"):
        return wanted.by
    raise ValueError(f"this token acts as {name!r}; only the role admin acts in another's name")


def _key(given: str | None) -> str:
    """The key of an action. Of a caller of some tenants it has their names before it: the caller
    does not see all actions, and must not put its own in the place of one with an equal key."""
    caller = CALLER.get()
    tenants = () if caller is None else caller.tenants
    return f"{','.join(tenants)}{'/' * bool(tenants)}{given or uuid.uuid4().hex}"


def _unknown(incident_id: str) -> Response:
    return answer(Problem(f"there is no incident {incident_id!r}"), 404)
