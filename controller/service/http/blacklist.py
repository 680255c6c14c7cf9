"""/api/v1/blacklist: hosts that schedulers had better leave out, by the open incidents."""

from __future__ import annotations

from typing import Literal

import msgspec
from fastapi import APIRouter, Request
from starlette.responses import PlainTextResponse, Response

from controller.blacklist import formats
from controller.service.http.answers import HEADERS, answer
from controller.service.http.guard import Guard
from controller.service.site import Site


def router(site: Site, guard: Guard) -> APIRouter:
    """The route of the blacklist."""
    routes = APIRouter(prefix="/api/v1")

    @routes.get("/blacklist")
    async def blacklist(
        request: Request, format: Literal["json", "k8s", "slurm"] = "json"
    ) -> Response:
        guard.operator(request)
        listed = site.blacklist()
        if format == "k8s":
            return answer(formats.kubernetes(listed))
        if format == "slurm":
            return PlainTextResponse(formats.slurm(listed), headers=HEADERS)
        return answer(msgspec.structs.replace(listed, resolved=site.resolved()))

    return routes
