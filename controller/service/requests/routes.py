"""/api/v1/agents/{node_sn}/requests for agents; probes and evidence for operators."""

from __future__ import annotations

import re
import secrets
from collections.abc import AsyncIterator
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Query, Request
from starlette.responses import Response, StreamingResponse

from controller.requests.on_demand import Ask, Forbidden, Unknown, request_of
from controller.service.http.answers import HEADERS, Refused, answer, document_of, raw_body
from controller.service.http.guard import Guard
from controller.service.requests.desk import AsyncAnswers, RequestDesk, TooMuch
from controller.service.site import Site
from schemas.documents.requests import request as requests
from schemas.documents.requests.evidence import Evidence

_ETAG = re.compile(r'"([^"]*)"')


class EvidenceAnswer(msgspec.Struct, frozen=True):
    """What agents are asked for an incident, and the newest of what they have answered."""

    incident_id: str
    open: list[requests.Request]
    evidence: list[Evidence]


class OpenAnswer(msgspec.Struct, frozen=True):
    """All open requests of a host."""

    requests: list[requests.Request]


def router(site: Site, guard: Guard, desk: RequestDesk) -> APIRouter:
    """The routes of requests."""
    routes = APIRouter(prefix="/api/v1")

    @routes.get("/agents/{node_sn}/requests")
    async def open_requests(
        node_sn: str, request: Request, wait_s: Annotated[float, Query(ge=0)] = 0.0
    ) -> Response:
        host = guard.agent(node_sn, request)
        had = _ETAG.findall(request.headers.get("if-none-match", ""))
        etag = desk.etag(host)
        if etag in had and wait_s:
            await desk.changed(host, etag, wait_s)
            etag = desk.etag(host)
        headers = {"ETag": f'"{etag}"'}
        if etag in had:
            return Response(status_code=304, headers={**HEADERS, **headers})
        return answer(OpenAnswer(desk.requests(host)), headers=headers)

    @routes.get("/incidents/{incident_id}/evidence")
    async def evidence(incident_id: str, request: Request) -> Response:
        guard.operator(request)
        open_ = [each for each in desk.open if each.incident_id == incident_id]
        found = desk.evidence.of(incident_id)
        if not open_ and not found and incident_id not in site.advice.incidents:
            raise Refused(404, f"nothing was asked for incident {incident_id[:100]!r}")
        return answer(EvidenceAnswer(incident_id, open_, found))

    @routes.post("/probes")
    async def probes(request: Request) -> Response:
        operator = guard.operator(request)
        if desk.unread:
            raise Refused(503, f"answers of agents are not read: {desk.unread}")
        ask = document_of(await raw_body(request, site.parameters.body_bytes), Ask)
        try:
            made = request_of(
                ask, site.state.lists, operator, f"probe-{secrets.token_hex(8)}", site.now_ms(),
                desk.parameters,
            )  # fmt: skip
            answers = await desk.answers(made)
        except Unknown as why:
            raise Refused(404, str(why)) from why
        except Forbidden as why:
            raise Refused(409, str(why)) from why
        except TooMuch as why:
            raise Refused(429, str(why)) from why
        except ValueError as why:
            raise Refused(422, str(why), "bad_request") from why
        return StreamingResponse(
            _lines(answers, desk), media_type="application/x-ndjson", headers=HEADERS
        )

    return routes


async def _lines(answers: AsyncAnswers, desk: RequestDesk) -> AsyncIterator[bytes]:
    """A line for the request, one for each result, one for the end; empty ones between."""
    sent = answered = 0
    try:
        yield _line("request", answers.request)
        while not desk.waiting.closed:
            found = await answers.next(1.0)
            if found is None:
                yield b"\n"  # so that a caller who has gone is noticed
                continue
            sent, answered = max(sent, found.sent), max(answered, found.answered)
            for probe in found.probes:
                yield _line("probe", probe)
            for route in found.routes:
                yield _line("route", route)
            if found.state != "running":
                end = {"state": found.state, "reason": found.reason, "sent": sent,
                       "answered": answered, "left_out": found.left_out}  # fmt: skip
                yield _line("end", end)
                return
    finally:
        answers.close()


def _line(kind: str, document: Any) -> bytes:
    return msgspec.json.encode({kind: document}) + b"\n"
