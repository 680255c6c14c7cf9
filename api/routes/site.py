"""GET /api/v1/topology, /fleet, /pipeline, /jobs, /jobs/{job} and /jobs/{job}/skeleton."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response

from api.documents import Problem, answer, described
from api.queries.database import Database
from api.queries.site import jobs as job_queries
from api.queries.site.fleet import FleetFilters, fleet
from api.queries.site.pipeline import pipeline
from api.queries.site.skeleton import skeleton
from api.queries.site.topology import TooManyRnics, topology
from api.site_documents import FleetView, JobList, JobView, PipelineView, TopologyView
from api.skeleton_documents import JobSkeleton
from schemas.metrics import Source

_BUSY = described(503, Problem)
_Name = Annotated[str | None, Query(min_length=1, max_length=500)]
_Id = Annotated[str | None, Query(min_length=1, max_length=100)]


def router(database: Database, counters: Sequence[Source] = ()) -> APIRouter:
    """The routes that answer from ``database``.

    counters  sources of metrics of this process, for the pipeline
    """
    routes = APIRouter(prefix="/api/v1", tags=["site"])

    @routes.get(
        "/topology",
        response_model=None,
        responses={
            **described(200, TopologyView), **described(404, Problem), **described(413, Problem),
            **_BUSY,
        },
        summary="A fabric with the health of its rnics, its active incidents, and one's paths",
    )  # fmt: skip
    async def drawing(fabric: _Name = None, incident: _Id = None) -> Response:
        try:
            found = await database.run(lambda store: topology(store, fabric, incident))
        except TooManyRnics as why:
            return answer(Problem(str(why)), 413)
        if found is None:
            return answer(Problem(f"there is no incident {incident!r}"), 404)
        return answer(found)

    @routes.get(
        "/fleet",
        response_model=None,
        responses={**described(200, FleetView), **_BUSY},
        summary="Agents by their heartbeats, those with trouble first",
    )
    async def agents(filters: Annotated[FleetFilters, Query()]) -> Response:
        return answer(await database.run(lambda store: fleet(store, filters)))

    @routes.get(
        "/pipeline",
        response_model=None,
        responses={**described(200, PipelineView), **_BUSY},
        summary="How far judging is, how much comes in, and what could not be used",
    )
    async def progress() -> Response:
        return answer(await database.run(lambda store: pipeline(store, counters)))

    @routes.get(
        "/jobs",
        response_model=None,
        responses={**described(200, JobList), **_BUSY},
        summary="Jobs, those with active incidents first",
    )
    async def job_list() -> Response:
        return answer(await database.run(job_queries.jobs))

    @routes.get(
        "/jobs/{job:path}/skeleton",
        response_model=None,
        responses={**described(200, JobSkeleton), **described(404, Problem), **_BUSY},
        summary="Who exchanges traffic in a job, and how the probes between its rnics fare",
    )
    async def job_skeleton(job: Annotated[str, Path(max_length=500)]) -> Response:
        found = await database.run(lambda store: skeleton(store, job))
        if found is None:
            return answer(Problem(f"no container and no incident names a job {job!r}"), 404)
        return answer(found)

    @routes.get(
        "/jobs/{job:path}",  # names of schedulers may contain a slash
        response_model=None,
        responses={**described(200, JobView), **described(404, Problem), **_BUSY},
        summary="One job: whether it is the network, where it runs, who is slow",
    )
    async def one_job(job: Annotated[str, Path(max_length=500)]) -> Response:
        found = await database.run(lambda store: job_queries.job(store, job))
        if found is None:
            return answer(Problem(f"no container and no incident names a job {job!r}"), 404)
        return answer(found)

    return routes
