"""Acting on the page of an incident, in a real browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from builders.api_service import Put, served
from builders.schemas.incidents import INCIDENT

from api.access.callers import Caller
from api.access.tokens import line, parse
from store.client import Store

TOKENS = parse(
    line(Caller("alice", "operator"), "skh_alice") + line(Caller("victor", "viewer"), "skh_victor")
)
HOSTILE = '<img src=x onerror="window.owned=1">'
Visit = Callable[..., Any]

pytestmark = pytest.mark.browser


@pytest.fixture
def visit(browser: Any, put: Put) -> Iterator[Visit]:
    """visit(service) is the page of an incident in a browser of its own, that must not complain."""
    put(INCIDENT)
    complaints: list[str] = []
    contexts = []

    def visited(service: httpx.Client, width: int = 1440) -> Any:
        contexts.append(browser.new_context(viewport={"width": width, "height": 900}))
        page = contexts[-1].new_page()
        page.set_default_timeout(30_000)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(f"{str(service.base_url).rstrip('/')}/incidents/AAAA")
        return page

    yield visited
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.mark.parametrize("width", [390, 768, 1440])
def test_an_engineer_takes_an_incident_and_says_who_was_right(
    visit: Visit, client: httpx.Client, width: int
) -> None:
    page = visit(client, width)
    page.get_by_label("Your name").fill("alice")
    page.get_by_role("button", name="Acknowledge").click()
    page.locator("#handling", has_text="acknowledged by alice").wait_for()
    page.get_by_label("Assign to").fill("bob")
    page.get_by_role("button", name="Assign", exact=True).click()
    page.locator("#handling", has_text="assigned to bob").wait_for()
    page.get_by_label("Note").fill(HOSTILE)
    page.get_by_role("button", name="Add note").click()
    page.locator("#actions li", has_text="onerror").wait_for()
    page.get_by_role("button", name="Wrong component").click()
    page.locator("#handling", has_text="judged: wrong component").wait_for()
    page.get_by_role("button", name="Mark as resolved").click()
    page.locator("#handling", has_text="resolved by alice").wait_for()
    assert page.locator("#actions li").count() == 5
    assert page.evaluate("window.owned") is None
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for button in page.locator("#do button").all():
        assert min(button.bounding_box()[side] for side in ("width", "height")) >= 24
    page.reload()
    assert page.get_by_label("Your name").input_value() == "alice"


def test_a_missing_name_is_asked_for(visit: Visit, client: httpx.Client) -> None:
    page = visit(client)
    page.get_by_role("button", name="Acknowledge").click()
    page.get_by_text("Not stored: enter your name first.").wait_for()
    assert page.evaluate("document.activeElement.id") == "me"


def test_what_is_refused_is_said(visit: Visit, client: httpx.Client) -> None:
    page = visit(client)
    page.get_by_label("Your name").fill("alice")
    page.get_by_label("Note").fill(" ")
    page.get_by_role("button", name="Add note").click()
    page.get_by_text("Not stored: text: String should have at least 1 character").wait_for()


def test_the_list_and_the_headline_say_who_has_it(visit: Visit, client: httpx.Client) -> None:
    page = visit(client)
    page.locator("#tags", has_text="new: not acknowledged yet").wait_for()
    page.get_by_label("Your name").fill("alice")
    page.get_by_role("button", name="Acknowledge").click()
    page.locator("#tags", has_text="acknowledged by alice").wait_for()
    page.get_by_role("link", name="All incidents").click()
    page.locator("#incidents .who", has_text="acknowledged by alice").wait_for()


def test_another_browser_sees_what_was_done(visit: Visit, client: httpx.Client) -> None:
    first, second = visit(client), visit(client)
    second.get_by_label("Note").wait_for()
    first.get_by_label("Your name").fill("alice")
    first.get_by_role("button", name="Acknowledge").click()
    second.locator("#handling", has_text="acknowledged by alice").wait_for()


def test_with_tokens_the_page_asks_for_one_and_returns(visit: Visit, store: Store) -> None:
    with served(store, tokens=lambda: TOKENS) as service:
        page = visit(service)
        page.get_by_label("Token").fill("skh_guess")
        page.get_by_role("button", name="Sign in").click()
        page.get_by_text("Not signed in: this token is not known").wait_for()
        page.get_by_label("Token").fill("skh_alice")
        page.get_by_role("button", name="Sign in").click()
        page.get_by_text("You act as alice.").wait_for()
        page.get_by_role("button", name="Acknowledge").click()
        page.locator("#handling", has_text="acknowledged by alice").wait_for()
        assert page.evaluate("document.cookie") == "", "no script reads the token"


def test_a_viewer_has_no_buttons(visit: Visit, store: Store) -> None:
    with served(store, tokens=lambda: TOKENS) as service:
        page = visit(service)
        page.get_by_label("Token").fill("skh_victor")
        page.get_by_role("button", name="Sign in").click()
        page.locator("#handling", has_text="new").wait_for()
        assert page.locator("#do button").count() == 0
