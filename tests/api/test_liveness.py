"""What hangs or floods the api costs neither its liveness nor, afterwards, its service."""

from __future__ import annotations

import contextlib
import resource
import socket
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import httpx
import pytest
from serving_app import served

from api.queries.database import Database

LONG_S = 120.0  # far beyond every bound of the service: a wait that long means no answer


class Hanging:
    """A database that keeps every statement until it is let go."""

    def __init__(self) -> None:
        self.go_on = Event()
        self.asked = Event()

    def rows(self, sql: str, parameters: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        self.asked.set()
        self.go_on.wait(600)
        if "ingested_at > now()" in sql:
            return [{"paths": 7}]
        return [{"age": 1, "n": 7}] if "max(ingested_at)" in sql else []


@pytest.fixture
def hanging() -> Iterator[Hanging]:
    store = Hanging()
    yield store
    store.go_on.set()


def many(client: httpx.Client) -> httpx.Client:
    """A client of the same service with any number of connections."""
    limits = httpx.Limits(max_connections=None)
    return httpx.Client(base_url=client.base_url, timeout=2 * LONG_S, limits=limits)


def address(client: httpx.Client) -> tuple[str, int]:
    return client.base_url.host, client.base_url.port or 0


@contextlib.contextmanager
def half_open(at: tuple[str, int], count: int) -> Iterator[list[socket.socket]]:
    """Connections that have sent half of a request's first line."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < 2 * count + 500:
        if hard < 2 * count + 500:
            pytest.skip(f"{hard} file descriptors are too few for {count} connections")
        resource.setrlimit(resource.RLIMIT_NOFILE, (2 * count + 500, hard))
    with contextlib.ExitStack() as stack:
        opened = []
        for _ in range(count):
            connection = stack.enter_context(socket.create_connection(at, timeout=LONG_S))
            connection.sendall(b"GET /api/v1/inci")
            opened.append(connection)
        yield opened


def test_liveness_answers_while_every_statement_hangs(hanging: Hanging) -> None:
    with (
        served(Database(hanging, wait_s=LONG_S)) as client,
        many(client) as others,
        ThreadPoolExecutor(100) as pool,
    ):
        stuck = [pool.submit(others.get, "/api/v1/summary") for _ in range(100)]
        assert hanging.asked.wait(LONG_S)
        for _ in range(20):
            assert client.get("/healthz", timeout=LONG_S).json()["status"] == "alive"
            assert client.get("/", timeout=LONG_S).status_code == 200
        assert not any(each.done() for each in stuck)
        hanging.go_on.set()
        assert {each.result().status_code for each in stuck} == {200}


def test_a_hanging_database_is_503_in_bounded_time(hanging: Hanging) -> None:
    with served(Database(hanging, threads=2, wait_s=0.5, ready_s=0.5)) as client:
        for path in ("/api/v1/summary", "/api/v1/incidents", "/api/v1/incidents/A") * 4:
            response = client.get(path, timeout=LONG_S)
            assert response.status_code == 503, path
            assert response.json() == {"detail": "the database does not answer"}
        ready = client.get("/readyz", timeout=LONG_S)
        assert (ready.status_code, ready.json()["status"]) == (503, "not ready")
        assert "skh_api_ready 0.0" in client.get("/metrics", timeout=LONG_S).text.splitlines()
        hanging.go_on.set()
        assert client.get("/readyz", timeout=LONG_S).status_code == 200
        assert client.get("/api/v1/summary", timeout=LONG_S).json()["paths_watched"] == 7


def test_readiness_does_not_queue_behind_data_routes() -> None:
    class Slow(Hanging):
        """Answers what readiness asks, and nothing else."""

        def rows(self, sql: str, parameters: Mapping[str, Any] | None = None) -> Any:
            return [] if "LIMIT 0" in sql else super().rows(sql, parameters)

    slow = Slow()
    with (
        served(Database(slow, threads=2, wait_s=LONG_S, ready_s=LONG_S)) as client,
        many(client) as others,
        ThreadPoolExecutor(10) as pool,
    ):
        stuck = [pool.submit(others.get, "/api/v1/summary") for _ in range(10)]
        assert slow.asked.wait(LONG_S)
        assert client.get("/readyz", timeout=LONG_S).status_code == 200
        assert not any(each.done() for each in stuck)
        slow.go_on.set()


def test_more_questions_than_may_wait_are_refused_at_once(hanging: Hanging) -> None:
    database = Database(hanging, threads=1, waiting=3, wait_s=LONG_S)
    with served(database) as client, many(client) as others, ThreadPoolExecutor(12) as pool:
        first = pool.submit(others.get, "/api/v1/summary")
        assert hanging.asked.wait(LONG_S), "the only thread is taken"
        asked = [pool.submit(others.get, "/api/v1/summary") for _ in range(11)]
        until = time.monotonic() + LONG_S
        while len(refused := [each for each in asked if each.done()]) < 8:
            assert time.monotonic() < until, "eight of eleven find three waiting"
            time.sleep(0.02)
        assert {each.result().status_code for each in refused} == {503}
        assert "too many requests" in refused[0].result().json()["detail"]
        hanging.go_on.set()
        rest = {each.result().status_code for each in [first, *asked] if each not in refused}
        assert rest == {200}


def test_half_open_connections_keep_no_client_out(hanging: Hanging) -> None:
    hanging.go_on.set()
    with served(hanging) as client:
        with half_open(address(client), 1100) as opened:
            for _ in range(5):
                with httpx.Client(base_url=client.base_url, timeout=LONG_S) as fresh:
                    assert fresh.get("/healthz").status_code == 200
                    assert fresh.get("/api/v1/summary").status_code == 200
            closed = sum(is_closed(each) for each in opened)
            assert closed >= 1100 - 512, "the oldest made room"
        assert client.get("/api/v1/summary", timeout=LONG_S).status_code == 200


def is_closed(connection: socket.socket) -> bool:
    connection.setblocking(False)
    try:
        return connection.recv(1) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nhalf",
    ],
    ids=["nothing", "half-a-head", "half-a-body"],
)
def test_a_request_that_never_ends_is_cut_off(hanging: Hanging, sent: bytes) -> None:
    hanging.go_on.set()
    with served(hanging, deadline_s=0.5) as client:
        with socket.create_connection(address(client), timeout=LONG_S) as connection:
            connection.sendall(sent)
            assert ended(connection), "the server closes it"
        assert client.get("/healthz", timeout=LONG_S).status_code == 200


def test_a_byte_now_and_then_does_not_keep_a_connection(hanging: Hanging) -> None:
    hanging.go_on.set()
    with (
        served(hanging, deadline_s=0.5) as client,
        socket.create_connection(address(client), timeout=0.05) as connection,
    ):
        connection.sendall(b"GET /healthz HTTP/1.1\r\n")
        until = time.monotonic() + LONG_S
        with contextlib.suppress(ConnectionError):
            while time.monotonic() < until:
                connection.sendall(b"a")
                with contextlib.suppress(TimeoutError):
                    if connection.recv(1) == b"":
                        break
        assert time.monotonic() < until


def ended(connection: socket.socket) -> bool:
    """Whether the server closes the connection, after an answer or without."""
    try:
        while connection.recv(65536):
            pass
    except ConnectionError:
        return True
    except TimeoutError:
        return False
    return True


def test_a_client_that_asks_and_never_reads_is_cut_off(store: Any) -> None:
    """Pipelined requests whose answers pile up; the rest of the service goes on."""
    with served(store, deadline_s=0.5) as client:
        with socket.create_connection(address(client), timeout=0.1) as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            request = b"GET /page/page.js HTTP/1.1\r\nHost: localhost\r\n\r\n" * 200
            until = time.monotonic() + LONG_S
            cut = False
            while not cut and time.monotonic() < until:
                try:
                    connection.sendall(request)
                except TimeoutError:
                    continue
                except OSError:
                    cut = True
            assert cut, "the server closes what its client does not read"
        assert client.get("/healthz", timeout=LONG_S).status_code == 200
