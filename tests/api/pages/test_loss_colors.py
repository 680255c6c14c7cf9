"""How a loss looks, in all views alike: chance is no color, a gray loss is one."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from builders.monitoring.path_windows import window
from builders.monitoring.small_site import put_placement, put_skeleton, put_topology

from schemas.documents.topology import Endpoint
from store.client import Store

PutWindows = Callable[..., None]
Open = Callable[..., Any]

pytestmark = pytest.mark.browser


@pytest.mark.parametrize(
    ("sent", "lost", "look"),
    [
        (0, 0, "unknown"), (960, 0, "none"), (960, 1, "none"), (100, 2, "none"), (960, 4, "none"),
        (960, 5, "some"), (30_000, 40, "none"), (30_000, 45, "some"), (960, 12, "much"),
        (30, 3, "much"), (30, 30, "all"), (3, 3, "all"), (1, 1, "none"),
    ],
)  # fmt: skip
def test_a_loss_has_the_color_of_its_share_once_chance_does_not_explain_it(
    opened: Open, sent: int, lost: int, look: str
) -> None:
    found = opened("/matrix").evaluate(
        "async ([sent, lost]) => (await import('/page/loss.js')).lookOf(sent, lost)", [sent, lost]
    )
    assert found == look


@pytest.mark.parametrize(("lost", "bound"), [(1, 0.01005), (3, 0.436), (10, 4.13), (100, 78.2)])
def test_the_bound_is_that_of_clopper_and_pearson_for_rare_events(
    opened: Open, lost: int, bound: float
) -> None:
    """Of a Poisson count: half the 1 % quantile of chi-squared with 2 * lost degrees of freedom."""
    found = opened("/matrix").evaluate(
        "async (lost) => (await import('/page/loss.js')).leastLoss(1, lost)", lost
    )
    assert found == pytest.approx(bound, rel=0.07, abs=0.01)


@pytest.mark.parametrize(("lost", "color"), [(1, "--loss-none"), (5, "--loss-some")])
def test_matrix_topology_and_job_agree_on_what_is_well(
    opened: Open, store: Store, put_windows: PutWindows, lost: int, color: str
) -> None:
    now = int(time.time()) // 30 * 30
    put_topology(store)
    put_placement(store, "c1", "h1", endpoints=[Endpoint("172.16.0.1", "10.0.0.1")])
    put_placement(store, "c2", "h2", endpoints=[Endpoint("172.16.0.2", "10.0.1.2")])
    put_skeleton(store)
    put_windows(window(now - 30, 1, sent=960, lost=lost))
    wanted = opened("/matrix")
    wanted.locator("#worst tbody tr").wait_for()
    rgb = wanted.evaluate(
        """(name) => {
          const brush = document.createElement("canvas").getContext("2d");
          brush.fillStyle = getComputedStyle(document.documentElement).getPropertyValue(name);
          brush.fillRect(0, 0, 1, 1);
          return [...brush.getImageData(0, 0, 1, 1).data];
        }""",
        color,
    )
    for path, canvas, ready in (
        ("/matrix", "matrix", "#worst tbody tr"), ("/topology", "drawing", "#out p"),
        ("/jobs/llm", "graph", "#pairs tr"),
    ):  # fmt: skip
        page = opened(path)
        page.locator(ready).first.wait_for(state="attached")
        counts = page.evaluate(COLORED, [canvas, rgb])
        assert counts > 20, (path, "the color is drawn")
    pairs = "1 pair lost 0.1 % or more" if lost > 1 else "No pair lost 0.1 % of its probes or more"
    page.locator("#skeleton-bad", has_text=pairs).wait_for()


#: Pixels of a canvas that have a color.
COLORED = """([id, [r, g, b]]) => {
  const canvas = document.getElementById(id);
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  let count = 0;
  for (let at = 0; at < data.length; at += 4) {
    count += data[at] === r && data[at + 1] === g && data[at + 2] === b && data[at + 3] === 255;
  }
  return count;
}"""
