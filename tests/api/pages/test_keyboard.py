"""Keyboard, fingers and screen readers: views that are drawn again stay where a reader is."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import msgspec
import pytest
from builders.api_service import Put
from builders.monitoring.path_windows import window
from builders.monitoring.small_site import beat, put_heartbeats
from builders.schemas.incidents import INCIDENT

from schemas.documents.times import seconds_of
from store.client import Store

NOON = int(seconds_of(INCIDENT.opened_at))
FOCUSED = "document.activeElement.textContent"
TOR = msgspec.structs.replace(INCIDENT, component="tor:t1", tie_set=["tor:t1"], jobs=["llm"])
PutWindows = Callable[..., None]
Open = Callable[..., Any]

pytestmark = pytest.mark.browser


def test_the_focus_stays_on_a_host_while_agents_are_asked_for_again(
    opened: Open, store: Store
) -> None:
    put_heartbeats(store, beat("h2", time.time()))
    page = opened("/fleet")
    page.get_by_role("link", name="h2").focus()
    put_heartbeats(store, beat("h1", time.time()), beat("h2", time.time()))
    page.locator("#count", has_text="2 agents").wait_for()
    assert page.locator("#rows tr").first.text_content().startswith("h1")
    assert page.evaluate(FOCUSED) == "h2"


def test_the_focus_stays_on_a_tile_whose_figures_change(opened: Open, store: Store) -> None:
    put_heartbeats(store, beat("h1", time.time()))
    page = opened("/")
    page.locator("#strip a", has_text="1 agent active").focus()
    put_heartbeats(store, beat("h2", time.time()))
    page.locator("#strip a", has_text="2 agents active").wait_for()
    assert "2 agents active" in page.evaluate(FOCUSED)


def test_what_was_unfolded_stays_open_in_a_new_version(
    opened: Open, put: Put, put_windows: PutWindows
) -> None:
    put(TOR)
    put_windows(*(window(NOON, n, src_node_sn=f"h{n}") for n in range(6)))
    page = opened("/incidents/AAAA")
    page.locator("#where details summary").first.click()
    put(msgspec.structs.replace(TOR, version=2, jobs=["llm", "moe"]))
    page.locator("#where dd", has_text="moe").wait_for()
    assert page.locator("#where details[open]").count() == 1


@pytest.mark.parametrize(
    ("path", "target"), [("/", "list"), ("/fleet", "main"), ("/incidents/AAAA", "incident")]
)
def test_the_first_tab_skips_the_links_to_other_views(
    opened: Open, put: Put, path: str, target: str
) -> None:
    put(TOR)
    page = opened(path)
    page.get_by_text("tor:t1").or_(page.get_by_text("No heartbeat")).first.wait_for()
    page.keyboard.press("Tab")
    assert page.evaluate(FOCUSED).startswith("Skip to")
    assert page.locator(".skip").bounding_box()["y"] >= 0, "it is seen"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == target
    if path == "/":
        page.keyboard.press("Tab")
        assert page.evaluate(FOCUSED) == "tor:t1"


# --- the matrix --------------------------------------------------------------------------------


def test_the_slider_stands_where_the_address_says(opened: Open, put_windows: PutWindows) -> None:
    now = int(time.time()) // 60 * 60
    put_windows(*(window(now - ago, 1) for ago in range(0, 600, 30)))
    page = opened("/matrix")
    page.locator("#when", has_text="Now: ").wait_for()
    slider = page.locator("#ago")
    slider.focus()
    for _ in range(4):
        page.keyboard.press("ArrowLeft")
    page.locator("#when", has_text="Earlier: ").wait_for()
    page.reload()
    page.locator("#when", has_text="Earlier: ").wait_for()
    assert -5 <= int(slider.input_value()) <= -3
    assert slider.get_attribute("aria-valuetext") == page.locator("#when").text_content()
    slider.focus()
    page.keyboard.press("End")
    page.locator("#when", has_text="Now: ").wait_for()


def test_an_earlier_day_is_named(opened: Open, put_windows: PutWindows) -> None:
    put_windows(window(NOON, 1))
    page = opened("/matrix?until=2026-01-31T12:01:00Z")
    page.get_by_text("Earlier: 2026-01-31 12:00:00 to 2026-01-31 12:01:00 UTC").wait_for()


@pytest.fixture
def phone(browser: Any, put_windows: PutWindows) -> Iterator[Any]:
    """An empty page of a narrow touch screen; windows of 2026-01-31 at noon are stored."""
    put_windows(window(NOON, 1, lost=15))
    context = browser.new_context(viewport={"width": 390, "height": 900}, has_touch=True)
    yield context.new_page()
    context.close()


@pytest.fixture
def matrix_at_noon(client: httpx.Client) -> str:
    return f"{str(client.base_url).rstrip('/')}/matrix?until=2026-01-31T12:01:00Z"


def test_arrow_keys_and_fingers_read_a_cell(phone: Any, matrix_at_noon: str) -> None:
    page = phone
    page.goto(matrix_at_noon)
    page.locator("#matrix[aria-label^='2 by 2 cells']").wait_for()
    canvas = page.locator("#matrix")
    size = canvas.bounding_box()["width"]
    canvas.tap(position={"x": size - 14, "y": size - 42})
    page.get_by_text("t1 to t2: 15 of 30 probes lost (50 %)").wait_for()
    canvas.focus()
    page.keyboard.press("ArrowLeft")
    page.get_by_text("t1 to t1: no probes").wait_for()
    page.keyboard.press("ArrowUp")  # there is no row above
    page.keyboard.press("ArrowRight")
    page.get_by_text("t1 to t2: 15 of 30 probes lost (50 %)").wait_for()


def test_nothing_moves_under_a_finger_when_the_count_of_incidents_comes(
    phone: Any, matrix_at_noon: str
) -> None:
    page = phone
    summaries: list[Any] = []
    # Answered when the matrix is drawn.
    page.route("**/api/v1/summary", lambda route: summaries.append(route))
    page.goto(matrix_at_noon)
    page.locator("#matrix[aria-label^='2 by 2 cells']").wait_for()
    page.wait_for_function("document.fonts.status === 'loaded'")
    before = page.locator("#matrix").bounding_box()
    assert not page.locator("#active").text_content()
    summaries[0].continue_()
    page.locator("#active", has_text="no active incident").wait_for()
    assert page.locator("#matrix").bounding_box()["y"] == before["y"]
