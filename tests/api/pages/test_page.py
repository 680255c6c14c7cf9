"""The page in a real browser: live, and deaf to what an incident's text wants it to do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import httpx
import msgspec
import pytest
from builders.api_service import Put
from builders.schemas.incidents import CHILD, INCIDENT, NIC, PIPELINE, RESOLVED
from builders.streams.sink_messages import COVERAGE

from schemas.documents.coverage import encode as encode_coverage
from schemas.documents.incident import Incident
from store.client import Store
from streams.sink import rows as sink_rows

HOSTILE = 'tor:<img src=x onerror="window.owned=1"><script>window.owned=1</script>"\'&'


@pytest.fixture
def page(browser: Any, client: httpx.Client) -> Iterator[Any]:
    """The list, freshly opened; fails when its script complains."""
    opened = browser.new_page()
    opened.set_default_timeout(30_000)
    complaints: list[str] = []
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.goto(str(client.base_url))
    yield opened
    opened.close()
    assert complaints == []


def test_what_no_probe_crosses_is_said_and_named(
    browser: Any, client: httpx.Client, store: Store
) -> None:
    hostile = msgspec.structs.replace(COVERAGE, uncovered_names=[HOSTILE, "spine:dsw-1"])
    store.insert("coverage", sink_rows.coverage(encode_coverage(hostile)))
    page = browser.new_page()
    page.goto(str(client.base_url))
    summary = page.locator("#coverage summary")
    summary.wait_for()
    assert summary.inner_text() == (
        "Coverage: 2 of 640 components are crossed by no probe; "
        "1 link between switches is crossed by none whose route is known."
    )
    summary.click()
    assert "spine:dsw-1" in page.locator("#coverage").inner_text()
    assert page.evaluate("window.owned") is None
    page.close()


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/docs",
        "/matrix",
        "/incidents/AAAA",
        "/page/page.js",
        "/page/charts.js",
        "/page/page.css",
    ],
)
def test_pages_load_nothing_from_elsewhere(client: httpx.Client, path: str) -> None:
    response = client.get(path)
    assert response.status_code == (404 if path == "/incidents/AAAA" else 200)  # none is stored
    assert "default-src 'none'" in response.headers["content-security-policy"]
    assert "https://" not in response.text
    assert "innerHTML" not in response.text


@pytest.mark.browser
def test_an_incident_appears_resolves_and_is_announced_without_a_reload(
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
def test_before_the_first_answer_nothing_is_counted(browser: Any, client: httpx.Client) -> None:
    page = browser.new_page()
    held: list[Any] = []
    page.route("**/api/v1/**", lambda route: held.append(route))
    page.goto(str(client.base_url))
    page.wait_for_function("document.getElementById('state').value === ''")
    assert page.locator("#connection").inner_text() == "connecting"
    assert "0" not in page.locator("#controls").inner_text().replace("P0", "")
    page.route("**/api/v1/**", lambda route: route.continue_())
    for route in held:
        route.continue_()
    page.locator("#count", has_text="incident").wait_for()
    page.close()


def test_the_list_listens_to_the_server(browser: Any, client: httpx.Client, put: Put) -> None:
    page = browser.new_page()
    page.set_default_timeout(30_000)
    with page.expect_response("**/api/v1/stream") as listening:
        page.goto(str(client.base_url))
    assert listening.value.status == 200
    page.locator("#connection", has_text="live").wait_for()
    put(INCIDENT)
    page.locator("tr.incident").wait_for()
    page.close()


@pytest.mark.browser
def test_the_keyboard_opens_evidence_and_history_and_keeps_the_focus(page: Any, put: Put) -> None:
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
def test_the_filter_selects_rows_and_reports_an_empty_result(page: Any, put: Put) -> None:
    put(INCIDENT, NIC)
    page.get_by_text("2 incidents", exact=True).wait_for()
    page.get_by_role("searchbox", name="Filter").fill("rnic:10.0.0.1 bert")
    page.get_by_text("1 incident", exact=True).wait_for()
    page.get_by_role("searchbox", name="Filter").fill("nothing like it")
    page.get_by_text("No incident matches").wait_for()


def old_p0_under_newer_ones() -> list[Incident]:
    """An active P0, and 205 resolved incidents that opened after it."""
    return [NIC] + [
        msgspec.structs.replace(
            RESOLVED, incident_id=f"R{number:03d}", component=f"tor:asw-{number}",
            opened_at=f"2026-02-01T{number // 60:02d}:{number % 60:02d}:00Z",
        )
        for number in range(205)
    ]  # fmt: skip


@pytest.mark.browser
def test_an_old_active_p0_is_the_first_row_and_found_by_its_filter(page: Any, put: Put) -> None:
    put(*old_p0_under_newer_ones())
    page.get_by_text("1 to 50 of 206 incidents").wait_for()
    first = page.locator("tr.incident").first
    first.get_by_role("button", name="rnic:10.0.0.1").wait_for()
    page.get_by_role("link", name="1 active P0").wait_for()
    page.get_by_role("button", name="P0 (1)").click()
    page.get_by_text("1 incident", exact=True).wait_for()
    assert page.locator("tr.incident").count() == 1
    page.get_by_role("button", name="rnic:10.0.0.1").wait_for()


@pytest.mark.browser
def test_the_page_shows_the_servers_counts_by_state_and_severity(page: Any, put: Put) -> None:
    put(*old_p0_under_newer_ones(), INCIDENT)
    page.get_by_text("1 to 50 of 207 incidents").wait_for()
    state = page.get_by_label("Show")
    assert state.locator("option").all_text_contents() == [
        "all (207)", "active (2)", "resolved (205)",
    ]  # fmt: skip
    state.select_option("active")
    page.get_by_text("2 incidents", exact=True).wait_for()
    severities = page.get_by_role("group", name="Severity").get_by_role("button")
    assert severities.all_text_contents() == ["P0 (1)", "P1 (1)", "P2 (0)"]


@pytest.mark.browser
def test_the_view_is_in_the_url_and_the_back_button_restores_it(
    page: Any, put: Put, client: httpx.Client
) -> None:
    put(*old_p0_under_newer_ones())
    page.goto(f"{client.base_url}/?state=resolved&severity=P1&text=LOSS+tor:asw&page=2")
    page.get_by_text("51 to 100 of 205 incidents").wait_for()
    assert page.get_by_role("searchbox", name="Filter").input_value() == "LOSS tor:asw"
    assert page.get_by_label("Show").input_value() == "resolved"
    pressed = page.get_by_role("button", name="P1 (205)", pressed=True)
    pressed.wait_for()
    page.get_by_role("button", name="Next").click()
    page.get_by_text("101 to 150 of 205 incidents").wait_for()
    assert page.url.endswith("?text=LOSS+tor%3Aasw&state=resolved&severity=P1&page=3")
    page.get_by_label("Show").select_option("active")
    page.get_by_text("No incident matches").wait_for()
    assert page.url.endswith("?text=LOSS+tor%3Aasw&state=active&severity=P1")
    page.go_back()
    page.get_by_text("101 to 150 of 205 incidents").wait_for()
    page.goto(f"{client.base_url}/?page=99")
    page.get_by_text("201 to 206 of 206 incidents").wait_for()
    page.goto(f"{client.base_url}/?page=x&state=nonsense&severity=P9&text=%00")
    page.get_by_text("1 to 50 of 206 incidents").wait_for()


@pytest.mark.browser
def test_an_incident_that_only_moves_up_is_not_announced(page: Any, put: Put) -> None:
    others = old_p0_under_newer_ones()
    put(*others[1:])
    page.get_by_text("1 to 50 of 205 incidents").wait_for()
    # The row that opened last gets an older opening: what was on page 2 moves up.
    put(msgspec.structs.replace(others[-1], version=3, opened_at="2026-01-01T00:00:00Z"))
    page.get_by_role("button", name="tor:asw-154").wait_for()
    assert page.locator("#news").text_content() == ""


@pytest.mark.browser
def test_a_child_that_outlives_its_cause_or_is_more_severe_has_a_row(page: Any, put: Put) -> None:
    put(INCIDENT, CHILD)
    page.get_by_text("explains 1 other").wait_for()
    assert page.locator("tr.incident").count() == 1
    put(msgspec.structs.replace(CHILD, version=2, severity="P0"))
    page.locator("tr.incident").first.get_by_text("explained by incident AAAA").wait_for()
    page.get_by_role("link", name="1 active P0").wait_for()


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 768, 1440])
def test_the_page_is_not_cut_off_at_any_width(page: Any, put: Put, width: int) -> None:
    long = "link:agg:psw-01-with-a-long-name|tor:asw-13-in-pod-7"
    put(*old_p0_under_newer_ones(), msgspec.structs.replace(INCIDENT, component=long))
    page.set_viewport_size({"width": width, "height": 900})
    page.get_by_role("button", name=long).click()
    page.locator("tr.detail dl").first.wait_for()
    inside = "node => node.scrollWidth <= node.clientWidth"
    assert page.locator("html").evaluate(inside), "the page does not scroll sideways"
    assert page.locator(".frame").evaluate(inside), "nor does the list"
    assert page.locator("#connection").is_visible()


@pytest.mark.browser
def test_a_pipeline_incident_is_shown_as_an_internal_error(page: Any, put: Put) -> None:
    put(PIPELINE)
    page.get_by_role("button", name="pipeline:f1").click()
    page.get_by_text("judging failed").first.wait_for()
    page.get_by_text("none: it is about no path").wait_for()
    page.get_by_text("judging a pane message failed").first.wait_for()


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
def test_a_lost_connection_is_shown_until_it_is_back(page: Any, put: Put) -> None:
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
    page.get_by_role("heading", name="GET /api/v1/incidents/{incident_id}", exact=True).wait_for()
    page.get_by_text("the culprit, or in its tie set").first.wait_for()


@pytest.mark.browser
def test_no_probability_is_shown_as_100_percent(page: Any, put: Put) -> None:
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
