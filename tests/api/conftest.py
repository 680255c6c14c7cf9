"""A migrated store of the embedded engine, and the service over it on a port of its own."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from threading import Thread
from typing import Any

import httpx
import pyarrow as pa
import pytest
from incident_samples import Put

from api import serving
from api.app import create_app
from api.database import Database
from schemas import migrate
from schemas.incident import Incident, encode
from streams import sink_rows
from streams.store import Store, open_store


@contextmanager
def served(
    store: Any, *, deadline_s: float = serving.DEADLINE_S, **options: Any
) -> Iterator[httpx.Client]:
    """The service in a thread, as a client that speaks to it over a socket."""
    listener = socket.create_server(("127.0.0.1", 0))
    # The bounds are the product's, but for a machine that has no time for the database just now.
    database = store if isinstance(store, Database) else Database(store, wait_s=60, ready_s=60)
    app = create_app(database, **options)
    server = serving.Server(serving.config(app, deadline_s=deadline_s))
    thread = Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    while not server.started and thread.is_alive():
        time.sleep(0.01)
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{listener.getsockname()[1]}") as client:
            yield client
    finally:
        server.should_exit = True
        thread.join(10)
        listener.close()


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """One per module: a process may have only one path open."""
    with closing(open_store(f"chdb:{tmp_path_factory.mktemp('api')}")) as opened:
        migrate.migrate(opened)
        yield opened


@pytest.fixture(scope="module")
def server(engine: Store) -> Iterator[httpx.Client]:
    with served(engine) as opened:
        yield opened


@pytest.fixture
def store(engine: Store) -> Store:
    """Migrated and empty."""
    for table in ("incidents", "path_windows"):
        engine.execute(f"TRUNCATE TABLE {table}")
    return engine


@pytest.fixture
def put(store: Store) -> Put:
    """put(incident, ...) stores versions of incidents, as the sink would."""

    def insert(*incidents: Incident) -> None:
        rows = [sink_rows.incident(encode(incident)) for incident in incidents]
        store.insert("incidents", pa.concat_tables(rows))

    return insert


@pytest.fixture
def watch(store: Store) -> Callable[[int], None]:
    """watch(n) lets n paths have a window."""

    def insert(paths: int) -> None:
        columns = {"path_id": pa.array(range(paths), pa.uint64())}
        columns["records"] = pa.array([30] * paths, pa.uint32())
        store.insert("path_windows", pa.table(columns))

    return insert


@pytest.fixture
def client(store: Store, server: httpx.Client) -> httpx.Client:
    """Speaks to a service over an empty store."""
    return server
