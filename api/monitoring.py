"""Responses for monitoring: liveness, readiness, metrics of this process.

``api.routes.health`` serves them within the api, ``api.routes.monitoring_app`` on their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from starlette.responses import Response

from api.actions.feedback import verdicts
from api.documents import HEADERS, Health, Summary, answer
from api.metrics import render
from api.queries import incidents
from api.queries.database import Database, DatabaseError
from api.queries.incidents import Active
from schemas.metrics import Sample, Source
from schemas.metrics import api as metrics

#: A readiness check: None, or why this process is not ready, without any address in the text.
#: Called on an event loop: it must not block.
Ready = Callable[[], str | None]
#: Families with a series for each active incident.
_NAMING: Final = (metrics.API_INCIDENT, metrics.API_DETECTED)
_TEXT: Final = "text/plain; version=0.0.4; charset=utf-8"


class Monitoring:
    """The responses of one process.

    counters  sources of metrics, each called at a scrape
    ready     checks, each called by ``readyz``
    database  of an api; None in a process that serves no data
    """

    def __init__(
        self,
        counters: Sequence[Source] = (),
        ready: Sequence[Ready] = (),
        database: Database | None = None,
    ) -> None:
        self._counters = counters
        self._ready = ready
        self._database = database
        self._stopping = False

    def stop(self) -> None:
        """From now on this process is not ready: it answers only those who still ask."""
        self._stopping = True

    async def healthz(self) -> Response:
        """200 as long as this process runs; does not block."""
        return answer(Health("alive"))

    async def readyz(self) -> Response:
        """200 when the database and all checks are ready, else 503 with the reason."""
        reason = await self._not_ready()
        if reason is None:
            return answer(Health("ready"))
        return answer(Health("not ready", reason), 503)

    async def exposition(self, *, incidents_named: bool = True) -> Response:
        """Metrics in Prometheus' text format; without the database, only those of this process.

        incidents_named  with the series that name components and incidents
        """
        sources = [*self._counters]
        if self._database is not None:
            found = await self._database_gauges(self._database)
            gauges = [each for each in found if incidents_named or each.metric not in _NAMING]
            sources.append(lambda: gauges)
        return Response(render(sources), media_type=_TEXT, headers=HEADERS)

    async def _not_ready(self) -> str | None:
        if self._stopping:
            return "stopping"
        if self._database is not None and (reason := await self._database.not_ready()):
            return reason
        return next((reason for each in self._ready if (reason := each())), None)

    async def _database_gauges(self, database: Database) -> list[Sample]:
        reason = await database.not_ready()
        ready = reason is None and not any(each() for each in self._ready)
        gauges: list[Sample] = []
        if reason is None:
            try:
                found = await database.run(incidents.summary, database.ready_s)
                active = await database.run(incidents.active, database.ready_s)
                said = await database.run(verdicts, database.ready_s)
                gauges = [*_of_summary(found), *_of_incidents(active), *_of_verdicts(said)]
            except DatabaseError:
                gauges = []  # logged by the database; the gauges have a gap
        return [Sample(metrics.API_READY, ready), *gauges]


def _of_incidents(found: Sequence[Active]) -> Iterator[Sample]:
    for each in found:
        labels = (
            each.fabric, each.component, each.kind, each.layer, each.symptom, each.issue_type,
            each.severity, each.incident_id,
        )  # fmt: skip
        yield Sample(metrics.API_INCIDENT, 1, labels)
        yield Sample(metrics.API_DETECTED, each.detected_s, (each.incident_id,))


def _of_verdicts(found: Mapping[str, int]) -> Iterator[Sample]:
    for verdict, number in found.items():
        yield Sample(metrics.API_FEEDBACK, number, (verdict,))


def _of_summary(found: Summary) -> Iterator[Sample]:
    yield Sample(metrics.API_PATHS, found.paths_watched)
    if found.stored_age_s is not None:
        yield Sample(metrics.API_STORED_AGE, found.stored_age_s)
    for severity in ("P0", "P1", "P2"):
        yield Sample(metrics.API_INCIDENTS, found.active.get(severity, 0), (severity,))
