"""GET /api/v1/stream."""

from __future__ import annotations

from typing import Annotated, Any, Final

from fastapi import APIRouter, Header, Response
from fastapi.responses import StreamingResponse

from api.documents import HEADERS, Problem, answer, described
from api.incident_feed import IncidentFeed, NotForTenants, TooManyStreams

_EVENTS: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "Server-sent events named incident: data is the document of one version, id"
        " the second in which it was stored. Each is sent at least once.",
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
    }
}


def router(feed: IncidentFeed) -> APIRouter:
    """The route that streams from ``feed``."""
    routes = APIRouter(prefix="/api/v1", tags=["incidents"])

    @routes.get(
        "/stream",
        response_model=None,
        responses={**_EVENTS, **described(503, Problem)},
        summary="New versions of incidents, as soon as they are stored",
    )
    async def stream(
        last_event_id: Annotated[
            int | None,
            Header(ge=0, le=2**40, description="Id of the newest event that the client has"),
        ] = None,
    ) -> Response:
        try:
            events = await feed.open(last_event_id)
        except TooManyStreams:
            return answer(Problem("too many streams are open; poll /api/v1/incidents"), 503)
        except NotForTenants:
            return answer(Problem("a token of some tenants polls /api/v1/incidents instead"), 403)
        return StreamingResponse(events, media_type="text/event-stream", headers=HEADERS)

    return routes
