"""/api/v1/coverage: which links the present lists cross, and what loss would be named there."""

from __future__ import annotations

from typing import Any

import msgspec
from fastapi import APIRouter, Request
from starlette.responses import Response

from controller.service.http.answers import Refused, answer
from controller.service.http.guard import Guard
from controller.service.site import Site
from schemas.documents.times import rfc3339_of_ms


class CoverageAnswer(msgspec.Struct, frozen=True):
    """The coverage of a fabric's lists as they were ``since``.

    uncovered   links that no five-tuple crosses; uncertain: perhaps none
    unnameable  links that are crossed, but by too few source hosts to name any loss
    links       every link, where they were asked for
    """

    fabric: str
    since: str
    five_tuples: int
    probes_per_s: float
    tiers: list[dict[str, Any]]
    uncovered: list[str]
    uncertain: list[str]
    unnameable: list[str]
    links: list[dict[str, Any]] | None


def router(site: Site, guard: Guard) -> APIRouter:
    """The route of coverage."""
    routes = APIRouter(prefix="/api/v1")

    @routes.get("/coverage/{fabric}")
    async def coverage(fabric: str, request: Request, links: bool = False) -> Response:
        guard.operator(request)
        known = site.coverage.of.get(fabric)
        if known is None:
            if fabric in site.state.lists:
                raise Refused(503, "the coverage of this fabric is being counted")
            raise Refused(404, f"no topology of fabric {fabric[:100]!r} is published")
        found = known.found
        return answer(
            CoverageAnswer(
                fabric, rfc3339_of_ms(known.since_ms), found.five_tuples, found.probes_per_s,
                [each._asdict() for each in found.tiers()],
                found.uncovered(), found.uncertain(), found.unnameable(),
                [each._asdict() for each in found.links] if links else None,
            )
        )  # fmt: skip

    return routes
