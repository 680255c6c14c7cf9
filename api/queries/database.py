"""The database as the api asks it: a few threads of its own, and no answer waited for without end.

A database that hangs must cost neither the event loop nor liveness nor readiness: statements run on
daemon threads, a caller stops waiting after ``wait_s`` whatever became of the statement, and what
stands in the way of readiness is asked on a thread that data routes never use.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any, ClassVar, Final, Protocol, TypeVar

T = TypeVar("T")
_log: Final = logging.getLogger(__name__)
_LOG_AGAIN_S: Final = 60.0
_READY: Final = "SELECT incident_id FROM incidents_latest LIMIT 0"


class Store(Protocol):
    """What the api needs of a database. Raises ConnectionError when it does not answer."""

    def rows(
        self, sql: str, parameters: Mapping[str, Any] | None = None
    ) -> list[dict[str, Any]]: ...


class DatabaseError(Exception):
    """No answer from the database. ``public`` is for clients: it names no host, path or user; the
    message is for the log.
    """

    public: ClassVar[str] = "the database cannot be asked"


class DatabaseUnavailable(DatabaseError):
    """The database does not answer, or not in time: try again later."""

    public = "the database does not answer"


class DatabaseBusy(DatabaseError):
    """So many questions wait already that one more would not be answered in time."""

    public = "too many requests wait for the database"


class DatabaseRefused(DatabaseError):
    """The database answers and refuses the query: tables or permissions are missing."""

    public = "the database refuses the query; run `skeletonhunter migrate apply` if it is new"


class Database:
    """Questions to one store from any event loop.

    threads   statements in flight at most
    waiting   questions that may wait for a thread; one more raises DatabaseBusy at once
    wait_s    longest time from a question to its answer or to DatabaseUnavailable [s]
    ready_s   the same for ``obstacle`` and for a scrape's gauges [s]
    """

    def __init__(
        self,
        store: Store,
        *,
        threads: int = 8,
        waiting: int = 256,
        wait_s: float = 5.0,
        ready_s: float = 2.0,
    ) -> None:
        self._store = _Guarded(store)
        self._data = _Pool("api-database", threads, waiting)
        self._readiness = _Pool("api-readiness", 1, 1)
        self._wait_s = wait_s
        self.ready_s = ready_s
        self._lock = threading.Lock()
        self._check: Future[str | None] | None = None
        self._logged = ("", 0.0)

    async def ask(self, question: Callable[[Store], T], wait_s: float | None = None) -> T:
        """Answer of ``question``, asked on a thread; raises DatabaseError within ``wait_s``."""
        wait_s = self._wait_s if wait_s is None else wait_s
        try:
            answer = self._data.submit(lambda: question(self._store))
            return await asyncio.wait_for(asyncio.wrap_future(answer), wait_s)
        except TimeoutError:
            why: DatabaseError = DatabaseUnavailable(f"no answer within {wait_s:g} s")
        except DatabaseError as refused:
            why = refused
        self._note(why)
        raise why

    async def obstacle(self) -> str | None:
        """Why the database cannot serve now, in public words, or None; within ``ready_s``.

        Callers share one statement in flight, so that any number of probes costs one thread.
        """
        try:
            check = asyncio.shield(asyncio.wrap_future(self._checking()))
            return await asyncio.wait_for(check, self.ready_s)
        except TimeoutError:
            return f"the database has not answered for {self.ready_s:g} s"

    def _checking(self) -> Future[str | None]:
        with self._lock:
            if self._check is None or self._check.done():
                self._check = self._readiness.submit(self._look)
            return self._check

    def _look(self) -> str | None:
        try:
            self._store.rows(_READY)
        except DatabaseError as why:
            self._note(why)
            return why.public
        return None

    def _note(self, why: DatabaseError) -> None:
        """The detail goes into the log, once a minute while it stays the same."""
        text, now = str(why) or why.public, time.monotonic()
        logged, at = self._logged
        if text != logged or now - at >= _LOG_AGAIN_S:
            self._logged = (text, now)
            _log.warning("database: %s", text)


class _Guarded:
    """A store whose errors are of three kinds."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def rows(self, sql: str, parameters: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        try:
            return self._store.rows(sql, parameters)
        except ConnectionError as why:
            raise DatabaseUnavailable(str(why)) from why
        except Exception as why:  # whatever a driver raises, the query was not answered
            raise DatabaseRefused(f"{type(why).__name__}: {why}") from why


class _Pool:
    """Daemon threads, started as needed: a statement that hangs does not hold up the process's end,
    as the threads of concurrent.futures would.
    """

    def __init__(self, name: str, threads: int, waiting: int) -> None:
        self._name = name
        self._most = threads
        self._jobs: queue.Queue[tuple[Future[Any], Callable[[], Any]]] = queue.Queue(waiting)
        self._lock = threading.Lock()
        self._started = 0
        self._idle = 0

    def submit(self, work: Callable[[], T]) -> Future[T]:
        """Raises DatabaseBusy when too much waits already."""
        future: Future[T] = Future()
        with self._lock:
            try:
                self._jobs.put_nowait((future, work))
            except queue.Full:
                raise DatabaseBusy(f"{self._jobs.maxsize} questions wait already") from None
            if self._idle < self._jobs.qsize() and self._started < self._most:
                self._started += 1
                name = f"{self._name}-{self._started}"
                threading.Thread(target=self._serve, name=name, daemon=True).start()
        return future

    def _serve(self) -> None:
        while True:
            with self._lock:
                self._idle += 1
            future, work = self._jobs.get()
            with self._lock:
                self._idle -= 1
            if not future.set_running_or_notify_cancel():
                continue  # its caller has stopped waiting
            try:
                future.set_result(work())
            except BaseException as why:  # handed to the caller, whatever it is
                future.set_exception(why)
            del future, work  # no answer is kept alive until the next question
