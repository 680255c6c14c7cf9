"""Addresses without a page: people get one with a way on, programs a document."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from builders.api_service import Put, Unavailable, served
from builders.schemas.incidents import INCIDENT

from api.access.tokens import Tokens
from api.queries.database import Database
from store.client import Store

BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


def test_an_unknown_address_is_a_page_for_browsers_and_a_document_for_programs(
    client: httpx.Client,
) -> None:
    shown = client.get("/nosuch", headers=BROWSER)
    assert (shown.status_code, shown.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert "There is no page at this address" in shown.text
    assert 'href="/topology"' in shown.text
    assert "default-src 'none'" in shown.headers["content-security-policy"]
    for path, headers in (("/nosuch", {}), ("/api/nosuch", BROWSER), ("/page/no.js", BROWSER)):
        found = client.get(path, headers=headers)
        assert found.status_code == 404
        assert found.headers["content-type"] == "application/problem+json"


def test_the_page_of_an_unknown_incident_is_a_404(client: httpx.Client, put: Put) -> None:
    put(INCIDENT)
    assert client.get("/incidents/AAAA").status_code == 200
    missing = client.get("/incidents/nosuch")
    assert missing.status_code == 404
    assert missing.headers["content-type"] == "text/html; charset=utf-8"


def test_the_page_of_an_unknown_job_is_a_404(client: httpx.Client, put: Put) -> None:
    put(INCIDENT)
    (job, *_) = INCIDENT.jobs
    assert client.get(f"/jobs/{job}").status_code == 200
    assert client.get("/jobs/nosuch").status_code == 404
    assert client.get("/jobs/team/nosuch").status_code == 404
    assert client.get("/jobs").status_code == 200


def test_a_page_comes_where_the_database_does_not_answer() -> None:
    with served(Database(Unavailable())) as client:
        assert client.get("/incidents/AAAA").status_code == 200


def test_who_has_no_token_does_not_learn_which_incidents_there_are(
    client: httpx.Client, store: Store
) -> None:
    with served(store, tokens=lambda: Tokens({})) as guarded:
        assert guarded.get("/incidents/nosuch").status_code == 200
        assert guarded.get("/jobs/nosuch").status_code == 200


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 1440])
def test_the_page_of_an_unknown_incident_says_so_and_has_no_dead_links(
    browser: Any, client: httpx.Client, width: int
) -> None:
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.goto(str(client.base_url).rstrip("/") + "/incidents/nosuch")
    page.get_by_role("alert").get_by_text("There is no incident 'nosuch'.", exact=True).wait_for()
    links = page.get_by_role("link").all_inner_texts()
    assert links[-1] == "All incidents"
    assert not {"JSON", "Why", "What next", "Its bad and good paths in the topology"} & {*links}
    page.close()
