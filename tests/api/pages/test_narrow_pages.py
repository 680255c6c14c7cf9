"""What a phone and a column need, and the contents of the API's description, in a real browser."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from builders.monitoring.path_windows import window
from builders.monitoring.small_site import beat, put_heartbeats, put_placement

from schemas.documents.topology import Endpoint
from store.client import Store
from testbed.simulator.agents import VERSION

PutWindows = Callable[..., None]
Open = Callable[..., Any]

pytestmark = pytest.mark.browser


@pytest.mark.usefixtures("site")
@pytest.mark.parametrize("path", ["/", "/jobs/llm", "/docs"])
@pytest.mark.parametrize("width", [390, 420])
def test_the_views_are_on_one_line_of_a_phone(opened: Open, path: str, width: int) -> None:
    page = opened(path, width)
    page.locator("#active a, #connection[data-state=live], #operations h2").first.wait_for()
    links = page.get_by_role("navigation", name="Views").get_by_role("link").all()
    assert len({link.bounding_box()["y"] for link in links}) == 1
    left = page.locator("header h1, header .brand").bounding_box()["x"]
    for line in page.locator("#watched").all():
        assert line.bounding_box()["x"] == left


@pytest.mark.usefixtures("site")
def test_cards_have_labels_beside_their_values_also_where_these_are_folded(
    opened: Open, store: Store
) -> None:
    put_placement(store, "c1", "h1", endpoints=[Endpoint(f"172.16.0.{n}", f"10.0.0.{n}")
                                                for n in range(1, 5)])  # fmt: skip
    page = opened("/jobs/llm", 420)
    folded = page.locator("#rows td[data-label=rnics] details").first
    folded.wait_for()
    cell = folded.locator("xpath=..")
    assert folded.bounding_box()["x"] > cell.bounding_box()["x"] + 20
    assert folded.bounding_box()["y"] - cell.bounding_box()["y"] < 8


@pytest.mark.usefixtures("site")
def test_columns_have_one_number_of_decimals(opened: Open, put_windows: PutWindows) -> None:
    now = int(time.time()) // 30 * 30
    put_windows(
        window(
            now - 30,
            3,
            lost=1,
            sent=700,
            rtt_p50_us=15.26,
            src_asw="t2",
            src_node_id="c9",
            dst_node_id="c8",
        )
    )
    page = opened("/matrix")
    page.locator("#worst tbody tr").nth(1).wait_for()
    cells = page.locator("#worst tbody td:nth-child(3), #worst tbody td:nth-child(5)")
    assert cells.all_inner_texts() == ["10.00 %", "10.0 µs", "0.14 %", "15.3 µs"]
    row = opened("/jobs/llm").locator("#rows tr").first
    row.get_by_text("! 10.00 %").wait_for()
    row.get_by_text("10.0 µs", exact=True).wait_for()
    row.get_by_text("1.00 \u00d7").wait_for()


@pytest.mark.parametrize(("version", "said"), [("1.2", 1), (VERSION, 0)])
def test_that_heartbeats_come_late_is_not_said_of_a_simulation(
    opened: Open, store: Store, version: str, said: int
) -> None:
    put_heartbeats(store, beat("h1", time.time() - 30, version=version), behind_ms=28_000)
    page = opened("/fleet")
    page.get_by_text(f"Versions: {version} on 1.").wait_for()
    assert page.get_by_text("Heartbeats arrive 28 s after").count() == said


def test_the_description_of_the_api_begins_with_its_contents_incidents_first(opened: Open) -> None:
    page = opened("/docs")
    contents = page.get_by_role("navigation", name="Contents")
    links = contents.get_by_role("link")
    links.first.wait_for()
    assert links.first.inner_text() == "GET /api/v1/incidents"
    titles = page.locator("#operations > section > h2")
    assert titles.first.inner_text() == "GET /api/v1/incidents"
    assert contents.locator("h2").last.inner_text() == "session"
    for link in links.all():
        target = page.evaluate(
            "(href) => document.getElementById(decodeURIComponent(href.slice(1)))?.tagName",
            link.get_attribute("href"),
        )
        assert target == "SECTION", link.get_attribute("href")
    contents.get_by_role("link", name="GET /api/v1/pipeline").click()
    page.reload()
    title = page.get_by_role("heading", name="GET /api/v1/pipeline")
    title.wait_for()
    page.wait_for_function("scrollY > 1000")
    assert 0 <= title.bounding_box()["y"] < 200
