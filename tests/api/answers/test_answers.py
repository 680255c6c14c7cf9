"""What all answers have in common: problems, tags, methods, compression."""

from __future__ import annotations

import gzip

import httpx
import pytest
from builders.api_service import Put
from builders.schemas.incidents import INCIDENT, NIC, RESOLVED
from msgspec.structs import replace


@pytest.mark.parametrize(
    ("method", "path", "status", "title"),
    [
        ("GET", "/api/v1/incidents/none", 404, "Not Found"),
        ("GET", "/nowhere", 404, "Not Found"),
        ("PUT", "/healthz", 405, "Method Not Allowed"),
        ("GET", "/api/v1/incidents?limit=0&order=x", 422, "Unprocessable"),
    ],
)
def test_an_error_is_a_problem_of_rfc_9457(
    client: httpx.Client, method: str, path: str, status: int, title: str
) -> None:
    response = client.request(method, path)
    assert response.headers["content-type"] == "application/problem+json"
    problem = response.json()
    assert problem["status"] == response.status_code == status
    assert problem["title"].startswith(title)
    assert problem["detail"]


@pytest.mark.parametrize(
    ("path", "detail"),
    [
        ("/api/v1/incidents?stat=open", "stat: "),
        ("/api/v1/summary?since=-1h", "since: there is no such parameter; this operation"),
        ("/api/v1/fleet?sate=active", "sate: there is no such parameter; did you mean state?"),
        ("/api/v1/fleet?limit=1&limit=2", "limit: is given more than once, and takes one value"),
        ("/api/v1/incidents?limit=many", "limit: must be a whole number"),
        ("/api/v1/incidents?since=2026", "since: write a time with its zone, as 2026-01-31T12"),
        ("/api/v1/incidents?since=yesterday", "since: write a time with its zone"),
        ("/api/v1/paths/zz", "path_id: must be 16 hexadecimal digits"),
        ("/api/v1/incidents?state=closed", "state.0: must be "),
    ],
)  # fmt: skip
def test_a_wrong_parameter_is_told_in_words_for_its_author(
    client: httpx.Client, path: str, detail: str
) -> None:
    """Ignored, a misspelt filter would select everything without a word."""
    response = client.get(path)
    assert response.status_code == 422
    found = response.json()["detail"]
    assert found.startswith(detail), found
    assert "Input should" not in found


def test_an_invalid_request_names_each_parameter_without_its_value(client: httpx.Client) -> None:
    problem = client.get("/api/v1/incidents?limit=0&order=secretvalue").json()
    assert [each["loc"] for each in problem["errors"]] == [["query", "order"], ["query", "limit"]]
    assert problem["detail"].startswith("order: ")
    assert "secretvalue" not in str(problem)


@pytest.mark.parametrize("path", ["/api/v1/incidents", "/api/v1/incidents/AAAA"])
def test_an_answer_that_is_known_is_not_sent_again(
    client: httpx.Client, put: Put, path: str
) -> None:
    put(INCIDENT)
    first = client.get(path)
    tag = first.headers["etag"]
    again = client.get(path, headers={"if-none-match": f'"x", {tag}'})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
    put(RESOLVED)
    assert client.get(path, headers={"if-none-match": tag}).status_code == 200
    client.post(
        "/api/v1/incidents/AAAA/actions", json={"kind": "acknowledge", "by": "alice"}
    ).raise_for_status()
    acted = client.get(path)
    assert acted.headers["etag"] not in (tag, client.get("/api/v1/incidents?limit=1").content)


def test_an_action_changes_the_tag(client: httpx.Client, put: Put) -> None:
    put(INCIDENT)
    for path in ("/api/v1/incidents", "/api/v1/incidents/AAAA"):
        tag = client.get(path).headers["etag"]
        body = {"kind": "note", "by": "alice", "text": path}
        client.post("/api/v1/incidents/AAAA/actions", json=body).raise_for_status()
        assert client.get(path, headers={"if-none-match": tag}).status_code == 200


@pytest.mark.parametrize(
    ("path", "allow"),
    [
        ("/api/v1/incidents", "GET, HEAD, OPTIONS"),
        ("/api/v1/incidents/AAAA/actions", "GET, HEAD, OPTIONS, POST"),
        ("/api/v1/session", "DELETE, GET, HEAD, OPTIONS, POST"),
        ("/", "GET, HEAD, OPTIONS"),
    ],
)
def test_options_says_which_methods_a_url_has(client: httpx.Client, path: str, allow: str) -> None:
    response = client.options(path, headers={"origin": "https://evil.example"})
    assert (response.status_code, response.headers["allow"]) == (204, allow)
    assert not any(name.startswith("access-control") for name in response.headers)


def test_head_has_the_headers_of_get(client: httpx.Client, put: Put) -> None:
    put(INCIDENT)
    head, got = client.head("/api/v1/incidents"), client.get("/api/v1/incidents")
    assert (head.content, head.headers["etag"]) == (b"", got.headers["etag"])


def test_a_long_answer_is_compressed_where_the_client_takes_that(
    client: httpx.Client, put: Put
) -> None:
    put(*(replace(NIC, incident_id=f"N{number}") for number in range(20)))
    with client.stream("GET", "/api/v1/incidents", headers={"accept-encoding": "gzip"}) as sent:
        raw = b"".join(sent.iter_raw())
    assert sent.headers["content-encoding"] == "gzip"
    plain = client.get("/api/v1/incidents", headers={"accept-encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert gzip.decompress(raw) == plain.content
    assert len(raw) < len(plain.content) / 3


@pytest.mark.parametrize("chunked", [False, True])
def test_a_large_body_is_refused(client: httpx.Client, put: Put, chunked: bool) -> None:
    put(INCIDENT)
    body = b'{"kind": "note", "by": "alice", "text": "' + b"x" * 100_000 + b'"}'
    response = client.post(
        "/api/v1/incidents/AAAA/actions",
        content=iter([body]) if chunked else body,
        headers={"content-type": "application/json"},
    )
    assert response.status_code == 413
    assert response.headers["content-type"] == "application/problem+json"
