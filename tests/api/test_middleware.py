"""Middleware: security headers on every response, errors included, and the Host check."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import Any

import httpx
import pytest
from builders.api_service import Unavailable, served

from api.monitoring import Monitoring
from api.routes.monitoring_app import monitoring_app
from api.serving import ThreadServer, listen

JSON = {
    "x-content-type-options": "nosniff",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}


class Broken:
    """A database whose rows are not what the api expects."""

    def rows(self, sql: str, parameters: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        return [{"secret": "http://user@db.internal:8123/skh"}]


def assert_guarded(response: httpx.Response) -> None:
    expected = JSON
    if "etag" in response.headers:  # may be kept, if it is asked for again before each use
        expected = JSON | {"cache-control": "private, no-cache"}
    assert {name: response.headers.get(name) for name in JSON} == expected, response.url


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/api/v1/incidents", 200),
        ("GET", "/api/v1/summary", 200),
        ("GET", "/api/v1/incidents/nope", 404),
        ("GET", "/api/v1/incidents?limit=0", 422),
        ("GET", "/nowhere", 404),
        ("GET", "/page/../app.py", 404),
        ("POST", "/api/v1/incidents", 415),
        ("DELETE", "/api/v1/incidents", 405),
        ("OPTIONS", "/nowhere", 404),
        ("DELETE", "/", 405),
        ("HEAD", "/api/v1/incidents", 200),
        ("HEAD", "/healthz", 200),
        ("HEAD", "/nowhere", 404),
        ("GET", "/healthz", 200),
        ("GET", "/readyz", 200),
        ("GET", "/metrics", 200),
        ("GET", "/openapi.json", 200),
    ],
)
def test_every_response_but_pages_has_the_headers_of_data(
    client: httpx.Client, method: str, path: str, status: int
) -> None:
    response = client.request(method, path)
    assert response.status_code == status
    assert_guarded(response)
    if path != "/metrics":
        kind = "application/json" if status == 200 else "application/problem+json"
        assert response.headers["content-type"] == kind
        if method == "HEAD":
            assert response.content == b""
        else:
            assert response.json()


@pytest.mark.parametrize("path", ["/", "/docs", "/page/page.js"])
def test_pages_have_their_own_headers(client: httpx.Client, path: str) -> None:
    for method in ("GET", "HEAD"):
        response = client.request(method, path)
        assert response.headers["x-content-type-options"] == "nosniff"
        assert "script-src 'self'" in response.headers["content-security-policy"]
        assert response.headers["cache-control"] == "no-cache"


def test_an_internal_error_has_no_details_for_the_client() -> None:
    with served(Broken()) as client:
        for path in ("/api/v1/incidents", "/api/v1/incidents/A", "/api/v1/summary"):
            response = client.get(path)
            assert response.status_code == 500
            assert_guarded(response)
            assert response.json() == {
                "detail": "internal error; the log of this service has the details",
                "status": 500, "title": "Internal Server Error",
            }  # fmt: skip


def test_no_response_contains_the_address_of_the_database() -> None:
    class Located(Unavailable):
        def rows(self, sql: str, parameters: Mapping[str, Any] | None = None) -> Any:
            raise ConnectionError("http://db.internal:8123/skh: user skeleton: refused")

    class Refusing(Unavailable):
        def rows(self, sql: str, parameters: Mapping[str, Any] | None = None) -> Any:
            raise RuntimeError("http://db.internal:8123/skh: no table for user skeleton")

    for store in (Located(), Refusing()):
        with served(store) as client:
            for path in ("/api/v1/incidents", "/api/v1/summary", "/readyz", "/metrics"):
                response = client.get(path)
                assert response.status_code == (200 if path == "/metrics" else 503)
                assert_guarded(response)
                for hidden in ("db.internal", "8123", "skh:", "skeleton:", "http:"):
                    assert hidden not in response.text, (path, hidden)


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics"])
@pytest.mark.parametrize("host", ["10.4.5.6:8765", "[fd00::5]", "skh-api.monitoring.svc", ""])
def test_monitoring_urls_accept_any_host_header(client: httpx.Client, path: str, host: str) -> None:
    assert client.get(path, headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "path", ["/", "/docs", "/page/page.js", "/openapi.json", "/api/v1/incidents", "/healthz/", "/x"]
)
@pytest.mark.parametrize(
    "host", ["evil.example", "10.4.5.6:8765", "localhost.evil.example", "", "a b"]
)
def test_data_and_pages_refuse_a_foreign_host_header(
    client: httpx.Client, path: str, host: str
) -> None:
    response = client.get(path, headers={"host": host})
    assert response.status_code == 400, "a foreign page must not read it through DNS rebinding"
    assert "SKH_API_NAMES" in response.json()["detail"]
    assert_guarded(response)


@pytest.mark.parametrize(
    ("names", "host", "status"),
    [
        (["skh.example"], "SKH.example:443", 200),
        (["skh.example"], "a.skh.example", 400),
        (["*.example"], "skh.example", 200),
        (["*.example"], "example", 400),
        (["*"], "anything", 200),
        (["[::1]"], "[::1]:8765", 200),
    ],
)
def test_allowed_hosts_are_matched_without_case_and_port(
    names: list[str], host: str, status: int
) -> None:
    with served(Unavailable(), allowed_hosts=names) as client:
        assert client.get("/docs", headers={"host": host}).status_code == status


@pytest.mark.parametrize(
    "sent",
    [
        b"\x16\x03\x01\x02\x00\x01",
        b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\n\r\n",
        b"\r\n\r\nx\r\n\r\n",
    ],
    ids=["tls", "long-url", "garbage"],
)
def test_bytes_that_are_no_http_are_refused_with_a_json_problem(
    client: httpx.Client, sent: bytes
) -> None:
    at = (client.base_url.host, client.base_url.port or 0)
    with socket.create_connection(at, timeout=30) as connection:
        connection.sendall(sent + b"\r\n\r\n")
        answer = b""
        while chunk := connection.recv(65536):
            answer += chunk
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ")
    assert b"nosniff" in head
    assert b"no HTTP request" in body


def test_the_monitoring_app_has_three_routes_and_the_same_headers() -> None:
    listener, moved = listen("127.0.0.1", 0)
    assert not moved
    server = ThreadServer(monitoring_app(Monitoring(ready=[lambda: "no partitions yet"])), listener)
    server.start()
    try:
        with httpx.Client(base_url=server.url) as client:
            for path, status in (
                ("/healthz", 200), ("/readyz", 503), ("/metrics", 200), ("/", 404), ("/api", 404),
            ):  # fmt: skip
                response = client.get(path, headers={"host": "10.0.0.1"})
                assert response.status_code == status
                assert_guarded(response)
            assert client.post("/healthz").status_code == 405
            assert client.get("/readyz").json()["reason"] == "no partitions yet"
            assert client.get("/nowhere").json()["detail"] == "Not Found"
    finally:
        server.close()
