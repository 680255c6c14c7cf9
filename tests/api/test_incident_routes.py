"""What programs ask of /api/v1, over real rows."""

from __future__ import annotations

import time
from collections.abc import Callable

import msgspec
import pytest
from builders.api_service import Put, Unavailable, served
from builders.monitoring.path_windows import window
from builders.schemas.incidents import CHILD, INCIDENT, NIC, PIPELINE, RESOLVED
from httpx import Client

from schemas.documents.incident import Incident, encode
from store.client import Store


def ids(client: Client, query: str = "") -> list[str]:
    response = client.get(f"/api/v1/incidents{query}")
    assert response.status_code == 200, response.text
    return [each["incident_id"] for each in response.json()["items"]]


def test_incidents_are_listed_newest_first_in_their_last_version(client: Client, put: Put) -> None:
    put(INCIDENT, NIC, RESOLVED)
    items = client.get("/api/v1/incidents").json()["items"]
    assert [(each["incident_id"], each["state"]) for each in items] == [
        ("BBBB", "open"),
        ("AAAA", "resolved"),
    ]


def test_an_incident_is_returned_as_it_was_published(client: Client, put: Put) -> None:
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
        ("severity=P0&severity=P1", ["BBBB", "AAAA"]),
        ("state=open&state=resolved", ["BBBB", "AAAA"]),
        ("state=active&state=resolved&severity=P1", ["AAAA"]),
        ("kind=rnic&kind=tor", ["BBBB", "AAAA"]),
        ("text=ASW-3-1", ["BBBB", "AAAA"]),
        ("text=bad%20paths%20cross", ["AAAA"]),
        ("text=neighbours%20UNCONNECTIVITY%20red", ["BBBB"]),
        ("text=nic%20down", ["BBBB"]),
        ("text=bert&severity=P1", []),
        ("text=%20%20", ["BBBB", "AAAA"]),
        ("text=high%20latency&include_children=true", ["CCCC"]),
        ("text=%27%20OR%201=1%20--", []),
        ("text=%5C%27%22%7Bx%3AString%7D%25_", []),
        ("text=%F0%9F%9A%A8%C3%84", []),
        ("text=%ED%A0%80%FF", []),
        ("include_uncovered=true", ["BBBB", "CCCC", "AAAA"]),
        ("order=urgent&include_children=true", ["BBBB", "CCCC", "AAAA"]),
        ("offset=1000000", []),
    ],
)
def test_each_filter_selects_its_incidents(
    client: Client, put: Put, query: str, expected: list[str]
) -> None:
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
        ("since=2026-01-31T12:00:00", "with its zone"),
        ("since=2026-01-31T12:00:00Z&until=2026-01-31T12:00:00Z", "since must be before until"),
        ("compnent=tor:asw-3-1", "compnent"),
        ("component=%00", "component"),
        ("text=", "text"),
        ("text=a%00b", "text"),
        ("text=" + "a" * 201, "text"),
        ("severity=P0&severity=P9", "severity"),
        ("severity=P0" + "&severity=P0" * 8, "severity"),
        ("order=sideways", "order"),
        ("cursor=x", "cursor"),
        ("cursor=x&offset=1", "offset"),
        ("since=-15y", "since"),
        ("until=2026-13-45T00:00:00Z", "until"),
        ("offset=1000001", "offset"),
        ("offset=99999999999999999999", "offset"),
        ("limit=ten", "limit"),
    ],
)
def test_an_invalid_query_is_refused_with_the_parameters_name(
    client: Client, query: str, word: str
) -> None:
    response = client.get(f"/api/v1/incidents?{query}")
    assert response.status_code == 422
    assert word in response.text


def test_text_with_special_characters_is_found(client: Client, put: Put) -> None:
    """What a parameter carries arrives as it was sent, whatever SQL would make of it."""
    odd = 'tor:O\'Brien \\ "x" {a:String} %s ÄÖ 🚨 \u2028'
    put(INCIDENT, msgspec.structs.replace(NIC, component=odd))
    for word in (*odd.split(), odd.lower()):
        answer = client.get("/api/v1/incidents", params={"text": word}).json()
        assert [each["incident_id"] for each in answer["items"]] == ["BBBB"], word
    found = client.get("/api/v1/incidents", params={"component": odd}).json()
    assert found["total"] == 1


def test_the_urgent_order_is_active_then_severe_then_new(client: Client, put: Put) -> None:
    put(
        INCIDENT, NIC, msgspec.structs.replace(NIC, incident_id="DDDD", severity="P1"),
        msgspec.structs.replace(RESOLVED, incident_id="EEEE", severity="P0",
                                opened_at="2026-03-01T00:00:00Z"),
        msgspec.structs.replace(NIC, incident_id="FFFF", opened_at="2026-01-01T00:00:00Z"),
    )  # fmt: skip
    assert ids(client, "?order=urgent") == ["BBBB", "FFFF", "DDDD", "AAAA", "EEEE"]
    assert ids(client) == ["EEEE", "BBBB", "DDDD", "AAAA", "FFFF"], "as before"


def test_counts_ignore_the_filters_of_state_and_severity(client: Client, put: Put) -> None:
    put(INCIDENT, NIC, CHILD, RESOLVED)
    page = client.get("/api/v1/incidents?severity=P0&limit=1").json()
    assert page["counts"] == {"open": {"P0": 1}, "resolved": {"P1": 1}}
    assert page["total"] == 1
    page = client.get("/api/v1/incidents?text=bert&state=resolved").json()
    assert (page["counts"], page["total"]) == ({"open": {"P0": 1}}, 0)


@pytest.mark.parametrize(
    ("cause", "child", "listed"),
    [
        ({}, {}, False),
        ({}, {"severity": "P0"}, True),
        ({"state": "resolved"}, {}, True),
        ({"state": "resolved"}, {"state": "resolved"}, False),
        ({}, {"parent": "not-stored"}, True),
    ],
    ids=["covered", "severer", "outlives", "both-over", "orphan"],
)
def test_a_child_is_uncovered_while_no_stored_cause_is_as_urgent(
    client: Client, put: Put, cause: dict[str, str], child: dict[str, str], listed: bool
) -> None:
    put(msgspec.structs.replace(INCIDENT, **cause), msgspec.structs.replace(CHILD, **child))
    assert ("CCCC" in ids(client, "?include_uncovered=true")) is listed
    assert "CCCC" not in ids(client)
    page = client.get("/api/v1/incidents").json()
    assert page["explains"] == ({} if "parent" in child else {"AAAA": 1})


def test_all_of_fifty_thousand_incidents_are_counted_and_paged(
    client: Client, store: Store
) -> None:
    """Two versions each, a P0 that opened before all others still active."""
    document = encode(msgspec.structs.replace(RESOLVED, incident_id="XX", component="tor:YY"))
    store.execute(
        "INSERT INTO incidents (incident_id, version, state, fabric, component, kind, severity,"
        " opened_at, parent, document)"
        " SELECT leftPad(toString(intDiv(number, 2)), 16, '0') AS id, number % 2 + 1,"
        " if(number % 2 = 1 AND number != 1, 'resolved', 'open'), 'f1',"
        " concat('tor:asw-', toString(intDiv(number, 2) % 977)) AS name, 'tor',"
        " if(number < 2, 'P0', 'P1'), addSeconds(toDateTime('2026-01-01', 'UTC'), number),"
        " if(intDiv(number, 2) % 10 = 9, leftPad(toString(intDiv(number, 2) - 1), 16, '0'), ''),"
        " replaceOne(replaceOne({document:String}, 'XX', id), 'tor:YY', name)"
        " FROM numbers(100000)",
        {"document": document.decode()},
    )
    page = client.get("/api/v1/incidents?order=urgent&include_uncovered=true", timeout=600).json()
    assert page["items"][0]["incident_id"] == "0" * 16
    assert page["counts"] == {"open": {"P0": 1}, "resolved": {"P1": 44_999}}
    assert set(page["explains"].values()) == {1}
    query = "?text=asw-13%20cross&include_children=true&limit=5"
    found = client.get(f"/api/v1/incidents{query}", timeout=600).json()
    assert found["total"] > 50
    assert {each["component"][:10] for each in found["items"]} == {"tor:asw-13"}
    deep = client.get("/api/v1/incidents?offset=44990&limit=500", timeout=600).json()
    assert (len(deep["items"]), deep["next"]) == (10, None)
    assert client.get("/api/v1/summary", timeout=600).json()["active"] == {"P0": 1}


def test_one_incident_has_its_history_and_its_children(client: Client, put: Put) -> None:
    put(INCIDENT, RESOLVED, CHILD)
    found = client.get("/api/v1/incidents/AAAA").json()
    assert found["incident"]["version"] == 2
    assert [each["state"] for each in found["versions"]] == ["open", "resolved"]
    assert [each["incident_id"] for each in found["children"]] == ["CCCC"]


def test_a_replayed_version_appears_in_the_history_once(client: Client, put: Put) -> None:
    put(INCIDENT, INCIDENT)
    assert len(client.get("/api/v1/incidents/AAAA").json()["versions"]) == 1
    assert client.get("/api/v1/incidents").json()["total"] == 1


def test_an_unknown_incident_is_not_found(client: Client) -> None:
    response = client.get("/api/v1/incidents/nope")
    assert response.status_code == 404
    assert response.json()["detail"] == "there is no incident 'nope'"


def test_the_summary_counts_paths_and_active_incidents(
    client: Client, put: Put, watch: Callable[[int], None]
) -> None:
    empty = client.get("/api/v1/summary").json()
    assert empty == {"paths_watched": 0, "active": {}, "resolved": 0, "stored_age_s": None}
    watch(7)
    put(INCIDENT, NIC, CHILD, RESOLVED)
    full = client.get("/api/v1/summary").json()
    assert full["stored_age_s"] in range(30)
    assert {**full, "stored_age_s": 0} == {
        "paths_watched": 7, "active": {"P0": 1, "P2": 1}, "resolved": 1, "stored_age_s": 0,
    }, "the child is active and its cause is not"  # fmt: skip


def test_paths_are_counted_before_their_first_half_minute_is_over(
    client: Client, put_windows: Callable[..., None]
) -> None:
    begin_s = int(time.time()) // 30 * 30 - 25  # no window of half minutes begins then
    put_windows(window(begin_s, 1), window(begin_s, 2))
    assert client.get("/api/v1/summary").json()["paths_watched"] == 2


@pytest.mark.parametrize("path", ["incidents", "incidents/AAAA", "summary"])
def test_a_request_without_database_is_503_with_the_reason(path: str) -> None:
    with served(Unavailable()) as client:
        response = client.get(f"/api/v1/{path}")
    assert response.status_code == 503
    assert response.json()["detail"] == "the database does not answer"


def test_a_foreign_host_header_is_refused(client: Client) -> None:
    response = client.get("/api/v1/incidents", headers={"host": "evil.example"})
    assert response.status_code == 400, "else a foreign page could read us through DNS rebinding"


def test_a_pipeline_incident_is_listed_by_its_kind(client: Client, put: Put) -> None:
    """It never counts as P0, whatever it keeps from being judged."""
    put(INCIDENT, PIPELINE)
    assert ids(client, "?kind=pipeline") == ["DDDD"]
    assert client.get("/api/v1/incidents/DDDD").json()["incident"]["layer"] == "pipeline"
    assert client.get("/api/v1/summary").json()["active"] == {"P1": 1, "P2": 1}
