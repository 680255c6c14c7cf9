"""Client of ClickHouse: a server over HTTP, or the same engine inside this process (chDB).

``chdb:PATH`` opens a directory, created if missing; a process may have one such path open, in any
number of stores. ``http(s)://user:password@host:8123/database`` opens a server. Neither errors nor
log lines contain the password.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import LifoQueue
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

import clickhouse_connect
from clickhouse_connect.driver import exceptions as driver

from store.arrow_texts import without_nulls

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from clickhouse_connect.driver.client import Client

#: ClickHouse's error codes after which the same statement may succeed later: sockets, time-outs,
#: too many queries or parts, memory, disk, read-only replicas, Keeper.
_TRANSIENT: Final = frozenset({
    3, 95, 159, 160, 164, 198, 202, 203, 209, 210, 225, 236, 241, 242, 243, 252, 279, 286, 319,
    425, 439, 999,
})  # fmt: skip
#: A disk that fills up within a write: codes of writing (75), opening (76) and of what the C++
#: library says (1001), which stand for other errors too.
_NO_SPACE: Final = "No space left on device"
#: Equal keys are merged in the background and by FINAL: at insert it would cost four fifths of the
#: speed (0.2 instead of 0.85 M pings/s) and find only duplicates within one block.
_INSERT: Final = {
    "optimize_on_insert": 0,
    # Into a Distributed table: an insert has ended when the shards have the rows, not when they are
    # queued on the disk of one server; offsets are committed then.
    "distributed_foreground_insert": 1,
}
#: Longest wait for the server's next byte [s]: of the sink and migrations, and of the api.
WRITE_S: Final = 60
READ_S: Final = 10
#: Connections of a reader's store in chDB [count]: of 200 requests/s on one core 99 % are answered
#: within 52 ms with two, 59 ms with one and 84 ms with three, which share the core's caches.
_READERS: Final = 2
# They log what they also raise; StoreError is one line, without the password.
for _library in ("clickhouse_connect", "urllib3"):
    logging.getLogger(_library).setLevel(logging.ERROR)
_NO_DIRECTORY: Final = "chdb: needs a directory, as in chdb:./data"
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")


class StoreError(Exception):
    """Root of the errors of this package."""


class BadStoreUrl(StoreError, ValueError):
    """The URL cannot be opened: correct the setting."""


class StoreUnavailable(StoreError, ConnectionError):
    """The database does not answer or has a transient error: wait and try again."""

    public = "the database does not answer"


class StoreRefused(StoreError):
    """The database refuses the statement: a bug, a missing migration or permission."""


class Store:
    """Connections for any thread. A connection of chDB runs one statement at a time, so the sink
    and the api have a store each; they share the engine.
    """

    def __init__(self, clients: Sequence[Client], name: str) -> None:
        """clients: one that threads may share, or several of which each runs one statement."""
        self._clients = clients
        self._idle: LifoQueue[Client] = LifoQueue()
        for client in clients:
            self._idle.put(client)
        self.name = name

    def rows(
        self,
        sql: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        settings: Mapping[str, Any] | None = None,
    ) -> list[dict[str, Any]]:
        """Result of a query; values are ``{name:Type}`` parameters, never part of the text.

        settings  of ClickHouse, for this query
        """
        limits = dict(settings) if settings else None
        with self._translated_errors():
            with self._connection() as client:
                found = client.query(sql, parameters=_bound(parameters), settings=limits)
            return list(found.named_results())

    def raw(self, sql: str, parameters: Mapping[str, Any] | None, form: str) -> bytes:
        """Result of a query in one of ClickHouse's formats; no other thread may use this store."""
        with self._translated_errors(), self._connection() as client:
            try:
                return bytes(client.raw_query(sql, parameters=_bound(parameters), fmt=form))
            except driver.ClickHouseError:
                # chDB keeps what it had written when a query failed, and puts it before the next
                # result of this connection.
                with suppress(driver.ClickHouseError):
                    client.raw_query("SELECT 1", fmt="TabSeparated")
                raise

    def execute(self, sql: str, parameters: Mapping[str, Any] | None = None) -> None:
        """Run a statement without a result."""
        with self._translated_errors(), self._connection() as client:
            client.command(sql, parameters=_bound(parameters))

    def insert(self, table: str, rows: pa.Table) -> None:
        """Append rows; absent columns and nulls get the table's defaults."""
        readable = without_nulls(rows)
        with self._translated_errors(), self._connection() as client:
            client.insert_arrow(table, readable, settings=_INSERT)

    def ping(self) -> None:
        """Raises StoreUnavailable when the database does not answer."""
        self.rows("SELECT 1 AS one")

    def close(self) -> None:
        """Close the connections."""
        for client in self._clients:
            client.close()

    @contextmanager
    def _connection(self) -> Iterator[Client]:
        """A connection that runs nothing else; the only one is for all, and waits by itself."""
        if len(self._clients) == 1:
            yield self._clients[0]
            return
        client = self._idle.get()
        try:
            yield client
        finally:
            self._idle.put(client)

    @contextmanager
    def _translated_errors(self) -> Iterator[None]:
        try:
            yield
        except driver.ClickHouseError as why:
            raise _store_error(why, self.name) from why
        except OSError as why:  # sockets; chDB's temporary files on a full disk
            raise StoreUnavailable(f"{self.name}: {_one_line(why)}") from why


def open_store(url: str, *, create_database: bool = False, for_reads: bool = False) -> Store:
    """Open ``chdb:PATH`` or ``http(s)://user:password@host:port/database``.

    create_database  create the database if it is missing (``skeletonhunter migrate``)
    for_reads        limit statements to READ_S, because a request waits for the result; in chDB
                     run two at a time instead, so that a long one delays short ones less
    Raises BadStoreUrl, StoreUnavailable or StoreRefused.
    """
    if url.startswith("chdb:"):
        return _open_chdb(url.removeprefix("chdb:"), _READERS if for_reads else 1)
    return _open_http(url, create_database, for_reads)


def _open_chdb(path: str, connections: int) -> Store:
    if not path:
        raise BadStoreUrl(_NO_DIRECTORY)
    name = f"chdb:{path}"
    try:
        Path(path).mkdir(mode=0o700, parents=True, exist_ok=True)
        clients = [
            clickhouse_connect.get_client(interface="chdb", path=path) for _ in range(connections)
        ]
    except ImportError:  # as in the image of the services
        raise BadStoreUrl("the embedded database is not installed: pip install chdb") from None
    except driver.ClickHouseError as why:
        raise _store_error(why, name) from why
    except OSError as why:
        raise StoreUnavailable(f"{name}: {_one_line(why)}") from why
    return Store(clients, name)


def check_url(url: str) -> None:
    """Raises BadStoreUrl for a URL that ``open_store`` refuses; nothing is opened."""
    if not url.startswith("chdb:"):
        _parts(url)
    elif url == "chdb:":
        raise BadStoreUrl(_NO_DIRECTORY)


def _parts(url: str) -> tuple[SplitResult, int | None, str]:
    """A http(s) URL in its parts, its port if it has one, its database; raises BadStoreUrl."""
    form = "write chdb:PATH or http(s)://user:password@host:8123/database"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise BadStoreUrl(f"this ClickHouse URL has a bad host or port; {form}") from None
    database = parts.path.strip("/") or "default"
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise BadStoreUrl(f"a ClickHouse URL cannot start like this; {form}")
    if not _NAME.fullmatch(database) or parse_qsl(parts.query):
        raise BadStoreUrl(f"the database {database!r} of this ClickHouse URL is no name; {form}")
    return parts, port, database


def _open_http(url: str, create_database: bool, for_reads: bool) -> Store:
    parts, port, database = _parts(url)
    name = f"{parts.scheme}://{parts.hostname}{f':{port}' if port else ''}/{database}"
    try:
        client = clickhouse_connect.get_client(
            host=parts.hostname,
            port=port or (8443 if parts.scheme == "https" else 8123),
            secure=parts.scheme == "https",
            username=unquote(parts.username or "default"),
            password=unquote(parts.password or ""),
            database="default" if create_database else database,
            autogenerate_session_id=False,  # a session runs one query at a time; threads share this
            connect_timeout=5,
            send_receive_timeout=READ_S if for_reads else WRITE_S,
        )
        if create_database:
            client.command(f"CREATE DATABASE IF NOT EXISTS {database}")
            client.database = database
        if for_reads:
            # A query whose caller has given up must not continue in the server. A user without
            # permission to change settings has the administrator's limits.
            with suppress(driver.ProgrammingError):
                client.set_client_setting("max_execution_time", READ_S)
    except driver.ClickHouseError as why:
        # `from None`: the library's chain may print the URL that it used, and with it a password.
        raise _store_error(why, name, secret=unquote(parts.password or "")) from None
    return Store([client], name)


def _store_error(why: driver.ClickHouseError, name: str, secret: str = "") -> StoreError:
    code = getattr(why, "code", None)
    text = _one_line(why)
    if secret:
        text = text.replace(secret, "***")
    transient = isinstance(why, driver.OperationalError | driver.InterfaceError)
    if (
        code in _TRANSIENT
        or _NO_SPACE in text
        or (code is None and (transient or re.search(r"HTTP.{0,20}\b50[234]\b", text)))
    ):
        reason = _no_connection(why) if code is None else None
        return StoreUnavailable(
            f"{name}: {text}" if reason is None else f"no ClickHouse answers at {name}: {reason}"
        )
    if code in (16, 60, 81):  # NO_SUCH_COLUMN_IN_TABLE, UNKNOWN_TABLE, UNKNOWN_DATABASE
        text += "; run `skeletonhunter migrate` first"
    return StoreRefused(f"{name}: {text}")


def _no_connection(why: BaseException) -> str | None:
    """Why there is no connection, in the words of the system; None where it was another error."""
    each: BaseException | None = why
    while each is not None:
        if isinstance(each, OSError):
            return each.strerror or str(each)
        each = each.__cause__ or each.__context__
    return None


def _one_line(why: BaseException) -> str:
    return " ".join(str(why).split())[:300]


def _bound(parameters: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return dict(parameters) if parameters else None
