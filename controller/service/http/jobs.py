"""/api/v1/jobs and /api/v1/events: jobs and containers, from operators and schedulers."""

from __future__ import annotations

from typing import Any

import msgspec
from fastapi import APIRouter, Request
from starlette.responses import Response

from controller.service.http.answers import Refused, answer, document_of, raw_body
from controller.service.http.guard import Guard
from controller.service.http.submission_keys import key_of, repeats
from controller.service.site import Site
from controller.sources import declared
from controller.sources.declared import DeclaredJob
from controller.tasks.events import (
    AnyEvent,
    Box,
    ContainerPlaced,
    ContainerReplaced,
    JobGrown,
    JobSubmitted,
)
from schemas.addresses import canonical
from schemas.documents.ping import DEFAULT_FABRIC
from schemas.documents.tasks.claims import State, Statement
from schemas.documents.tasks.job import Job
from schemas.documents.times import milliseconds_of


class JobBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A job to be watched, as ``JobSubmitted``. key: of the submission; without one, it follows
    from the content."""

    job: str
    key: str = ""
    tenant: str = ""
    fabric: str = DEFAULT_FABRIC
    size: int = 0
    skeleton: bool = True
    containers: list[Box] = []


class GrowthBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Containers that join a job, as ``JobGrown``."""

    containers: list[Box]
    key: str = ""
    size: int = 0


class Member(msgspec.Struct, frozen=True):
    """A container of a job."""

    node_id: str
    node_sn: str
    state: State


class JobStatus(msgspec.Struct, frozen=True):
    """A job, its containers that are not gone, and by fabric what its lists are made of."""

    job: Job
    containers: list[Member]
    lists: dict[str, dict[str, Any]]


class JobChange(msgspec.Struct, frozen=True):
    """A job that was declared, and how many events made it so; 0: it was so already."""

    status: JobStatus
    events: int


def router(site: Site, guard: Guard) -> APIRouter:
    """The routes of jobs."""
    routes = APIRouter(prefix="/api/v1")

    async def body(request: Request) -> bytes:
        return await raw_body(request, site.parameters.body_bytes)

    @routes.post("/jobs")
    async def submit(request: Request) -> Response:
        guard.operator(request)
        raw = await body(request)
        wanted = document_of(raw, JobBody)
        key = key_of(request, wanted.key, wanted)
        old = site.state.tasks.jobs.get(wanted.job)
        repeated = old is not None and repeats(old.submitted, key)
        event = JobSubmitted(
            time_ms=_time_ms(site, old.submitted if old and repeated else None),
            source="rest", key=key, job=wanted.job, tenant=wanted.tenant, fabric=wanted.fabric,
            size=wanted.size, skeleton=wanted.skeleton, containers=wanted.containers,
        )  # fmt: skip
        await apply(site, [event])
        return answer(status(site, wanted.job), 200 if repeated else 201)

    @routes.put("/jobs/{job:path}")
    async def declare(job: str, request: Request) -> Response:
        guard.operator(request)
        raw = await body(request)
        wanted = document_of(raw, DeclaredJob)
        if wanted.job != job:
            raise Refused(422, f"job: the body says {wanted.job[:100]!r}", "bad_request")
        by = declared.Saying("rest", site.now_ms(), key=key_of(request, "", wanted))
        found = await apply_declared(site, wanted, by)
        return answer(JobChange(status(site, job), len(found)))

    @routes.post("/jobs/{job:path}/containers")
    async def grow(job: str, request: Request) -> Response:
        guard.operator(request)
        raw = await body(request)
        wanted = document_of(raw, GrowthBody)
        _known(site, job)
        key = key_of(request, wanted.key, wanted)
        before = [
            claim
            for each in wanted.containers
            if (box := site.state.tasks.placements.get(each.node_id)) is not None
            for claim in box.claims
            if claim.state == "starting" and repeats(claim, key)
        ]
        event = JobGrown(
            time_ms=milliseconds_of(before[0].valid_from) if before else site.now_ms(),
            source="rest", key=key, job=job, size=wanted.size, containers=wanted.containers,
        )  # fmt: skip
        await apply(site, [event])
        return answer(status(site, job))

    @routes.get("/jobs")
    async def every(request: Request) -> Response:
        guard.operator(request)
        return answer([status(site, name) for name in sorted(site.state.tasks.jobs)])

    @routes.get("/jobs/{job:path}")
    async def one(job: str, request: Request) -> Response:
        guard.operator(request)
        return answer(status(site, job))

    @routes.delete("/jobs/{job:path}")
    async def end(job: str, request: Request) -> Response:
        guard.operator(request)
        _known(site, job)
        by = declared.Saying("rest", site.now_ms())
        # without an event too: what an earlier request could not store
        await apply(site, declared.end(job, site.state.tasks, by))
        return answer(status(site, job))

    @routes.post("/events")
    async def events(request: Request) -> Response:
        guard.operator(request)
        given = document_of(await body(request), AnyEvent | list[AnyEvent])  # type: ignore[arg-type]  # a union
        happened: list[AnyEvent] = given if isinstance(given, list) else [given]
        if any(each.source == "agent" for each in happened):
            raise Refused(422, "source agent: agents register by themselves", "bad_request")
        await apply(site, happened)
        return answer({"applied": len(happened)})

    return routes


async def apply(site: Site, events: list[AnyEvent]) -> None:
    """Take events in; raises Refused for events that must not reach a list."""
    for event in events:
        for box in _boxes(event):
            for end in box.endpoints:
                for address in (end.ip, end.real_ip):
                    _check_address(box.node_id, address)
    try:
        await site.apply(events)
    except ValueError as why:
        raise Refused(422, str(why), "bad_request") from why


async def apply_declared(site: Site, wanted: DeclaredJob, by: declared.Saying) -> list[AnyEvent]:
    """Make the job as it is declared; returns the events. Raises Refused."""
    try:
        found = declared.events(wanted, site.state.tasks, site.hosts(wanted.fabric), by)
    except ValueError as why:
        raise Refused(422, str(why), "bad_request") from why
    await apply(site, found)
    return found


def _boxes(event: AnyEvent) -> list[Box]:
    if isinstance(event, JobSubmitted | JobGrown):
        return event.containers
    if isinstance(event, ContainerPlaced):
        return [event.container]
    return [event.by] if isinstance(event, ContainerReplaced) else []


def _check_address(node_id: str, address: str) -> None:
    """Agents refuse a whole list for one address that is none."""
    try:
        spelling = canonical(address)
    except ValueError:
        spelling = ""
    if spelling != address:
        why = f"is {spelling} in its canonical spelling" if spelling else "is not an IP address"
        raise Refused(422, f"container {node_id}: {address[:100]!r} {why}", "bad_request")


def _known(site: Site, name: str) -> Job:
    job = site.state.tasks.jobs.get(name)
    if job is None:
        raise Refused(404, f"no job {name[:100]!r} is known")
    return job


def status(site: Site, name: str) -> JobStatus:
    """The job's status; raises Refused where it is not known."""
    members = site.state.tasks.members(name)
    lists = {fabric: phase._asdict() for fabric, phase in site.phases(name).items()}
    return JobStatus(
        _known(site, name), [Member(each.node_id, each.node_sn, each.state) for each in members],
        lists,
    )  # fmt: skip


def _time_ms(site: Site, before: Statement | None) -> int:
    """That of the first request: the same event has the same time, and so no effect."""
    return site.now_ms() if before is None else milliseconds_of(before.valid_from)
