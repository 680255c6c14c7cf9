"""/api/v1/slurm: what slurmctld's hooks and ``squeue`` say of jobs."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl

import msgspec
from fastapi import APIRouter, Request
from starlette.responses import Response

from controller.service.http.answers import Refused, answer, document_of, raw_body
from controller.service.http.guard import Guard
from controller.service.http.jobs import apply, apply_declared
from controller.service.site import Site
from controller.sources import declared
from controller.sources.declared import DeclaredJob
from controller.sources.slurm.hostlist import HostListError
from controller.sources.slurm.slurm_jobs import SlurmJob, is_of
from schemas.documents.ping import DEFAULT_FABRIC
from schemas.documents.times import milliseconds_of


class HookBody(SlurmJob, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a hook sends, as a form: shells cannot quote JSON."""

    fabric: str = DEFAULT_FABRIC


class QueueBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All jobs of a cluster that run at ``taken_ms`` [ms since the epoch]."""

    jobs: list[SlurmJob]
    taken_ms: int
    cluster: str = ""
    fabric: str = DEFAULT_FABRIC


class Reported(msgspec.Struct, frozen=True):
    """The answer: jobs that have hosts of the fabric, jobs that have ended, events that followed.

    ignored  jobs without any host of the fabric
    """

    jobs: list[str]
    ended: list[str] = []
    ignored: list[str] = []
    events: int = 0


def router(site: Site, guard: Guard) -> APIRouter:
    """The routes for Slurm."""
    routes = APIRouter(prefix="/api/v1/slurm")

    async def body(request: Request) -> bytes:
        return await raw_body(request, site.parameters.body_bytes)

    @routes.post("/start")
    async def start(request: Request) -> Response:
        guard.operator(request)
        job = _form(await body(request))
        wanted = _declared(site, job, job.fabric)
        if wanted is None:
            return answer(Reported([], ignored=[job.name]))
        found = await apply_declared(site, wanted, _by(site, job))
        return answer(Reported([job.name], events=len(found)))

    @routes.post("/end")
    async def end(request: Request) -> Response:
        guard.operator(request)
        job = _form(await body(request))
        if job.name not in site.state.tasks.jobs:
            return answer(Reported([], ignored=[job.name]))
        found = declared.end(job.name, site.state.tasks, _by(site, job))
        await apply(site, found)
        return answer(Reported([], ended=[job.name], events=len(found)))

    @routes.put("/jobs")
    async def queue(request: Request) -> Response:
        guard.operator(request)
        wanted = document_of(await body(request), QueueBody)
        running, ignored, events = {}, [], 0
        for job in wanted.jobs:
            known = _declared(site, job, wanted.fabric)
            if known is None:
                ignored.append(job.name)
            else:
                running[job.name] = (known, _by(site, job))
        over = [
            name for name in _begun(site, wanted)
            if name not in running
        ]  # fmt: skip
        for name in over:
            found = declared.end(name, site.state.tasks, declared.Saying("slurm", site.now_ms()))
            await apply(site, found)
            events += len(found)
        for known, by in running.values():
            events += len(await apply_declared(site, known, by))
        return answer(Reported([*running], over, ignored, events))

    return routes


def _form(raw: bytes) -> HookBody:
    try:
        fields: dict[str, Any] = dict(parse_qsl(raw.decode(), max_num_fields=20))
        return msgspec.convert(fields, HookBody, strict=False)
    except (ValueError, msgspec.ValidationError) as why:
        raise Refused(422, f"form: {why}", "bad_request") from why


def _declared(site: Site, job: SlurmJob, fabric: str) -> DeclaredJob | None:
    try:
        return job.declared(fabric, site.hosts(fabric))
    except HostListError as why:
        raise Refused(422, str(why), "bad_request") from why


def _by(site: Site, job: SlurmJob) -> declared.Saying:
    return declared.Saying("slurm", site.now_ms(), job.start_ms, f"slurm/{job.job_id}")


def _begun(site: Site, queue: QueueBody) -> list[str]:
    """Slurm's jobs of the cluster that had begun when the queue was read, and have not ended."""
    return sorted(
        name
        for name, job in site.state.tasks.jobs.items()
        if is_of(name, queue.cluster)
        and job.submitted is not None
        and job.submitted.source == "slurm"
        and milliseconds_of(job.submitted.valid_from) < queue.taken_ms
        and not declared.is_over(job)
    )
