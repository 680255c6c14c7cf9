"""/api/v1/jobs/{job}/skeleton: what is known of a job's traffic, and whether its lists use it."""

from __future__ import annotations

import msgspec
from fastapi import APIRouter, Request
from starlette.responses import Response

from controller.ping_lists.jobs.rings import Phase
from controller.service.http.answers import Refused, answer
from controller.service.http.guard import Guard
from controller.service.site import Site
from schemas.documents.tasks.skeleton import Skeleton


class SkeletonStatus(msgspec.Struct, frozen=True):
    """The skeleton of a job in one fabric.

    phase     of its ping lists: preload, activation, skeleton
    reason    why they use the skeleton, or why not
    seconds   of throughput since the last change of its containers
    next_s    of throughput at which a skeleton is inferred the next time
    waits     why none is inferred; empty where one is, or will be
    inferred  the last inference, used or declined: its confidence, the position of each rnic, all
              pairs that may carry traffic; null before the first one
    """

    fabric: str
    phase: Phase
    reason: str
    seconds: int
    next_s: int
    waits: str
    inferred: Skeleton | None


class SkeletonAnswer(msgspec.Struct, frozen=True):
    """One status for each fabric in which the job has containers."""

    job: str
    fabrics: list[SkeletonStatus]


def router(site: Site, guard: Guard) -> APIRouter:
    """The route of skeletons."""
    routes = APIRouter(prefix="/api/v1")

    @routes.get("/jobs/{job:path}/skeleton")
    async def skeleton(job: str, request: Request) -> Response:
        guard.operator(request)
        phases = site.phases(job)
        if not phases and job not in site.state.tasks.jobs:
            raise Refused(404, f"no job {job[:100]!r} is known")
        return answer(
            SkeletonAnswer(
                job,
                [
                    SkeletonStatus(
                        fabric, phase.phase, phase.reason, *site.traffic.progress(fabric, job)
                    )
                    for fabric, phase in phases.items()
                ],
            )
        )

    return routes
