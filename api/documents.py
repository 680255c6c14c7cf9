"""Response bodies of the API; incidents are those of ``schemas.documents.incident``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any, Final

import msgspec
from starlette.responses import Response

from api import site_documents, skeleton_documents
from api.actions.documents import Action, Handling, Timeline
from api.runbook.steps import Entry
from schemas.documents.coverage import Coverage
from schemas.documents.incident import Incident

_ENCODER: Final = msgspec.json.Encoder()
#: Headers of every response that is not a page: data that is not cached and never executed.
HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class IncidentPage(msgspec.Struct, frozen=True, kw_only=True):
    """Incidents that match, in the requested order, each in its last version.

    total     matching incidents on all pages [count]
    next      URL of the next page, null on the last
    counts    state -> severity -> incidents that match all filters but state and severity [count]
    explains  incident_id -> incidents that it explains, for the items here that explain any [count]
    handling  incident_id -> what people did about it, for the items here that have any action
    """

    items: list[Incident]
    total: int
    limit: int
    offset: int
    next: str | None
    counts: dict[str, dict[str, int]]
    explains: dict[str, int]
    handling: dict[str, Handling]


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where a component is: names at it, 50 of each kind at most, by the paths that were probed and
    by the topology document.

    switches  that the component is or joins
    counts    how many there are of each kind that has any: host, rnic, tor, pod, container, switch
              [count]
    """

    hosts: list[str] = []
    rnics: list[str] = []
    tors: list[str] = []
    pods: list[str] = []
    containers: list[str] = []
    switches: list[str] = []
    counts: dict[str, int] = {}

    @property
    def by_kind(self) -> dict[str, list[str]]:
        """The same, by kind."""
        return {
            "host": self.hosts, "rnic": self.rnics, "tor": self.tors, "pod": self.pods,
            "container": self.containers,
        }  # fmt: skip


class IncidentAdvice(msgspec.Struct, frozen=True, kw_only=True):
    """Where an incident's component is, and what to check and do.

    next_steps  for each issue type that comes into question, the most probable first
    """

    place: Place
    next_steps: list[Entry]


class PathSeries(msgspec.Struct, frozen=True):
    """What some paths had in windows of 30 s; each list is as long as ``times``, or empty.

    sent    probes [count]; loss: share of them that were lost [1], null without probes
    rtt_us  median over the paths of their median round trip [us], null without answers
    """

    sent: list[int]
    loss: list[float | None]
    rtt_us: list[float | None]


class Series(msgspec.Struct, frozen=True, kw_only=True):
    """An incident's bad paths over time, beside other paths of the same source hosts.

    opened_s, closed_s  first and last bad second, since the epoch [s]; closed_s null while active
    times               beginnings of the windows, since the epoch [s]; step_s apart at least
    """

    opened_s: float
    closed_s: float | None
    step_s: int
    times: list[int]
    bad: PathSeries
    others: PathSeries


class Cell(msgspec.Struct, frozen=True, array_like=True):
    """[src, dst, sent, lost, rtt_us]: numbers of the names of a row and a column, probes from the
    first to the second, and the median of their paths' round trips [us] or null.
    """

    src: int
    dst: int
    sent: int
    lost: int
    rtt_us: float | None


class Matrix(msgspec.Struct, frozen=True, kw_only=True):
    """Cells between ToRs, pods or hosts.

    by                what a name is: tor, pod or host
    since_s, until_s  the time that is added up, since the epoch [s]; null where nothing is stored
    patterns          what it looks like, in sentences
    """

    by: str
    since_s: int | None
    until_s: int | None
    names: list[str]
    cells: list[Cell]
    patterns: list[str]


class IncidentDetail(msgspec.Struct, frozen=True, kw_only=True):
    """One incident: its last version, its history, and the incidents that it explains.

    versions  every version, oldest first; the last equals ``incident``
    children  incidents whose parent is this one, in their last version
    actions   what people did about it, oldest first; handling sums that up
    """

    incident: Incident
    versions: list[Incident]
    children: list[Incident]
    handling: Handling
    actions: list[Action]


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """Paths and incidents at this moment, by the database's clock.

    paths_watched   five-tuple paths with a window stored in the last five minutes [count]
    active          incidents that are not resolved, by severity [count]
    resolved        incidents that are resolved [count]
    stored_age_s    time since the last window was stored [s]; null when none is stored

    An incident that another one explains is counted only if its cause is not stored, is resolved
    while the incident is not, or is less severe.
    """

    paths_watched: int
    active: dict[str, int]
    resolved: int
    stored_age_s: int | None


class CoverageList(msgspec.Struct, frozen=True):
    """What judged probes cross, of each fabric whose topology is known; the newest, by fabric."""

    items: list[Coverage]


class FieldError(msgspec.Struct, frozen=True):
    """What is wrong with one parameter or field; ``loc`` is the way to it."""

    loc: list[str | int]
    msg: str
    type: str


class Problem(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why a request has no result, as RFC 9457 has it.

    detail         one line for people
    status, title  the HTTP status and its name
    errors         of an invalid request, each parameter or field
    """

    detail: str
    errors: list[FieldError] = []
    status: int = 0
    title: str = ""
    type: str = "about:blank"


class Health(msgspec.Struct, frozen=True):
    """The state of this process; ``reason`` says why it is not ready."""

    status: str
    reason: str | None = None


_ALL: Final = (
    IncidentPage, IncidentDetail, IncidentAdvice, Series, Summary, CoverageList, Matrix, Problem,
    Health, Timeline, *site_documents.ALL, *skeleton_documents.ALL,
)  # fmt: skip
_PROBLEM: Final = "application/problem+json"


def finite(value: float | None) -> float | None:
    """A figure of the database in three decimals; null where it has none, or no number."""
    return None if value is None or not math.isfinite(value) else round(float(value), 3)


def answer(document: msgspec.Struct, status: int = 200) -> Response:
    """A document as a response with ``HEADERS``."""
    media_type = "application/json"
    if isinstance(document, Problem):
        media_type, title = _PROBLEM, HTTPStatus(status).phrase
        document = msgspec.structs.replace(document, status=status, title=title)
    return Response(
        _ENCODER.encode(document), status_code=status, media_type=media_type, headers=HEADERS
    )


def described(status: int, document: type[msgspec.Struct]) -> dict[int | str, dict[str, Any]]:
    """The ``responses`` entry of an OpenAPI operation: the document of a status code."""
    text = (document.__doc__ or "").partition("\n")[0]
    media_type = _PROBLEM if document is Problem else "application/json"
    reference = {"$ref": f"#/components/schemas/{document.__name__}"}
    return {status: {"description": text, "content": {media_type: {"schema": reference}}}}


def json_schemas(further: Sequence[type[msgspec.Struct]] = ()) -> dict[str, Any]:
    """JSON Schemas of all documents, for the components of the OpenAPI document.

    further  documents of the parts of the api that have a folder of their own
    """
    _, schemas = msgspec.json.schema_components(
        (*_ALL, *further),
        schema_hook=lambda _: {"description": "any JSON"},  # in evidence
        ref_template="#/components/schemas/{name}",
    )
    return schemas
