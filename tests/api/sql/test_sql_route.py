"""/api/v1/sql: curl and a client of ClickHouse read through it, and can do nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import clickhouse_connect
import httpx
import pytest
from builders.api_service import Hanging, Put, many, served
from builders.schemas.incidents import INCIDENT

from api.access.callers import Caller
from api.access.tokens import line, parse
from store.client import Store, open_store
from store.read_only import ReadLimits, ReadOnlySql

LIMITS = ReadLimits(seconds=60)


@pytest.fixture(scope="module")
def asked(engine: Store) -> Iterator[httpx.Client]:
    """The service with SQL switched on."""
    with (
        closing(open_store(engine.name)) as own,
        served(engine, people_sql=ReadOnlySql(own, LIMITS)) as client,
    ):
        yield client


def test_sql_is_off_by_default(client: httpx.Client) -> None:
    answer = client.post("/api/v1/sql", content="SELECT 1")
    assert answer.status_code == 403
    assert "SKH_API_SQL=true" in answer.json()["detail"]


def test_a_select_is_answered_in_the_format_asked_for(asked: httpx.Client, put: Put) -> None:
    put(INCIDENT)
    query = "SELECT component FROM incidents_latest WHERE incident_id = {id:String}"
    parameters = {"param_id": INCIDENT.incident_id, "default_format": "TabSeparated"}
    posted = asked.post("/api/v1/sql", content=query, params=parameters)
    assert (posted.status_code, posted.text) == (200, f"{INCIDENT.component}\n")
    assert posted.headers["content-type"].startswith("text/tab-separated-values")
    got = asked.get("/api/v1/sql", params={"query": query, **parameters})
    assert got.text == posted.text


@pytest.mark.parametrize(
    ("statement", "complaint"),
    [
        ("DROP TABLE incidents", "only SELECT"),
        ("SELECT * FROM file('/etc/passwd')", "function file may not be used here"),
        ("SELECT nothing", "Unknown expression identifier `nothing`"),
        ("SELECT number FROM numbers(1000000)", "Limit for result exceeded"),
    ],
)
def test_a_statement_that_is_refused_says_why(
    asked: httpx.Client, statement: str, complaint: str
) -> None:
    answer = asked.post("/api/v1/sql", content=statement)
    assert answer.status_code == 400
    assert complaint in answer.json()["detail"]
    assert "chdb:" not in answer.text, "no path of the store"


def test_a_body_over_the_limit_is_refused_before_it_is_read(asked: httpx.Client) -> None:
    answer = asked.post("/api/v1/sql", content="SELECT 1" + " " * 10**6)
    assert answer.status_code == 413


def test_web_pages_of_others_get_no_answer(asked: httpx.Client) -> None:
    answer = asked.get(
        "/api/v1/sql", params={"query": "SELECT 1"}, headers={"sec-fetch-site": "cross-site"}
    )
    assert answer.status_code == 403


def test_a_client_of_clickhouse_reads_frames_and_cannot_write(
    asked: httpx.Client, put: Put
) -> None:
    put(INCIDENT)
    client = clickhouse_connect.get_client(
        host="127.0.0.1", port=asked.base_url.port, proxy_path="/api/v1/sql", username="any",
        autogenerate_session_id=False,
    )  # fmt: skip
    with closing(client):
        frame = client.query_df(
            "SELECT component, opened_at FROM incidents_latest WHERE incident_id = {id:String}",
            parameters={"id": INCIDENT.incident_id},
        )
        assert frame["component"].tolist() == [INCIDENT.component]
        assert frame["opened_at"].dt.year.tolist() == [2026]
        with pytest.raises(clickhouse_connect.driver.exceptions.DatabaseError):
            client.command("DROP TABLE incidents")


def test_pages_do_not_wait_for_a_long_statement(engine: Store, hanging: Hanging) -> None:
    """A store that hangs stands for one: SQL has a thread of its own."""
    with served(engine, people_sql=ReadOnlySql(hanging)) as client:  # type: ignore[arg-type]  # a fake
        with many(client) as other, pytest.raises(httpx.TimeoutException):
            other.post("/api/v1/sql", content="SELECT 1", timeout=0.5)
        assert hanging.asked.is_set()
        assert client.get("/readyz").status_code == 200
        assert client.get("/api/v1/incidents").status_code == 200
        hanging.go_on.set()


def test_a_token_that_reads_may_ask_and_one_of_some_tenants_may_not(engine: Store) -> None:
    tokens = parse(
        line(Caller("all", "viewer"), "skh_all") + line(Caller("red", "admin", ("red",)), "skh_red")
    )
    with (
        closing(open_store(engine.name)) as own,
        served(engine, people_sql=ReadOnlySql(own, LIMITS), tokens=lambda: tokens) as client,
    ):
        status = {
            name: client.post(
                "/api/v1/sql", content="SELECT 1", headers={"authorization": f"Bearer skh_{name}"}
            ).status_code
            for name in ("all", "red", "unknown")
        }
    assert status == {"all": 200, "red": 403, "unknown": 401}
