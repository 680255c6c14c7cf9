"""The page in a real browser: live, and deaf to what an incident's text wants it to do."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import msgspec
import pytest
from incident_samples import CHILD, INCIDENT, NIC, RESOLVED, Put

CHROMIUM = shutil.which("chromium") or "/usr/bin/chromium"
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
HOSTILE = 'tor:<img src=x onerror="window.owned=1"><script>window.owned=1</script>"\'&'


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if shutil.which(CHROMIUM) is None:
        pytest.skip("Chromium is not installed (apt-get install chromium)")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture
def page(browser: Any, client: httpx.Client) -> Iterator[Any]:
    """The list, freshly opened; fails when its script complains."""
    opened = browser.new_page()
    opened.set_default_timeout(8000)
    complaints: list[str] = []
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.goto(str(client.base_url))
    yield opened
    opened.close()
    assert complaints == []


@pytest.mark.parametrize("path", ["/", "/docs", "/page/page.js", "/page/page.css"])
def test_pages_load_nothing_from_elsewhere(client: httpx.Client, path: str) -> None:
    response = client.get(path)
    assert response.status_code == 200
    assert "default-src 'none'" in response.headers["content-security-policy"]
    assert "https://" not in response.text
    assert "innerHTML" not in response.text


@pytest.mark.browser
def test_an_incident_appears_resolves_and_is_told_without_a_reload(
    page: Any, put: Put, watch: Callable[[int], None]
) -> None:
    watch(1024)
    page.get_by_text("1,024 paths watched, none of them to complain about.").wait_for()
    put(INCIDENT, CHILD)
    row = page.locator("tr.incident")
    row.get_by_text("41 of 43 bad paths cross tor:asw-3-1").wait_for()
    assert row.count() == 1, "the child is folded into its cause"
    row.get_by_text("explains 1 other").wait_for()
    row.get_by_text("4.5 s").wait_for()
    page.locator("#news", has_text="New incident P1: tor:asw-3-1, loss.").wait_for()
    put(RESOLVED)
    row.get_by_text("resolved").wait_for()


@pytest.mark.browser
def test_the_keyboard_opens_evidence_and_history_and_keeps_its_place(page: Any, put: Put) -> None:
    put(INCIDENT)
    button = page.get_by_role("button", name="tor:asw-3-1")
    button.focus()
    page.keyboard.press("Enter")
    page.get_by_text("bad paths crossing", exact=True).wait_for()
    put(RESOLVED)  # the table is drawn again
    page.locator(".history li", has_text="resolved").wait_for()
    assert button.get_attribute("aria-expanded") == "true"
    assert button.evaluate("node => node === document.activeElement")


@pytest.mark.browser
def test_the_filter_narrows_and_says_when_nothing_is_left(page: Any, put: Put) -> None:
    put(INCIDENT, NIC)
    page.get_by_text("2 of 2 incidents").wait_for()
    page.get_by_role("searchbox", name="Filter").fill("rnic:10.0.0.1 bert")
    page.get_by_text("1 of 2 incidents").wait_for()
    page.get_by_role("searchbox", name="Filter").fill("nothing like it")
    page.get_by_text("No incident matches").wait_for()


@pytest.mark.browser
def test_hostile_text_is_shown_and_not_executed(page: Any, put: Put) -> None:
    put(
        msgspec.structs.replace(
            INCIDENT, component=HOSTILE, tie_set=[HOSTILE, "b"], jobs=[HOSTILE],
            evidence={"text": HOSTILE, HOSTILE: [HOSTILE], "nested": {HOSTILE: HOSTILE}},
        )
    )  # fmt: skip
    page.get_by_role("button", name=HOSTILE).click()
    page.locator("tr.detail dl").first.wait_for()
    assert page.evaluate("window.owned") is None
    assert page.locator("main img, main script").count() == 0


@pytest.mark.browser
def test_a_lost_connection_is_shown_and_heals(page: Any, put: Put) -> None:
    put(INCIDENT)
    page.locator("tr.incident").wait_for()
    page.route("**/api/**", lambda route: route.abort())
    page.get_by_role("alert").get_by_text("Connection lost since").wait_for()
    assert page.locator("tr.incident").count() == 1, "the last state stays visible"
    page.unroute("**/api/**")
    page.locator("#connection", has_text="live").wait_for()


@pytest.mark.browser
def test_the_api_description_needs_no_internet(page: Any, client: httpx.Client) -> None:
    page.goto(f"{client.base_url}/docs")
    page.get_by_role("heading", name="GET /api/v1/incidents/{incident_id}").wait_for()
    page.get_by_text("the culprit, or in its tie set").first.wait_for()


@pytest.mark.browser
def test_nothing_is_shown_as_certain(page: Any, put: Put) -> None:
    types = {"issue_types": {"crc_error": 0.391, "switch_port_down": 0.3905}}
    put(
        msgspec.structs.replace(
            INCIDENT, p_value=1e-300, confidence=0.9996, issue_type=None,
            evidence={**INCIDENT.evidence, **types},
        )
    )  # fmt: skip
    page.get_by_role("button", name="tor:asw-3-1").press("Enter")
    page.get_by_text("< 1e-300", exact=True).wait_for()
    page.get_by_text("99.9 %", exact=True).wait_for()
    page.get_by_text("issue type, undecided", exact=True).wait_for()
    page.get_by_text("crc_error 39.1 %, switch_port_down 39 %", exact=True).wait_for()
