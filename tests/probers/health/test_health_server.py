"""The health server: no client can hold up another one."""

from __future__ import annotations

import http.client
import socket
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import pytest
from builders.agents.health_client import get
from builders.agents.waiting import HANG_S, Until

from probers.health.server import MAX_CONNECTIONS, HealthServer, Page


def page(path: str, requests: Counter[str]) -> Page:
    if path == "/defect":
        raise RuntimeError("injected")
    if path == "/large":
        return Page(200, "text/plain", b"x" * 5_000_000)
    return Page(200, "text/plain", f"{path} {requests['served']}".encode())


@pytest.fixture
def server() -> Iterator[HealthServer]:
    made = HealthServer("127.0.0.1", 0, page, deadline_s=HANG_S).start()
    yield made
    made.close()


def test_a_response_is_complete_and_every_request_is_counted(server: HealthServer) -> None:
    assert get(server.port, "/metrics?x=1") == (200, "/metrics 0")
    assert get(server.port, "/large") == (200, "x" * 5_000_000)
    assert get(server.port, "/metrics", "POST")[0] == 405
    assert server.counts["served"] >= 2


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (b"\x16\x03\x01\x02\x00\x01\n\n", b"400"),
        (b"GET /metrics\r\n\r\n", b"400"),
        (b"GET / SPDY/3\r\n\r\n", b"400"),
        (b"GET /" + b"x" * 5000, b"431"),
    ],
)
def test_invalid_requests_are_refused(server: HealthServer, raw: bytes, status: bytes) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=HANG_S) as client:
        client.sendall(raw)
        assert client.recv(100).startswith(b"HTTP/1.1 " + status)


def test_slow_clients_are_dropped_and_delay_no_other_client() -> None:
    with ExitStack() as stack:
        server = HealthServer("127.0.0.1", 0, page, deadline_s=5.0).start()
        stack.callback(server.close)
        slow = []
        for _ in range(3 * MAX_CONNECTIONS):
            client = socket.create_connection(("127.0.0.1", server.port), timeout=HANG_S)
            stack.enter_context(client)
            client.sendall(b"GET /metrics")
            slow.append(client)
        assert get(server.port, "/metrics")[0] == 200
        for client in slow:
            with suppress(ConnectionResetError):
                assert client.recv(1) == b"", "dropped at the deadline"
        assert server.counts["refused"] == 3 * MAX_CONNECTIONS


def test_a_client_that_does_not_read_its_response_delays_no_other_client(
    server: HealthServer,
) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=HANG_S) as deaf:
        deaf.sendall(b"GET /large HTTP/1.1\r\n\r\n")
        assert get(server.port, "/metrics")[0] == 200


def test_a_defect_in_a_page_costs_one_request(
    server: HealthServer, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises((http.client.HTTPException, ConnectionError)):
        get(server.port, "/defect")
    assert get(server.port, "/metrics")[0] == 200
    assert server.counts["failed"] == 1
    assert "injected" in capfd.readouterr().err


def test_a_port_in_use_is_logged_and_bound_when_it_is_free(
    eventually: Until, capfd: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = int(other.getsockname()[1])
        server = HealthServer("127.0.0.1", port, lambda *_: Page(200, "text/plain", b"")).start()
        assert server.port == 0
    eventually(lambda: server.port == port)
    assert get(port, "/")[0] == 200
    server.close()
    assert capfd.readouterr().err.count("health-not-served") == 1
