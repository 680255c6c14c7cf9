"""What programs ask of /api/v1, over real rows."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest
from conftest import served
from httpx import Client
from incident_samples import CHILD, INCIDENT, NIC, PIPELINE, RESOLVED, Away, Put

from schemas.incident import Incident


def ids(client: Client, query: str = "") -> list[str]:
    response = client.get(f"/api/v1/incidents{query}")
    assert response.status_code == 200, response.text
    return [each["incident_id"] for each in response.json()["items"]]


def test_the_newest_incident_comes_first_in_its_last_version(client: Client, put: Put) -> None:
    put(INCIDENT, NIC, RESOLVED)
    items = client.get("/api/v1/incidents").json()["items"]
    assert [(each["incident_id"], each["state"]) for each in items] == [
        ("BBBB", "open"),
        ("AAAA", "resolved"),
    ]


def test_an_incident_is_answered_as_it_was_published(client: Client, put: Put) -> None:
    put(INCIDENT)
    (item,) = client.get("/api/v1/incidents").json()["items"]
    assert msgspec.convert(item, Incident) == INCIDENT


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("component=tor:asw-3-1", ["AAAA"]),
        ("component=link:rnic:10.0.0.1|tor:asw-3-1", ["BBBB"]),
        ("component=tor:asw", []),
        ("kind=rnic", ["BBBB"]),
        ("state=open", ["BBBB"]),
        ("state=active", ["BBBB"]),
        ("state=resolved", ["AAAA"]),
        ("severity=P0", ["BBBB"]),
        ("job=llm-70b", ["AAAA"]),
        ("tenant=red", ["BBBB"]),
        ("fabric=f2", ["BBBB"]),
        ("since=2026-01-31T12:05:00Z", ["BBBB"]),
        ("since=2026-01-31T13:05:00%2B01:00", ["BBBB"]),
        ("until=2026-01-31T12:05:00Z", ["AAAA"]),
        ("since=2026-01-31T12:05:00.000001Z", []),
        ("since=0001-01-01T00:00:00Z&until=9999-12-31T23:59:59Z", ["BBBB", "AAAA"]),
        ("include_children=true", ["BBBB", "CCCC", "AAAA"]),
        ("include_children=true&kind=vswitch", ["CCCC"]),
        ("kind=vswitch", []),
        ("kind=rnic&severity=P1", []),
        ("component=%27%20OR%201=1%20--", []),
        ("component=%5C", []),
    ],
)
def test_filters_select(client: Client, put: Put, query: str, expected: list[str]) -> None:
    put(INCIDENT, NIC, CHILD, RESOLVED)
    assert ids(client, f"?{query}") == expected


def test_pages_follow_their_next_link_to_the_end(client: Client, put: Put) -> None:
    put(*(msgspec.structs.replace(NIC, incident_id=f"N{number}") for number in range(5)))
    url: str | None = "/api/v1/incidents?limit=2&kind=rnic"
    found, pages = [], 0
    while url:
        page = client.get(url).json()
        assert page["total"] == 5
        found += [each["incident_id"] for each in page["items"]]
        url, pages = page["next"], pages + 1
    assert (found, pages) == (["N0", "N1", "N2", "N3", "N4"], 3)


@pytest.mark.parametrize(
    ("query", "word"),
    [
        ("kind=router", "kind"),
        ("state=broken", "state"),
        ("severity=P9", "severity"),
        ("limit=0", "limit"),
        ("limit=501", "limit"),
        ("offset=-1", "offset"),
        ("since=yesterday", "since"),
        ("since=2026-01-31T12:00:00", "timezone"),
        ("since=2026-01-31T12:00:00Z&until=2026-01-31T12:00:00Z", "since must be before until"),
        ("compnent=tor:asw-3-1", "compnent"),
        ("component=%00", "component"),
    ],
)
def test_a_bad_query_is_refused_by_name(client: Client, query: str, word: str) -> None:
    response = client.get(f"/api/v1/incidents?{query}")
    assert response.status_code == 422
    assert word in response.text


def test_one_incident_comes_with_its_history_and_what_it_explains(client: Client, put: Put) -> None:
    put(INCIDENT, RESOLVED, CHILD)
    found = client.get("/api/v1/incidents/AAAA").json()
    assert found["incident"]["version"] == 2
    assert [each["state"] for each in found["versions"]] == ["open", "resolved"]
    assert [each["incident_id"] for each in found["children"]] == ["CCCC"]


def test_a_replayed_version_is_in_the_history_once(client: Client, put: Put) -> None:
    put(INCIDENT, INCIDENT)
    assert len(client.get("/api/v1/incidents/AAAA").json()["versions"]) == 1
    assert client.get("/api/v1/incidents").json()["total"] == 1


def test_an_unknown_incident_is_not_found(client: Client) -> None:
    response = client.get("/api/v1/incidents/nope")
    assert response.status_code == 404
    assert response.json() == {"detail": "there is no incident 'nope'"}


def test_the_summary_says_what_is_watched(
    client: Client, put: Put, watch: Callable[[int], None]
) -> None:
    empty = client.get("/api/v1/summary").json()
    assert empty == {"paths_watched": 0, "active": {}, "resolved": 0, "stored_age_s": None}
    watch(7)
    put(INCIDENT, NIC, CHILD, RESOLVED)
    full = client.get("/api/v1/summary").json()
    assert full["stored_age_s"] in range(30)
    assert {**full, "stored_age_s": 0} == {
        "paths_watched": 7, "active": {"P0": 1}, "resolved": 1, "stored_age_s": 0,
    }  # fmt: skip


@pytest.mark.parametrize("path", ["incidents", "incidents/AAAA", "summary"])
def test_without_a_database_the_answer_is_503_with_the_reason(path: str) -> None:
    with served(Away()) as client:
        response = client.get(f"/api/v1/{path}")
    assert response.status_code == 503
    assert "connection refused" in response.json()["detail"]


def test_a_name_that_is_not_ours_is_refused(client: Client) -> None:
    response = client.get("/api/v1/incidents", headers={"host": "evil.example"})
    assert response.status_code == 400, "else a foreign page could read us through DNS rebinding"


def test_an_error_of_our_own_is_listed_by_its_kind(client: Client, put: Put) -> None:
    """It never counts as P0, whatever it keeps from being judged."""
    put(INCIDENT, PIPELINE)
    assert ids(client, "?kind=pipeline") == ["DDDD"]
    assert client.get("/api/v1/incidents/DDDD").json()["incident"]["layer"] == "pipeline"
    assert client.get("/api/v1/summary").json()["active"] == {"P1": 1, "P2": 1}
