"""/api/v1/agents: registration and ping list of a host, for its own agent."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Query, Request
from starlette.responses import Response, StreamingResponse

from controller.service.http.answers import HEADERS, Refused, answer, document_of, raw_body
from controller.service.http.guard import Guard
from controller.service.site import Site
from controller.state import Host

_ETAG = re.compile(r'"([^"]*)"')


class RegistrationBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a host's agent says when it registers.

    containers  node_ids of all containers of the host that are ready; null: it says nothing of them
    """

    containers: list[str] | None = None


class RegistrationAnswer(msgspec.Struct, frozen=True):
    """``again_s``: when to register again [s]; ``unknown``: sooner, since no source has placed
    these containers on the host yet."""

    fabric: str
    node_sn: str
    known: bool
    ready: list[str]
    unknown: list[str]
    again_s: float


class ListDelta(msgspec.Struct, frozen=True):
    """What a list has become since it had the ETag ``since``.

    endpoints  all own endpoints, as in the list
    added      targets to add, or to replace by (src_ip, ip)
    removed    (src_ip, ip) of targets to remove
    """

    since: str
    etag: str
    interval_s: float
    endpoints: list[dict[str, Any]]
    added: list[dict[str, Any]]
    removed: list[tuple[str, str]]


def router(site: Site, guard: Guard) -> APIRouter:
    """The routes of agents."""
    routes = APIRouter(prefix="/api/v1/agents")

    @routes.post("/{node_sn}/register")
    async def register(node_sn: str, request: Request) -> Response:
        host = guard.agent(node_sn, request)
        raw = await raw_body(request, site.parameters.body_bytes)
        body = document_of(raw or b"{}", RegistrationBody)
        found = await site.register(host, body.containers)
        return answer(
            RegistrationAnswer(
                *host, found.known, found.ready, found.unknown, site.parameters.register_every_s
            )
        )

    @routes.delete("/{node_sn}/register")
    async def withdraw(node_sn: str, request: Request) -> Response:
        await site.withdraw(guard.agent(node_sn, request))
        return Response(status_code=204)

    @routes.get("/{node_sn}/ping-list")
    async def ping_list(
        node_sn: str,
        request: Request,
        wait_s: Annotated[float, Query(ge=0)] = 0.0,
        delta: bool = False,
    ) -> Response:
        host = guard.agent(node_sn, request)
        had = _ETAG.findall(request.headers.get("if-none-match", ""))
        etag = _etag(site, host)
        if etag in had and wait_s:
            await _changed(site, host, etag, wait_s)
            etag = _etag(site, host)
        headers = {"ETag": f'"{etag}"'}
        if etag in had:
            return Response(status_code=304, headers={**HEADERS, **headers})
        if delta and had and (found := _delta(site, host, had[0])) is not None:
            return answer(found, headers=headers)
        return answer(site.ping_list(host), headers=headers)

    @routes.get("/{node_sn}/ping-list/events")
    async def events(node_sn: str, request: Request) -> Response:
        host = guard.agent(node_sn, request)
        _etag(site, host)
        return StreamingResponse(
            _events(site, host), media_type="text/event-stream", headers=HEADERS
        )

    return routes


async def _events(site: Site, host: Host) -> AsyncIterator[bytes]:
    """The whole list first, then deltas; a comment line where nothing changes for long."""
    had: str | None = None
    while not site.waiting.closed:
        etag = site.etag(host)
        if etag is None:
            return
        if etag == had:
            yield b": unchanged\n\n"
        else:
            change = None if had is None else _delta(site, host, had)
            kind = "list" if change is None else "delta"
            data = msgspec.json.encode(site.ping_list(host) if change is None else change)
            yield f"event: {kind}\nid: {etag}\ndata: ".encode() + data + b"\n\n"
        had = etag
        await _changed(site, host, etag, site.parameters.longest_wait_s / 4)


async def _changed(site: Site, host: Host, etag: str, wait_s: float) -> None:
    await site.changed(host, etag, wait_s, asyncio.get_running_loop().time)


def _etag(site: Site, host: Host) -> str:
    etag = site.etag(host)
    if etag is None:
        raise Refused(404, f"host {host[1]!r} is in no published topology of fabric {host[0]!r}")
    return etag


def _delta(site: Site, host: Host, since: str) -> ListDelta | None:
    change = site.delta(host, since)
    if change is None:
        return None
    return ListDelta(
        since, change.etag, change.interval_s, site.own(host), change.added, change.removed
    )
