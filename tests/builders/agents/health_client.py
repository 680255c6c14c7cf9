"""Requests to an agent's health server."""

from __future__ import annotations

import http.client
from contextlib import closing

from builders.agents.waiting import HANG_S


def get(port: int, path: str, method: str = "GET") -> tuple[int, str]:
    """Status and body of one request."""
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=HANG_S)) as connection:
        connection.request(method, path)
        response = connection.getresponse()
        return response.status, response.read().decode()


def answered(port: int, path: str, status: int) -> bool:
    """Whether the server is there and the page has this status."""
    try:
        return get(port, path)[0] == status
    except OSError:
        return False


def page(port: int, path: str) -> str:
    """A page's body; "" while the server is not there."""
    try:
        return get(port, path)[1]
    except OSError:
        return ""
