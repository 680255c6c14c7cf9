"""Views in a real browser, which must not complain."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

Open = Callable[..., Any]


@pytest.fixture
def opened(browser: Any, client: httpx.Client) -> Iterator[Open]:
    """opened(path, width=..., scheme=...) is a page that must not complain."""
    complaints: list[str] = []
    contexts = []

    def visit(path: str, width: int = 1440, scheme: str = "light") -> Any:
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, bypass_csp=False
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(30_000)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "console",
            lambda said: complaints.append(said.text) if said.type == "error" else None,
        )
        page.goto(str(client.base_url).rstrip("/") + path)
        return page

    yield visit
    for context in contexts:
        context.close()
    assert complaints == []
