"""Statements of the api on threads of its own, with bounded waiting times.

A database that hangs must block neither the event loop nor liveness nor readiness: statements run
on daemon threads, a caller stops waiting after ``wait_s``, and data routes never use the thread on
which readiness is checked.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, ClassVar, Final, Protocol, TypeVar

from api.access.callers import CALLER, Caller, table_filters, tenant_array
from api.access.shared_incidents import OWN, Sight, masked

T = TypeVar("T")
_log: Final = logging.getLogger(__name__)
_LOG_AGAIN_S: Final = 60.0
_TABLES: Final = (
    "SELECT name FROM system.tables WHERE database = currentDatabase() AND engine != 'View'"
)
_READY: Final = (
    "SELECT incident_id FROM incidents_latest LIMIT 0"
    " UNION ALL SELECT incident_id FROM incident_handling LIMIT 0"
)


class Store(Protocol):
    """What queries need of a database; raises ConnectionError when it does not answer."""

    def rows(
        self, sql: str, parameters: Mapping[str, Any] | None = None
    ) -> list[dict[str, Any]]: ...

    def execute(self, sql: str, parameters: Mapping[str, Any] | None = None) -> None: ...


class LimitableStore(Store, Protocol):
    """What the api needs of a database: statements can have settings of ClickHouse's."""

    def rows(
        self,
        sql: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        settings: Mapping[str, Any] | None = None,
    ) -> list[dict[str, Any]]: ...


class DatabaseError(Exception):
    """The database gave no result. The message is for the log.

    public  text for clients, without host, path or user
    """

    public: ClassVar[str] = "the database cannot be asked"


class DatabaseUnavailable(DatabaseError):
    """The database does not answer in time: try again later."""

    public = "the database does not answer"


class DatabaseBusy(DatabaseError):
    """Too many queries wait already: one more would not be answered in time."""

    public = "too many requests wait for the database"


class DatabaseRefused(DatabaseError):
    """The database refuses the query: tables or permissions are missing."""

    public = "the database refuses the query; run `skeletonhunter migrate apply` if it is new"


class Database:
    """Queries of one store from any event loop.

    threads   statements in flight, at most [count]
    waiting   queries that may wait for a thread [count]; one more raises DatabaseBusy at once
    wait_s    longest time from a query to its result or DatabaseUnavailable [s]
    ready_s   the same for ``not_ready`` and for the gauges of a scrape [s]
    """

    def __init__(
        self,
        store: LimitableStore,
        *,
        threads: int = 8,
        waiting: int = 256,
        wait_s: float = 5.0,
        ready_s: float = 2.0,
    ) -> None:
        self._store = _TypedErrors(store)
        self._data = _Pool("api-database", threads, waiting)
        self._readiness = _Pool("api-readiness", 1, 1)
        self._wait_s = wait_s
        self.ready_s = ready_s
        self._lock = threading.Lock()
        self._check: Future[str | None] | None = None
        self._logged = ("", 0.0)

    async def run(self, query: Callable[[Store], T], wait_s: float | None = None) -> T:
        """Result of ``query``, called on a thread; raises DatabaseError within ``wait_s``.

        It sees what the caller of the present request may see (``api.access.callers``).
        """
        wait_s = self._wait_s if wait_s is None else wait_s
        caller = CALLER.get()
        try:
            result = self._data.submit(lambda: query(self._store.seen_by(caller)))
            return await asyncio.wait_for(asyncio.wrap_future(result), wait_s)
        except TimeoutError:
            why: DatabaseError = DatabaseUnavailable(f"no answer within {wait_s:g} s")
        except DatabaseError as refused:
            why = refused
        self._log_once(why)
        raise why

    async def not_ready(self) -> str | None:
        """Why the database cannot serve now, as text for clients, or None; within ``ready_s``.

        Concurrent callers share one statement, so any number of them costs one thread.
        """
        try:
            check = asyncio.shield(asyncio.wrap_future(self._shared_check()))
            return await asyncio.wait_for(check, self.ready_s)
        except TimeoutError:
            return f"the database has not answered for {self.ready_s:g} s"

    def _shared_check(self) -> Future[str | None]:
        with self._lock:
            if self._check is None or self._check.done():
                self._check = self._readiness.submit(self._check_once)
            return self._check

    def _check_once(self) -> str | None:
        try:
            self._store.rows(_READY)
        except DatabaseError as why:
            self._log_once(why)
            return why.public
        return None

    def _log_once(self, why: DatabaseError) -> None:
        """Log the detail; the same text at most once per minute."""
        text, now = str(why) or why.public, time.monotonic()
        logged, logged_s = self._logged
        if text != logged or now - logged_s >= _LOG_AGAIN_S:
            self._logged = (text, now)
            _log.warning("database: %s", text)


class _TypedErrors:
    """A store that raises DatabaseUnavailable or DatabaseRefused, and nothing else.

    limits  settings of every query
    """

    def __init__(self, store: LimitableStore, limits: Mapping[str, Any] | None = None) -> None:
        self._store = store
        self._limits = {} if limits is None else {"settings": limits}

    def seen_by(self, caller: Caller | None) -> Store:
        """The same, where the caller has a part of the tenants with rows of theirs only."""
        if caller is None or not caller.tenants:
            return self
        tables = [str(row["name"]) for row in self.rows(_TABLES)]
        limits = {"additional_table_filters": table_filters(caller, tables)}
        return _OfTenants(_TypedErrors(self._store, limits), caller)

    def rows(self, sql: str, parameters: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        with _typed_errors():
            return self._store.rows(sql, parameters, **self._limits)

    def execute(self, sql: str, parameters: Mapping[str, Any] | None = None) -> None:
        with _typed_errors():
            self._store.execute(sql, parameters)


class _OfTenants:
    """A store whose rows are those of the caller's tenants already; of incidents that hit others
    too, what names those is left out."""

    def __init__(self, store: Store, caller: Caller) -> None:
        self._store, self._names = store, tenant_array(caller)
        (own,) = store.rows(OWN)
        self._sight = Sight.of(caller.tenants, own)

    def rows(self, sql: str, parameters: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        statement = masked(sql, self._names)
        rows = self._store.rows(statement, parameters)
        if statement != sql:
            for row in rows:
                if "document" in row:
                    row["document"] = self._sight.redacted(row["document"])
        return rows

    def execute(self, sql: str, parameters: Mapping[str, Any] | None = None) -> None:
        self._store.execute(sql, parameters)


@contextmanager
def _typed_errors() -> Iterator[None]:
    try:
        yield
    except ConnectionError as why:
        raise DatabaseUnavailable(str(why)) from why
    except Exception as why:  # a driver may raise anything; the query has no result
        raise DatabaseRefused(f"{type(why).__name__}: {why}") from why


class _Pool:
    """Daemon threads, started as needed: a statement that hangs does not delay the process's exit,
    as threads of concurrent.futures would.
    """

    def __init__(self, name: str, threads: int, waiting: int) -> None:
        self._name = name
        self._most = threads
        self._jobs: queue.Queue[tuple[Future[Any], Callable[[], Any]]] = queue.Queue(waiting)
        self._lock = threading.Lock()
        self._started = 0
        self._idle = 0

    def submit(self, work: Callable[[], T]) -> Future[T]:
        """Run ``work`` on a thread; raises DatabaseBusy when too much work waits already."""
        future: Future[T] = Future()
        with self._lock:
            try:
                self._jobs.put_nowait((future, work))
            except queue.Full:
                raise DatabaseBusy(f"{self._jobs.maxsize} queries wait already") from None
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
                continue  # the caller stopped waiting
            try:
                future.set_result(work())
            except BaseException as why:  # of any type: raised in the caller
                future.set_exception(why)
            del future, work  # do not hold the result in memory until the next query
