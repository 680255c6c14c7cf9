"""Versions of incidents as server-sent events, as soon as they are stored.

One poll of the database serves all streams. An event is sent at least once: its id is the second in
which it was stored, and a client that reconnects with it gets all of that second again, and what
was stored some seconds before, for rows of a second may become visible one after another.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Iterator
from functools import partial
from typing import Any, Final, NamedTuple

from api.access.callers import CALLER
from api.queries.database import Database, DatabaseError, Store
from schemas.metrics import Sample
from schemas.metrics import api as metrics

_log: Final = logging.getLogger(__name__)
POLL_S: Final = 1.0
KEEP_ALIVE_S: Final = 15.0
#: Streams at a time [count], and events that wait for one of them; beyond that it is ended, and its
#: client reconnects.
MOST_STREAMS: Final = 128
_MOST_WAITING: Final = 2000
#: A row may become visible so long after the second that it says [s].
_OVERLAP_S: Final = 10
#: Longest time that a client may have been away.
_LONGEST_AWAY_S: Final = 3600
_PAGE: Final = 500
_AFTER: Final = (
    "SELECT incident_id, version, document, toUnixTimestamp(ingested_at) AS stored_s"
    " FROM incidents FINAL WHERE ingested_at >= toDateTime({stored_s:Int64})"
    " AND (toUnixTimestamp(ingested_at), incident_id, version)"
    " > ({stored_s:Int64}, {id:String}, {version:UInt32})"
    " ORDER BY ingested_at, incident_id, version LIMIT {page:UInt32}"
)
_NOW: Final = "SELECT toUnixTimestamp(now()) AS now_s"


class TooManyStreams(Exception):
    """No more streams are served."""


class NotForTenants(Exception):
    """The caller sees some tenants only; one poll serves all streams, and so no such caller."""


class _Event(NamedTuple):
    key: tuple[str, int]
    stored_s: int
    document: str

    def encoded(self) -> bytes:
        lines = "".join(f"data: {line}\n" for line in self.document.splitlines())
        return f"id: {self.stored_s}\nevent: incident\n{lines}\n".encode()


class IncidentFeed:
    """Streams of one application; used from its event loop only."""

    def __init__(self, database: Database, poll_s: float = POLL_S) -> None:
        self._database = database
        self._poll_s = poll_s
        self._waiting: set[asyncio.Queue[_Event | None]] = set()
        self._poller: asyncio.Task[None] | None = None
        self._starting = asyncio.Lock()
        self._sent: dict[tuple[str, int], int] = {}  # lately: what was sent -> second
        self._newest_s = 0

    @property
    def streams(self) -> int:
        """Open streams [count]."""
        return len(self._waiting)

    def samples(self) -> Iterator[Sample]:
        """Metrics of the streams."""
        yield Sample(metrics.API_STREAMS, self.streams)

    def close(self) -> None:
        """End all streams, so that the server need not wait for their clients."""
        for queue in self._waiting:
            _end(queue)

    async def open(self, last_event_id: int | None) -> AsyncIterator[bytes]:
        """A stream of encoded events; raises TooManyStreams, NotForTenants or
        DatabaseError at once.

        last_event_id  of the newest event that the client has; None: it wants new ones only
        """
        if len(self._waiting) >= MOST_STREAMS:
            raise TooManyStreams
        caller = CALLER.get()
        if caller is not None and caller.tenants:
            raise NotForTenants
        now_s = await self._database.run(_now_s)
        if last_event_id is None:
            return self._stream(None)
        return self._stream(max(last_event_id - _OVERLAP_S, now_s - _LONGEST_AWAY_S))

    async def _start(self) -> None:
        """Let the database be polled; what is there already is no news."""
        async with self._starting:
            if self._poller is None or self._poller.done():
                self._newest_s = await self._database.run(_now_s)
                since = self._newest_s - _OVERLAP_S
                self._sent = {each.key: each.stored_s async for each in self._since(since)}
                self._poller = asyncio.create_task(self._poll())

    async def _stream(self, away_s: int | None) -> AsyncIterator[bytes]:
        """Counts as open from its first event on: a client may be gone before it is read."""
        queue: asyncio.Queue[_Event | None] = asyncio.Queue(_MOST_WAITING)
        self._waiting.add(queue)
        try:
            try:
                await self._start()
                yield b": connected\n\n"
                if away_s is not None:
                    async for event in self._since(away_s):
                        yield event.encoded()
            except DatabaseError:
                return  # logged by the database; the client comes again with the id it has
            while True:
                try:
                    new = await asyncio.wait_for(queue.get(), KEEP_ALIVE_S)
                except TimeoutError:
                    yield b": keep-alive\n\n"
                    continue
                if new is None:
                    return
                yield new.encoded()
        finally:
            self._waiting.discard(queue)

    async def _poll(self) -> None:
        """Send what is new to all streams, until there are none."""
        while self._waiting:
            with contextlib.suppress(DatabaseError):  # logged by the database; asked again
                async for event in self._since(self._newest_s - _OVERLAP_S):
                    if event.key not in self._sent:
                        self._sent[event.key] = event.stored_s
                        self._send(event)
                    self._newest_s = max(self._newest_s, event.stored_s)
                oldest = self._newest_s - _OVERLAP_S
                self._sent = {key: at for key, at in self._sent.items() if at >= oldest}
            await asyncio.sleep(self._poll_s)

    async def _since(self, stored_s: int) -> AsyncIterator[_Event]:
        """Events that were stored in a second or later, oldest first, read page by page."""
        after = max(stored_s, 0), "", 0
        while True:
            page = await self._database.run(partial(_after, after=after))
            for event in page:
                yield event
            if len(page) < _PAGE:
                return
            after = page[-1].stored_s, *page[-1].key

    def _send(self, event: _Event) -> None:
        for queue in self._waiting:
            if queue.full():
                _log.warning("a stream is ended: its client does not read")
                _end(queue)
            else:
                queue.put_nowait(event)


def _end(queue: asyncio.Queue[_Event | None]) -> None:
    """Let a stream end before what still waits for it."""
    while not queue.empty():
        queue.get_nowait()
    queue.put_nowait(None)


def _now_s(store: Store) -> int:
    return int(store.rows(_NOW)[0]["now_s"])


def _after(store: Store, after: tuple[int, str, int]) -> list[_Event]:
    """The next page behind a second, incident id and version."""
    stored_s, incident_id, version = after
    rows: list[dict[str, Any]] = store.rows(
        _AFTER, {"stored_s": stored_s, "id": incident_id, "version": version, "page": _PAGE}
    )
    return [
        _Event((row["incident_id"], int(row["version"])), int(row["stored_s"]), row["document"])
        for row in rows
    ]
