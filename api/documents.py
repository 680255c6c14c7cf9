"""Response bodies of the API; incidents are those of ``schemas.documents.incident``."""

from __future__ import annotations

from typing import Any, Final

import msgspec
from starlette.responses import Response

from schemas.documents.incident import Incident

_ENCODER: Final = msgspec.json.Encoder()
#: Of every answer that is not a page: it is data, kept by no cache and run by no browser.
HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class IncidentPage(msgspec.Struct, frozen=True, kw_only=True):
    """Incidents that match, in the order asked for, each in its last version.

    total     how many match in all; next: where the following page is, null on the last
    counts    state -> severity -> how many match all filters but those of state and severity
    explains  incident_id -> how many others it explains, of the items here that explain any
    """

    items: list[Incident]
    total: int
    limit: int
    offset: int
    next: str | None
    counts: dict[str, dict[str, int]]
    explains: dict[str, int]


class IncidentDetail(msgspec.Struct, frozen=True, kw_only=True):
    """One incident: what is believed now, how that came about, and what it explains.

    versions  every version, oldest first; the last equals ``incident``
    children  incidents that have this one as their cause, in their last version
    """

    incident: Incident
    versions: list[Incident]
    children: list[Incident]


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """What is being watched, by the database's clock.

    paths_watched   five-tuple paths with a window stored in the last five minutes
    active          incidents not resolved, by severity
    resolved        incidents resolved
    stored_age_s    seconds since a window was stored; null when none is kept

    Of incidents that another one explains only those are counted that it does not cover: its cause
    is not stored, is resolved while they are not, or is less severe.
    """

    paths_watched: int
    active: dict[str, int]
    resolved: int
    stored_age_s: int | None


class Problem(msgspec.Struct, frozen=True):
    """Why there is no answer."""

    detail: str


class Health(msgspec.Struct, frozen=True):
    """The state of this process; ``reason`` says what is missing."""

    status: str
    reason: str | None = None


_ALL: Final = (IncidentPage, IncidentDetail, Summary, Problem, Health)


def answer(document: msgspec.Struct, status: int = 200) -> Response:
    """A document as a response with ``HEADERS``."""
    return Response(
        _ENCODER.encode(document),
        status_code=status,
        media_type="application/json",
        headers=HEADERS,
    )


def described(status: int, document: type[msgspec.Struct]) -> dict[int | str, dict[str, Any]]:
    """The entry of an OpenAPI operation that says which document a status comes with."""
    text = (document.__doc__ or "").partition("\n")[0]
    reference = {"$ref": f"#/components/schemas/{document.__name__}"}
    return {status: {"description": text, "content": {"application/json": {"schema": reference}}}}


def json_schemas() -> dict[str, Any]:
    """JSON Schemas of all documents, for the components of the OpenAPI document."""
    _, schemas = msgspec.json.schema_components(
        _ALL,
        schema_hook=lambda _: {"description": "any JSON"},  # in evidence
        ref_template="#/components/schemas/{name}",
    )
    return schemas
