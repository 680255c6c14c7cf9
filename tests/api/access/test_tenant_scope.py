"""A token of some tenants sees their rows, whatever is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import httpx
import pytest
from builders.api_service import Put, served
from builders.monitoring.path_windows import window
from builders.schemas.incidents import INCIDENT, NIC
from builders.streams.sink_messages import COVERAGE

from api.access.callers import Caller
from api.access.tokens import line, parse
from schemas.documents.coverage import encode
from schemas.documents.times import seconds_of
from store.client import Store
from streams.sink import rows as sink_rows

NOON = int(seconds_of(INCIDENT.opened_at))
HOSTILE = "red'])||1||hasAny(tenants,['x"


@pytest.fixture
def scoped(
    store: Store, put: Put, put_windows: Callable[..., None]
) -> Iterator[Callable[[str], httpx.Client]]:
    """scoped(tenant) asks with a token of that tenant: red is hit by BBBB, blue by AAAA."""
    put(INCIDENT, NIC)
    ends = (("red", "red"), ("blue", "blue"), ("red", "blue"), ("blue", "red"), ("red", ""))
    put_windows(
        *(window(NOON, number, src_tenant_id=src, dst_tenant_id=dst)
          for number, (src, dst) in enumerate(ends))
    )  # fmt: skip
    store.insert("coverage", sink_rows.coverage(encode(COVERAGE)))
    names = ("red", "blue", HOSTILE)
    tokens = parse("".join(line(Caller(n, "operator", (n,)), f"skh_{n}") for n in names))
    with served(store, tokens=lambda: tokens) as client:

        def of(tenant: str) -> httpx.Client:
            client.headers["authorization"] = f"Bearer skh_{tenant}"
            return client

        yield of


def test_lists_counts_and_details_are_of_the_tenant(
    scoped: Callable[[str], httpx.Client],
) -> None:
    page = scoped("red").get("/api/v1/incidents").json()
    assert [each["incident_id"] for each in page["items"]] == ["BBBB"]
    assert (page["total"], page["counts"]) == (1, {"open": {"P0": 1}})
    assert scoped("red").get("/api/v1/incidents/AAAA").status_code == 404
    assert scoped("red").get("/api/v1/incidents/AAAA/series").status_code == 404
    assert scoped("red").get("/api/v1/summary").json()["active"] == {"P0": 1}
    assert scoped("blue").get("/api/v1/summary").json()["active"] == {"P1": 1}


def test_windows_are_of_the_tenant_at_both_ends(scoped: Callable[[str], httpx.Client]) -> None:
    query = "/api/v1/matrix?until=2026-01-31T12:01:00Z"
    (cell,) = scoped("red").get(query).json()["cells"]
    assert cell[2] == 30, "of 150 probes"


def test_a_table_that_is_of_no_tenant_is_closed(scoped: Callable[[str], httpx.Client]) -> None:
    assert scoped("red").get("/api/v1/coverage").json() == {"items": []}


def test_actions_of_others_are_neither_made_nor_seen(
    scoped: Callable[[str], httpx.Client],
) -> None:
    judged = {"kind": "feedback", "verdict": "right"}
    assert scoped("red").post("/api/v1/incidents/AAAA/actions", json=judged).status_code == 404
    assert scoped("red").post("/api/v1/incidents/BBBB/actions", json=judged).status_code == 201
    assert scoped("red").get("/api/v1/feedback").json()["total"]["right"] == 1
    assert scoped("blue").get("/api/v1/feedback").json()["total"]["right"] == 0


def test_the_stream_of_all_is_refused(scoped: Callable[[str], httpx.Client]) -> None:
    assert scoped("red").get("/api/v1/stream").status_code == 403


def test_a_tenants_name_is_no_sql(scoped: Callable[[str], httpx.Client]) -> None:
    assert scoped(HOSTILE).get("/api/v1/incidents").json()["total"] == 0
