"""Serving: clients that hang or flood the api block no others."""

from __future__ import annotations

import asyncio
import contextlib
import resource
import socket
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from builders.api_service import LONG_S, Hanging, served
from uvicorn.server import ServerState

from api import serving
from api.app import create_app


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


def test_half_open_connections_do_not_block_other_clients(hanging: Hanging) -> None:
    hanging.go_on.set()
    with served(hanging) as client:
        with half_open(address(client), 1100) as opened:
            for _ in range(5):
                with httpx.Client(base_url=client.base_url, timeout=LONG_S) as fresh:
                    assert fresh.get("/healthz").status_code == 200
                    assert fresh.get("/api/v1/summary").status_code == 200
            closed = sum(is_closed(each) for each in opened)
            assert closed >= 1100 - 512, "the oldest are closed"
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
def test_a_connection_whose_request_never_ends_is_closed(hanging: Hanging, sent: bytes) -> None:
    hanging.go_on.set()
    with served(hanging, deadline_s=0.5) as client:
        with socket.create_connection(address(client), timeout=LONG_S) as connection:
            connection.sendall(sent)
            assert ended(connection)
        assert client.get("/healthz", timeout=LONG_S).status_code == 200


def test_a_connection_with_single_bytes_now_and_then_is_closed(hanging: Hanging) -> None:
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


def test_a_connection_whose_client_never_reads_is_closed(store: Any) -> None:
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
            assert cut, "the server closes the connection"
        assert client.get("/healthz", timeout=LONG_S).status_code == 200


def test_the_second_segment_of_a_response_does_not_wait_for_the_first(hanging: Hanging) -> None:
    """Listeners without a protocol number leave Nagle's algorithm on in asyncio."""

    async def accepted() -> int:
        config = serving.config(create_app(hanging))
        config.load()
        made: list[serving.Connection] = []

        def connection() -> serving.Connection:
            kind: Any = config.http_protocol_class
            made.append(kind(config=config, server_state=ServerState(), app_state={}))
            return made[-1]

        loop = asyncio.get_running_loop()
        with socket.create_server(("127.0.0.1", 0)) as listener:
            server = await loop.create_server(connection, sock=listener)
            async with server:
                reader, writer = await asyncio.open_connection(*listener.getsockname())
                writer.write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
                assert (await reader.readline()).startswith(b"HTTP/1.1 200")
                of_server = made[0].transport.get_extra_info("socket")
                found = of_server.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
                writer.close()
                await writer.wait_closed()
                return int(found)

    assert asyncio.run(accepted()) == 1
