"""/api/v1/maintenance: planned work, for operators."""

from __future__ import annotations

import msgspec
from fastapi import APIRouter, Request
from starlette.responses import Response

from controller.service.http.answers import Refused, answer, document_of, raw_body
from controller.service.http.guard import Guard
from controller.service.site import Site
from controller.tasks.events import MaintenanceEnded, MaintenancePlanned
from schemas.documents.maintenance import Maintenance
from schemas.documents.ping import DEFAULT_FABRIC
from schemas.documents.times import milliseconds_of


class PlanBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Work on a component, from ``from`` (RFC 3339; now, if left out) until ``until``."""

    component: str
    until: str
    reason: str
    start: str = msgspec.field(name="from", default="")
    fabric: str = DEFAULT_FABRIC
    key: str = ""


class EndBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All work on a component that is not over ends now."""

    component: str
    fabric: str = DEFAULT_FABRIC


def router(site: Site, guard: Guard) -> APIRouter:
    """The routes of planned work."""
    routes = APIRouter(prefix="/api/v1/maintenance")

    @routes.get("")
    async def every(request: Request, over: bool = False) -> Response:
        guard.operator(request)
        return answer([each for each in _works(site) if over or _is_ahead(each, site.now_ms())])

    @routes.post("")
    async def add(request: Request) -> Response:
        guard.operator(request)
        wanted = document_of(await raw_body(request, site.parameters.body_bytes), PlanBody)
        now_ms = site.now_ms()
        try:
            event = MaintenancePlanned(
                time_ms=now_ms, source="rest", key=wanted.key, component=wanted.component,
                start_ms=milliseconds_of(wanted.start) if wanted.start else now_ms,
                until_ms=milliseconds_of(wanted.until), reason=wanted.reason, fabric=wanted.fabric,
            )  # fmt: skip
            if (old := _repeated(site, event)) is None:
                await site.apply([event])
                old = next(
                    each
                    for each in _works(site)
                    if _is_of(each, event.fabric, event.component)
                    and milliseconds_of(each.start) == event.start_ms
                )
        except ValueError as why:
            raise Refused(422, str(why), "bad_request") from why
        return answer(old, 201)

    @routes.post("/end")
    async def end(request: Request) -> Response:
        guard.operator(request)
        wanted = document_of(await raw_body(request, site.parameters.body_bytes), EndBody)
        now_ms = site.now_ms()
        mine = [
            each for each in _works(site)
            if _is_of(each, wanted.fabric, wanted.component) and _is_ahead(each, now_ms)
        ]  # fmt: skip
        if not mine:
            raise Refused(404, f"no work on {wanted.component[:100]!r} of that fabric is planned")
        await site.apply([
            MaintenanceEnded(
                time_ms=now_ms, source="rest", component=wanted.component, fabric=wanted.fabric,
                start_ms=milliseconds_of(each.start),
            )
            for each in mine
        ])  # fmt: skip
        over = {(each.component, each.start) for each in mine}
        return answer([each for each in _works(site) if (each.component, each.start) in over])

    return routes


def _works(site: Site) -> list[Maintenance]:
    known = site.state.tasks.maintenance.values()
    return sorted(known, key=lambda each: (milliseconds_of(each.start), each.component))


def _is_ahead(work: Maintenance, now_ms: int) -> bool:
    """Whether it is not over; work that was called off has the shortest time that there is."""
    start_ms, until_ms = milliseconds_of(work.start), milliseconds_of(work.until)
    return until_ms > now_ms and until_ms - start_ms > 1


def _is_of(work: Maintenance, fabric: str, component: str) -> bool:
    return (work.fabric, work.component) == (fabric, component)


def _repeated(site: Site, event: MaintenancePlanned) -> Maintenance | None:
    """The work that an earlier request with this key has planned."""
    if not event.key:
        return None
    return next(
        (
            each
            for each in _works(site)
            if _is_of(each, event.fabric, event.component)
            and each.planned is not None
            and (each.planned.source, each.planned.key) == ("rest", event.key)
        ),
        None,
    )
