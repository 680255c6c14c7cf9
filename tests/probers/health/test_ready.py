"""The health check of containers: an exit code for what /readyz answers."""

from __future__ import annotations

import socket
from collections import Counter

import pytest

from probers.health import ready
from probers.health.server import HealthServer, Page


@pytest.mark.parametrize(("status", "code"), [(200, 0), (503, 1), (404, 1)])
def test_only_a_part_that_is_ready_passes(
    status: int, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    def page(path: str, counts: Counter[str]) -> Page:
        assert path == "/readyz"
        return Page(status, "text/plain", b"why\n")

    server = HealthServer("127.0.0.1", 0, page, deadline_s=60).start()
    try:
        assert ready.main([str(server.port)]) == code
    finally:
        server.close()
    assert capsys.readouterr().out == f"{status} why\n"


def test_a_port_without_a_part_fails_with_the_reason(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    assert ready.main([str(port)]) == 1
    assert f"port {port}: " in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [[], ["1", "2"], ["http://x"]])
def test_anything_but_a_port_is_wrong_usage(arguments: list[str]) -> None:
    assert ready.main(arguments) == 2
