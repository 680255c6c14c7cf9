"""Actions on incidents: stored once, shown in order, and no change of what was found."""

from __future__ import annotations

import msgspec
import pytest
from builders.api_service import Put, Unavailable, served
from builders.schemas.incidents import CHILD, INCIDENT, NIC, RESOLVED
from httpx import Client, Response

from store.client import Store

URL = "/api/v1/incidents/AAAA"


def act(client: Client, kind: str, key: str = "", **fields: str) -> Response:
    headers = {"idempotency-key": key} if key else {}
    body = {"kind": kind, "by": "alice", **fields}
    return client.post(f"{URL}/actions", json=body, headers=headers)


def test_actions_are_shown_in_order_with_what_they_come_to(client: Client, put: Put) -> None:
    put(INCIDENT)
    act(client, "acknowledge")
    act(client, "assign", assignee="bob")
    act(client, "note", text="cable pulled?\nlooking\t'\"\\ ÄÖ {x:String}")
    act(client, "feedback", verdict="right")
    found = client.get(URL).json()
    assert [each["kind"] for each in found["actions"]] == [
        "acknowledge", "assign", "note", "feedback",
    ]  # fmt: skip
    assert found["actions"][2]["text"] == "cable pulled?\nlooking\t'\"\\ ÄÖ {x:String}"
    assert {**found["handling"], "at": ""} == {
        "status": "acknowledged", "by": "alice", "at": "", "assignee": "bob", "verdict": "right",
    }  # fmt: skip
    assert found["incident"] == msgspec.to_builtins(INCIDENT), "what was found stays as it was"


@pytest.mark.parametrize(
    ("kinds", "status"),
    [
        (["acknowledge"], "acknowledged"), (["acknowledge", "resolve"], "resolved"),
        (["resolve", "reopen"], "new"), (["resolve", "reopen", "acknowledge"], "acknowledged"),
    ],
)  # fmt: skip
def test_the_last_action_decides_the_status(
    client: Client, put: Put, kinds: list[str], status: str
) -> None:
    put(INCIDENT)
    for kind in kinds:
        act(client, kind)
    detail = client.get(URL).json()["handling"]
    assert detail["status"] == status
    listed = client.get("/api/v1/incidents").json()["handling"]["AAAA"]
    assert listed == detail, "a list says the same"


def test_a_repeated_request_has_no_further_effect(client: Client, put: Put) -> None:
    put(INCIDENT)
    first = act(client, "note", key="k1", text="once")
    again = act(client, "note", key="k1", text="once")
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json() == again.json()
    other = act(client, "note", key="k1", text="twice")
    assert (other.status_code, "k1" in other.json()["detail"]) == (409, True)
    act(client, "note", text="once")
    assert len(client.get(f"{URL}/actions").json()["items"]) == 2


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"kind": "delete"}, "kind"),
        ({"kind": "note"}, "text"),
        ({"kind": "assign"}, "assignee"),
        ({"kind": "feedback"}, "verdict"),
        ({"kind": "feedback", "verdict": "maybe"}, "verdict"),
        ({"kind": "note", "text": "x", "verdict": "right"}, "verdict"),
        ({"kind": "note", "text": "x" * 4001}, "text"),
        ({"kind": "note", "text": "a\x00b"}, "text"),
        ({"kind": "acknowledge", "by": ""}, "by"),
        ({"kind": "acknowledge", "who": "x"}, "who"),
    ],
)
def test_an_invalid_action_is_refused_with_its_field(
    client: Client, put: Put, fields: dict[str, str], word: str
) -> None:
    put(INCIDENT)
    response = client.post(f"{URL}/actions", json={"by": "alice", **fields})
    assert response.status_code == 422
    assert word in response.json()["detail"]
    assert "x" * 100 not in response.text, "what was sent is not sent back"


def test_an_action_on_an_unknown_incident_is_not_found(client: Client) -> None:
    assert act(client, "acknowledge").status_code == 404
    assert client.get(f"{URL}/actions").status_code == 404
    assert client.get(f"{URL}/timeline").status_code == 404


def test_an_incident_has_a_bounded_number_of_actions(
    client: Client, store: Store, put: Put
) -> None:
    put(INCIDENT)
    store.execute(
        "INSERT INTO incident_actions (incident_id, key, kind, actor, at)"
        " SELECT 'AAAA', toString(number), 'note', 'bot', now64(6) FROM numbers(1000)"
    )
    refused = act(client, "acknowledge")
    assert (refused.status_code, "1000" in refused.json()["detail"]) == (409, True)


def test_the_timeline_has_versions_and_actions_by_time(client: Client, put: Put) -> None:
    put(INCIDENT, RESOLVED)
    act(client, "acknowledge")
    act(client, "feedback", verdict="wrong_component")
    moments = client.get(f"{URL}/timeline").json()["items"]
    assert [(each["version"], each["text"]) for each in moments] == [
        (1, "open: loss of tor:asw-3-1, P1"),
        (2, "resolved"),
        (2, "acknowledged by alice"),
        (2, "judged as wrong component by alice"),
    ]
    assert moments[2]["action"]["kind"] == "acknowledge"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("handling=acknowledged", ["AAAA"]),
        ("handling=new", ["BBBB"]),
        ("handling=new&handling=acknowledged", ["BBBB", "AAAA"]),
        ("handling=resolved", []),
        ("assignee=bob", ["AAAA"]),
        ("assignee=carol&assignee=bob", ["AAAA"]),
    ],
)
def test_incidents_are_filtered_by_what_people_made_of_them(
    client: Client, put: Put, query: str, expected: list[str]
) -> None:
    put(INCIDENT, NIC)
    act(client, "acknowledge")
    act(client, "assign", assignee="bob")
    page = client.get(f"/api/v1/incidents?{query}").json()
    assert [each["incident_id"] for each in page["items"]] == expected
    assert page["total"] == len(expected)
    assert set(page["handling"]) == {"AAAA"} & set(expected)


def test_an_action_that_could_not_be_stored_is_a_503() -> None:
    with served(Unavailable()) as client:
        assert act(client, "acknowledge").status_code == 503


def test_a_person_finds_it_in_sql(client: Client, store: Store, put: Put) -> None:
    put(INCIDENT, CHILD)
    act(client, "assign", assignee="bob")
    assert store.rows("SELECT incident_id, status, assignee, actions FROM incident_handling") == [
        {"incident_id": "AAAA", "status": "new", "assignee": "bob", "actions": 1}
    ]
