"""The API in a thread, a client of it over a socket, and a database that does not answer."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any

import httpx

from api import serving
from api.app import create_app
from api.queries.database import Database


@contextmanager
def served(
    store: Any, *, deadline_s: float = serving.DEADLINE_S, **options: Any
) -> Iterator[httpx.Client]:
    """The service in a thread, as a client that speaks to it over a socket."""
    listener = socket.create_server(("127.0.0.1", 0))
    # Waiting times are longer than the defaults: a busy machine answers late.
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
        thread.join(300)
        listener.close()


Put = Callable[..., None]


class Unavailable:
    """A database that does not answer."""

    def rows(self, sql: str, parameters: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        raise ConnectionError("http://db:8123/skh: connection refused")


LONG_S = 120.0  # far above every bound of the service: waiting that long means no response


class Hanging:
    """A database on which every statement hangs until ``go_on`` is set."""

    def __init__(self) -> None:
        self.go_on = Event()
        self.asked = Event()

    def rows(self, sql: str, parameters: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        self.asked.set()
        self.go_on.wait(600)
        if "ingested_at > now()" in sql:
            return [{"paths": 7}]
        return [{"age": 1, "n": 7}] if "max(ingested_at)" in sql else []


def many(client: httpx.Client) -> httpx.Client:
    """A client of the same service with any number of connections."""
    limits = httpx.Limits(max_connections=None)
    return httpx.Client(base_url=client.base_url, timeout=2 * LONG_S, limits=limits)
