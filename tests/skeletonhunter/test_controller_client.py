"""An operator's requests to a site with several controllers, of which one leads."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from controller.service.site import NOT_LEADING
from skeletonhunter.controller_client import ControllerClient
from skeletonhunter.errors import BadInput, DependencyUnreachable

STANDBY = (503, {"detail": NOT_LEADING})
LEADER: tuple[int, dict[str, Any]] = (200, {"jobs": []})


@contextmanager
def controllers(*answers: tuple[int, Any]) -> Iterator[tuple[list[str], list[int]]]:
    """URLs of controllers that always answer so; and which of them were asked, in order."""
    asked: list[int] = []

    def handler(number: int, status: int, document: Any) -> type[BaseHTTPRequestHandler]:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked.append(number)
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                self.send_response(status)
                self.end_headers()
                self.wfile.write(json.dumps(document).encode() + b"\n")

            do_POST = do_PUT = do_DELETE = do_GET

            def log_message(self, *_: object) -> None:
                """Nothing."""

        return Handler

    servers = [
        HTTPServer(("127.0.0.1", 0), handler(number, *answer))
        for number, answer in enumerate(answers)
    ]
    threads = [threading.Thread(target=each.serve_forever, args=(0.01,)) for each in servers]
    for thread in threads:
        thread.start()
    try:
        yield [f"http://127.0.0.1:{each.server_port}" for each in servers], asked
    finally:
        for each in servers:
            each.shutdown()
            each.server_close()
        for thread in threads:
            thread.join()


@pytest.fixture
def unreachable() -> Iterator[str]:
    """A URL at which nothing listens: the port is bound, so that no other server takes it."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"


def test_the_controller_that_leads_is_found(unreachable: str) -> None:
    with controllers(STANDBY, LEADER) as (urls, asked):
        client = ControllerClient([unreachable, *urls], "secret")
        assert client.get("jobs") == LEADER[1]
        assert client.put({}, "jobs", "j") == LEADER[1]
        assert list(client.stream({}, "probes")) == [LEADER[1]]
    assert asked == [0, 1] * 3


def test_a_refusal_is_not_asked_of_another_controller() -> None:
    refusal = (422, {"detail": "no such job"})
    with (
        controllers(refusal, LEADER) as (urls, asked),
        pytest.raises(BadInput, match="no such job"),
    ):
        ControllerClient(urls, "secret").delete("jobs", "j")
    assert asked == [0]


def test_without_a_leader_the_answer_of_a_controller_is_the_reason(unreachable: str) -> None:
    with controllers(STANDBY) as (urls, _):
        for where in ([unreachable, *urls], [*urls, unreachable]):
            with pytest.raises(DependencyUnreachable, match="this controller does not lead"):
                ControllerClient(where, "secret").get("jobs")
    with pytest.raises(DependencyUnreachable, match="does not answer"):
        ControllerClient([unreachable], "secret").get("jobs")
