"""The service in a thread, for tests that speak to it over a socket."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread
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
        thread.join(300)
        listener.close()
