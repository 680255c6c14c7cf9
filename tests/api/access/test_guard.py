"""Who may ask and act: tokens and roles, this machine, foreign pages, rates."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from builders.api_service import Put, served
from builders.schemas.incidents import INCIDENT

from api.access.callers import Caller, Role
from api.access.rate_limit import Rate
from api.access.tokens import Tokens, line, parse
from store.client import Store

ROLES: tuple[Role, ...] = ("viewer", "operator", "admin")
TOKENS = parse("".join(line(Caller(role, role), f"skh_{role}") for role in ROLES))
URL = "/api/v1/incidents/AAAA/actions"
NOTE = {"kind": "note", "text": "seen"}


def bearer(role: str) -> dict[str, str]:
    return {"authorization": f"Bearer skh_{role}"}


def tokens() -> Tokens:
    return TOKENS


@pytest.fixture
def guarded(store: Store, put: Put) -> Iterator[httpx.Client]:
    """A service with tokens and an incident."""
    put(INCIDENT)
    with served(store, tokens=tokens) as client:
        yield client


@pytest.mark.parametrize("path", ["incidents", "incidents/AAAA", "summary", "matrix", "stream"])
def test_with_tokens_every_url_of_the_api_needs_one(guarded: httpx.Client, path: str) -> None:
    response = guarded.get(f"/api/v1/{path}")
    assert (response.status_code, response.headers["www-authenticate"]) == (401, "Bearer")
    assert guarded.get(f"/api/v1/{path}", headers=bearer("wrong")).status_code == 401


def test_pages_and_monitoring_need_no_token(guarded: httpx.Client) -> None:
    for path in ("/", "/incidents/AAAA", "/login", "/healthz", "/metrics", "/openapi.json"):
        assert guarded.get(path).status_code == 200


@pytest.mark.parametrize(("role", "status"), [("viewer", 403), ("operator", 201), ("admin", 201)])
def test_a_viewer_reads_and_an_operator_acts(guarded: httpx.Client, role: str, status: int) -> None:
    assert guarded.get("/api/v1/incidents/AAAA", headers=bearer(role)).status_code == 200
    assert guarded.post(URL, json=NOTE, headers=bearer(role)).status_code == status


def test_an_action_is_stored_under_the_name_of_its_token(guarded: httpx.Client) -> None:
    assert guarded.post(URL, json=NOTE, headers=bearer("operator")).json()["by"] == "operator"
    posed = guarded.post(URL, json={**NOTE, "by": "admin"}, headers=bearer("operator"))
    assert (posed.status_code, "acts as" in posed.json()["detail"]) == (403, True)
    bridged = guarded.post(URL, json={**NOTE, "by": "carol"}, headers=bearer("admin"))
    assert bridged.json()["by"] == "carol"


def test_without_tokens_this_machine_acts_under_a_given_name(
    client: httpx.Client, put: Put
) -> None:
    put(INCIDENT)
    assert client.post(URL, json={**NOTE, "by": "alice"}).status_code == 201
    assert client.post(URL, json=NOTE).status_code == 403


def test_without_tokens_another_name_of_this_machine_reads_only(store: Store, put: Put) -> None:
    """A proxy of this machine that serves others passes their requests on under its own name."""
    put(INCIDENT)
    with served(store, allowed_hosts=["skh.example"]) as client:
        client.headers["host"] = "skh.example"
        assert client.get("/api/v1/incidents/AAAA").status_code == 200
        refused = client.post(URL, json={**NOTE, "by": "alice"})
    assert (refused.status_code, "SKH_API_TOKENS" in refused.json()["detail"]) == (403, True)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"content-type": "text/plain"}, 415),
        ({"content-type": "application/x-www-form-urlencoded"}, 415),
        ({"content-type": "application/json", "origin": "https://evil.example"}, 403),
        ({"content-type": "application/json", "origin": "null"}, 403),
        ({"content-type": "application/json", "sec-fetch-site": "cross-site"}, 403),
        ({"content-type": "application/json", "sec-fetch-site": "same-site"}, 403),
        ({"content-type": "application/json; charset=utf-8", "sec-fetch-site": "same-origin"}, 201),
    ],
)
def test_a_foreign_page_cannot_act_through_a_browser_here(
    client: httpx.Client, put: Put, headers: dict[str, str], status: int
) -> None:
    put(INCIDENT)
    body = b'{"kind": "note", "text": "owned", "by": "alice"}'
    assert client.post(URL, content=body, headers=headers).status_code == status
    shown = client.get("/api/v1/incidents/AAAA").json()["actions"]
    assert bool(shown) is (status == 201)


def test_the_page_itself_has_the_same_origin(client: httpx.Client, put: Put) -> None:
    put(INCIDENT)
    own = {"origin": str(client.base_url).rstrip("/")}
    assert client.post(URL, json={**NOTE, "by": "a"}, headers=own).status_code == 201


def test_a_browser_keeps_its_token_in_a_cookie_that_scripts_cannot_read(
    guarded: httpx.Client,
) -> None:
    begun = guarded.post("/api/v1/session", json={"token": "skh_operator"})
    assert begun.json() == {"name": "operator", "role": "operator", "tenants": []}
    cookie = begun.headers["set-cookie"].lower()
    assert all(word in cookie for word in ("httponly", "samesite=strict", "path=/api"))
    assert guarded.get("/api/v1/summary").status_code == 200
    assert guarded.post(URL, json=NOTE).status_code == 201
    assert guarded.get("/api/v1/session").json()["name"] == "operator"
    assert guarded.delete("/api/v1/session").status_code == 204
    assert guarded.get("/api/v1/summary").status_code == 401


def test_an_unknown_token_begins_no_session(guarded: httpx.Client) -> None:
    response = guarded.post("/api/v1/session", json={"token": "skh_guess"})
    assert (response.status_code, "set-cookie" in response.headers) == (401, False)


def test_a_client_beyond_its_rate_is_asked_to_come_again(store: Store) -> None:
    with served(store, tokens=tokens, rate=Rate(per_s=0.001, burst=3)) as client:
        codes = [
            client.get("/api/v1/summary", headers=bearer("viewer")).status_code for _ in range(4)
        ]
        refused = client.get("/api/v1/summary", headers=bearer("viewer"))
        other = client.get("/api/v1/summary", headers=bearer("admin")).status_code
        pages = client.get("/").status_code
        guesses = [
            client.get("/api/v1/summary", headers=bearer("guess")).status_code for _ in range(4)
        ]
    assert codes == [200, 200, 200, 429]
    assert int(refused.headers["retry-after"]) > 1
    assert (other, pages) == (200, 200)
    assert guesses == [401, 401, 401, 429], "guessing is limited too"
