"""No answer to a token of one tenant holds a name of another: canaries are planted in every table
and searched for behind every GET of the OpenAPI document, errors, metrics and logs included."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from builders.api_service import served
from builders.monitoring.canaries import CANARY, plant

from api.access.callers import Caller
from api.access.tokens import line, parse
from store.client import Store

IDS = ("OWN", "FOREIGN", "SHARED", "CHILD", "NIC", "OVER")
COMPONENTS = ("tor:t1", "rnic:10.0.0.1", "rnic:canary-rnic", "host:canary-node_sn",
              "container:canary-box", "host:canary-host")  # fmt: skip
#: Values of parameters in paths.
VALUES: dict[str, tuple[str, ...]] = {
    "incident_id": IDS, "job": ("llm", "canary-job"), "component_id": COMPONENTS,
    "path_id": ("0000000000000001", "0000000000000002", "0000000000000007"),
}  # fmt: skip
#: Values of parameters in queries, each asked alone.
QUERIES: dict[str, tuple[str, ...]] = {
    "include_children": ("true",), "include_uncovered": ("true",), "state": ("active",),
    "order": ("urgent", "updated"), "by": ("tor", "host", "pod", "rnic"), "incident": IDS,
    "fabric": ("f1",), "text": ("canary", "t1", "nothing"), "tenant": ("blue", "canary"),
    "job": ("llm", "canary-job"), "limit": ("1", "wrong"), "since": ("-1h", "never"),
    "component": COMPONENTS, "src": ("host:canary-node_sn",), "assignee": ("canary-assignee",),
    "health": ("bad",), "kind": ("host", "rnic", "container"), "at": COMPONENTS,
    "query": ("SELECT tenant FROM placement",),
}  # fmt: skip
BLUE = "skh_b"
TOKENS = parse(
    line(Caller("b", "operator", ("blue",)), "skh_b")
    + line(Caller("a", "operator", (CANARY,)), "skh_a")
    + line(Caller("all", "operator"), "skh_all")
)


@pytest.fixture(scope="module")
def planted(engine: Store) -> Iterator[httpx.Client]:
    plant(engine)
    with served(engine, tokens=lambda: TOKENS) as client:
        for token in ("skh_a", "skh_all"):
            note = {"kind": "note", "text": f"ask the canary about it, says {token}"}
            assert asked(client, "/api/v1/incidents/SHARED/actions", token, note).is_success
        yield client


def asked(
    client: httpx.Client, url: str, token: str = BLUE, body: dict[str, Any] | None = None
) -> httpx.Response:
    return client.request(
        "GET" if body is None else "POST", url, json=body,
        headers={"authorization": f"Bearer {token}"},
    )  # fmt: skip


def urls(client: httpx.Client) -> Iterator[str]:
    """Every GET of the document, with each value of each parameter."""
    for path, methods in client.get("/openapi.json").json()["paths"].items():
        if "get" not in methods or path == "/api/v1/stream":
            continue
        parameters = methods["get"].get("parameters", [])
        names = [each["name"] for each in parameters if each["in"] == "path"]
        assert len(names) <= 1
        found = [path]
        if names:
            found = [path.replace(f"{{{names[0]}}}", value) for value in VALUES[names[0]]]
        for url in found:
            yield url
            for each in parameters:
                if each["in"] == "query":
                    for value in QUERIES.get(each["name"], ()):
                        yield f"{url}?{each['name']}={value}"


def test_the_canaries_are_there_for_who_may_see_them(planted: httpx.Client) -> None:
    """Else nothing would be found for want of anything to find."""
    for path in ("incidents", "jobs", "jobs/canary-job", "paths", "coverage",
                 "incidents/SHARED", "incidents/SHARED/timeline", "fleet",
                 "components"):  # fmt: skip
        assert CANARY in asked(planted, f"/api/v1/{path}", "skh_all").text, path
    assert 'component="rnic:canary-rnic"' in asked(planted, "/metrics", "skh_all").text


def test_no_answer_holds_a_name_of_another_tenant(
    planted: httpx.Client, caplog: pytest.LogCaptureFixture
) -> None:
    answers = 0
    with caplog.at_level(logging.DEBUG):
        for url in urls(planted):
            if CANARY not in url:
                response = asked(planted, url)
                assert response.status_code < 500, url
                assert CANARY not in response.text + str(response.headers), (url, response.text)
                answers += 1
    assert answers > 100
    for record in caplog.records:
        if not record.name.startswith(("httpx", "httpcore")):  # the client of this test
            assert CANARY not in record.getMessage()


def test_a_name_of_another_tenant_is_answered_as_one_that_does_not_exist(
    planted: httpx.Client,
) -> None:
    """What was asked may be repeated; apart from that nothing tells that it is there."""
    for url in urls(planted):
        if CANARY in url:
            theirs, absent = asked(planted, url), asked(planted, url.replace(CANARY, "absent"))
            assert theirs.status_code == absent.status_code, url
            assert timeless(theirs).replace(CANARY, "absent") == timeless(absent), url
    for method in ("actions", "timeline", "series", "advice"):
        theirs = asked(planted, f"/api/v1/incidents/FOREIGN/{method}")
        absent = asked(planted, f"/api/v1/incidents/UNKNOWN/{method}")
        assert theirs.text.replace("FOREIGN", "UNKNOWN") == absent.text


def timeless(response: httpx.Response) -> str:
    """Its text without times: the two questions are asked one after the other."""
    return re.sub(r'"\d{4}-\d\d-\d\dT[\d:.]+Z"|\b\d{10,13}\b', "TIME", response.text)


def test_of_a_shared_incident_a_tenant_sees_the_network_and_what_is_its_own(
    planted: httpx.Client,
) -> None:
    found = asked(planted, "/api/v1/incidents/SHARED").json()["incident"]
    assert found["component"] == "tor:t1"
    assert found["tie_set"] == [
        "tor:t1", "rnic:10.0.0.1", "link:rnic:10.0.0.1|tor:t1", "link:?|tor:t1",
    ]  # fmt: skip
    assert (found["jobs"], found["tenants"]) == (["llm"], ["blue"])
    assert found["evidence"].keys() == {"text", "bad_paths_crossing", "issue_types"}
    assert asked(planted, "/api/v1/incidents/NIC").json()["incident"]["component"] == "rnic:?"
    own = asked(planted, "/api/v1/incidents/OWN").json()["incident"]
    assert "41 of 43 bad paths" in own["evidence"]["text"], "of one that hits no other, all"
    page = asked(planted, "/api/v1/incidents?include_children=true&job=llm").json()
    assert {each["incident_id"] for each in page["items"]} == {"SHARED", "CHILD", "NIC", "OVER"}


def test_notes_of_others_on_a_shared_incident_are_not_seen_nor_replaced(
    planted: httpx.Client,
) -> None:
    url = "/api/v1/incidents/OVER/actions"
    for token, text in (("skh_a", "of the canary"), ("skh_b", "of blue")):
        planted.headers["idempotency-key"] = "the-same"
        note = asked(planted, url, token, {"kind": "note", "text": text})
        del planted.headers["idempotency-key"]
        assert note.status_code == 201
    assert [each["text"] for each in asked(planted, url).json()["items"]] == ["of blue"]
    every = asked(planted, url, "skh_all").json()["items"]
    assert [each["text"] for each in every] == ["of the canary", "of blue"]


@pytest.mark.parametrize("token", ["skh_b", "skh_wrong", None])
def test_metrics_name_no_incident_to_who_does_not_see_all(
    planted: httpx.Client, token: str | None
) -> None:
    response = planted.get("/metrics") if token is None else asked(planted, "/metrics", token)
    assert response.status_code == 200
    assert "skh_api_ready 1.0" in response.text
    assert "skh_incident_active{" not in response.text
    assert CANARY not in response.text


def test_a_body_that_is_refused_is_answered_without_names(planted: httpx.Client) -> None:
    for url, body in (
        ("/api/v1/incidents/FOREIGN/actions", {"kind": "note", "text": "x"}),
        ("/api/v1/incidents/SHARED/actions", {"kind": "wrong"}),
        ("/api/v1/sql", {"query": "SELECT 1"}),
    ):
        response = asked(planted, url, body=body)
        assert response.status_code in (403, 404, 422)
        assert CANARY not in response.text
    assert json.loads(asked(planted, "/api/v1/stream").text)["detail"]
