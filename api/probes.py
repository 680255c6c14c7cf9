"""What machines ask of a process: does it live, does it work, what has it counted.

The answers are the same by whichever server: ``api.routes.health`` puts them into the api,
``api.routes.machine`` serves them alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from starlette.responses import Response

from api.documents import HEADERS, Health, Summary, answer
from api.metrics import render
from api.queries import incidents
from api.queries.database import Database, DatabaseError
from schemas import metrics

#: None when this process does its work, else why it does not, in words that name no address.
#: Called on an event loop: it looks at what the process knows already and waits for nothing.
Ready = Callable[[], str | None]
_TEXT: Final = "text/plain; version=0.0.4; charset=utf-8"


class Probes:
    """Answers for machines.

    counters  each called at a scrape; ready: each called by ``readyz``
    database  of an api; None in a process that serves no data
    """

    def __init__(
        self,
        counters: Sequence[metrics.Source] = (),
        ready: Sequence[Ready] = (),
        database: Database | None = None,
    ) -> None:
        self._counters = counters
        self._ready = ready
        self._database = database

    async def healthz(self) -> Response:
        """200 as long as this process runs; asks nothing and waits for nothing."""
        return answer(Health("alive"))

    async def readyz(self) -> Response:
        """200 when the database answers and the workers work, else 503 with the reason."""
        reason = await self._obstacle()
        if reason is None:
            return answer(Health("ready"))
        return answer(Health("not ready", reason), 503)

    async def exposition(self) -> Response:
        """Prometheus' text; without the database only what this process counts itself."""
        sources = [*self._counters]
        if self._database is not None:
            own = await self._own(self._database)
            sources.append(lambda: own)
        return Response(render(sources), media_type=_TEXT, headers=HEADERS)

    async def _obstacle(self) -> str | None:
        if self._database is not None and (reason := await self._database.obstacle()):
            return reason
        return next((reason for each in self._ready if (reason := each())), None)

    async def _own(self, database: Database) -> list[metrics.Sample]:
        away = await database.obstacle()
        ready = away is None and not any(each() for each in self._ready)
        found: Summary | None = None
        if away is None:
            try:
                found = await database.ask(incidents.summary, database.ready_s)
            except DatabaseError:
                found = None  # logged there; the gap in the gauges says it
        return [metrics.Sample(metrics.API_READY, ready), *_gauges(found)]


def _gauges(found: Summary | None) -> Iterator[metrics.Sample]:
    if found is None:
        return
    yield metrics.Sample(metrics.API_PATHS, found.paths_watched)
    for severity in ("P0", "P1", "P2"):
        yield metrics.Sample(metrics.API_INCIDENTS, found.active.get(severity, 0), (severity,))
