"""Views over measurements that have stopped, never began, or are of what does not exist."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from builders.monitoring.path_windows import window

VIEWS = ("/topology", "/matrix", "/jobs", "/fleet", "/pipeline")
PutWindows = Callable[..., None]
Open = Callable[..., Any]

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("path", VIEWS)
def test_a_view_says_that_measurements_have_stopped(
    opened: Open, put_windows: PutWindows, path: str
) -> None:
    stored = datetime.now(UTC) - timedelta(minutes=10)
    put_windows(window(int(time.time()) - 600, 1, ingested_at=stored))
    page = opened(path)
    page.locator("#warning", has_text="No new measurements for 10 min.").wait_for()
    assert page.locator("#active").text_content() == "no new data"


@pytest.mark.parametrize("path", VIEWS)
@pytest.mark.usefixtures("store")
def test_without_measurements_no_view_says_that_no_incident_is_active(
    opened: Open, path: str
) -> None:
    page = opened(path)
    page.locator("#active a[data-state=stale]", has_text="nothing measured yet").wait_for()


@pytest.mark.parametrize("path", ["/incidents/none", "/jobs/none"])
def test_what_does_not_exist_has_no_empty_sections(
    browser: Any, client: httpx.Client, path: str
) -> None:
    page = browser.new_page()
    page.goto(str(client.base_url).rstrip("/") + path)
    page.locator("#warning", has_text="'none'.").wait_for()
    assert "Trying again" not in page.locator("#warning").text_content()
    assert page.locator("main section:visible").count() == 0
    page.locator("#active a").wait_for()
    page.close()
