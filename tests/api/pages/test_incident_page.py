"""The page of one incident, in a real browser: where, why, what next."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import httpx
import msgspec
import pyarrow as pa
import pytest
from builders.api_service import Put
from builders.monitoring.path_windows import window
from builders.schemas.incidents import INCIDENT, NIC, RESOLVED

from schemas.documents.times import seconds_of
from store.client import Store

NOON = int(seconds_of(INCIDENT.opened_at))
TYPED = msgspec.structs.replace(
    NIC, incident_id="AAAA", fabric="f1", issue_type="rnic_port_down", state="resolved",
    opened_at=INCIDENT.opened_at, closed_at="2026-01-31T12:02:00Z",
)  # fmt: skip
HOSTILE = '<img src=x onerror="window.owned=1">'
PutWindows = Callable[..., None]
Open = Callable[..., Any]
#: Whether anything is drawn in a part of a canvas, from left and top to right and bottom [pixels].
INKED = """(canvas, [left, top, right, bottom]) => {
  const ratio = devicePixelRatio || 1;
  const data = canvas.getContext("2d").getImageData(
    left * ratio, top * ratio, (right - left) * ratio, (bottom - top) * ratio).data;
  return data.some((value) => value);
}"""

pytestmark = pytest.mark.browser


@pytest.fixture
def opened(browser: Any, client: httpx.Client) -> Iterator[Open]:
    """opened(path, width=...) is a page that must not complain."""
    complaints: list[str] = []
    pages = []

    def visit(path: str, width: int = 1440) -> Any:
        page = browser.new_page(viewport={"width": width, "height": 900})
        page.set_default_timeout(30_000)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "console",
            lambda said: complaints.append(said.text) if said.type == "error" else None,
        )
        page.goto(f"{client.base_url}{path}".replace("//inc", "/inc").replace("//mat", "/mat"))
        pages.append(page)
        return page

    yield visit
    for page in pages:
        page.close()
    assert complaints == []


@pytest.fixture
def shown(store: Store, put: Put, put_windows: PutWindows) -> None:
    """An incident with windows of its bad path."""
    put(TYPED)
    put_windows(
        window(NOON - 60, 1), window(NOON - 30, 1), window(NOON, 1, lost=15, rtt_p50_us=40.0),
        window(NOON, 2),
    )  # fmt: skip
    store.insert("anomalies", pa.table({
        "fabric": ["f1"], "path_id": pa.array([1], pa.uint64()), "layer": ["underlay"],
        "src_node_sn": ["h1"], "incident_id": ["AAAA"],
    }))  # fmt: skip


@pytest.mark.usefixtures("shown")
@pytest.mark.parametrize("width", [390, 768, 1440])
def test_it_says_where_why_and_what_next(opened: Open, width: int) -> None:
    page = opened("/incidents/AAAA", width)
    page.get_by_role("heading", name="rnic:10.0.0.1: unconnectivity").wait_for()
    page.locator("#where dd", has_text="h1").wait_for()
    page.locator("#next pre", has_text="nodename=h1").wait_for()
    page.get_by_text("Loss of the bad paths: 0 % before, 50 % while it lasted").wait_for()
    page.get_by_text(
        "Round trip, median of the bad paths: 10 µs before, 40 µs while it lasted"
    ).wait_for()
    assert page.locator("#charts canvas").count() == 2
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.usefixtures("shown")
def test_the_list_leads_to_it(opened: Open) -> None:
    page = opened("/")
    page.get_by_role("button", name="rnic:10.0.0.1").click()
    page.get_by_role("link", name="Where it is, how it developed, and what to do").click()
    page.get_by_role("heading", name="What next").wait_for()
    assert page.url.endswith("/incidents/AAAA")


def test_it_follows_the_incident_until_it_is_resolved(opened: Open, put: Put) -> None:
    put(INCIDENT)
    page = opened("/incidents/AAAA")
    page.locator("#tags", has_text="open").wait_for()
    put(RESOLVED)
    page.locator("#tags", has_text="resolved").wait_for()
    page.get_by_text("No windows of its bad paths are stored.").wait_for()


@pytest.mark.usefixtures("shown")
def test_its_job_and_what_to_do_are_one_press_away(opened: Open, put: Put) -> None:
    put(msgspec.structs.replace(TYPED, version=TYPED.version + 1, jobs=["llm"]))
    page = opened("/incidents/AAAA", 390)
    page.locator("#next pre").first.wait_for()
    page.get_by_role("link", name="What next").click()
    assert 0 <= page.locator("#next-title").bounding_box()["y"] < 200, "at the top of the window"
    page.locator("#where").get_by_role("link", name="llm").click()
    page.wait_for_url("**/jobs/llm")


def test_an_incident_and_what_it_explains_lead_to_each_other(opened: Open, put: Put) -> None:
    put(INCIDENT, msgspec.structs.replace(NIC, incident_id="BBBB", parent="AAAA"))
    page = opened("/incidents/AAAA")
    page.locator("#facts").get_by_role("link", name=f"{NIC.component}: ").click()
    page.wait_for_url("**/incidents/BBBB")
    page.get_by_role("link", name="incident AAAA").click()
    page.wait_for_url("**/incidents/AAAA")


def test_the_last_version_closes_it(opened: Open, put: Put) -> None:
    put(INCIDENT, RESOLVED)
    page = opened("/incidents/AAAA")
    page.locator(".history li", has_text="resolved").get_by_text("closed").wait_for()


def test_an_unknown_incident_is_named(browser: Any, client: httpx.Client) -> None:
    page = browser.new_page()
    page.goto(f"{client.base_url}/incidents/none".replace("//inc", "/inc"))
    page.get_by_text("there is no incident 'none'").wait_for()
    page.close()


EVIDENCE = {
    "text": "99 of 121 bad paths cross it", "flapping": False, "bad_crossing": 99, "bad": 121,
    "good_crossing": 279, "good": 8839, "effect": 0.163043, "window_s": 5, "source_hosts": 1,
    "layers": {"overlay": {"sent": 900, "lost": 120}, "underlay": {"sent": 0, "lost": 0}},
    "examples": ["overlay h1 10.0.0.1:61100 -> h2 10.0.1.2:65300", "underlay h1 -> h3"],
    "alternatives": {"tor:t1": 0.02, "spine:s1": 0.05}, "lof": 40.75, "of_tomorrow": [1, {"a": 2}],
}  # fmt: skip


def test_evidence_is_in_words_and_what_is_not_known_stays_as_it_is(opened: Open, put: Put) -> None:
    put(msgspec.structs.replace(INCIDENT, evidence=EVIDENCE))
    facts = opened("/incidents/AAAA").locator("#facts section", has_text="Evidence of 12:00:04 UTC")
    facts.wait_for()
    names, texts = facts.locator("dt").all_inner_texts(), facts.locator("dd").all_inner_texts()
    assert dict(zip(names, texts, strict=True)) == {
        "comes and goes": "no", "bad paths that cross it": "99 of 121",
        "good paths that cross it": "279 of 8,839", "loss": "16.3 % (last 5 s)",
        "seen by": "1 source host", "may also be": "spine:s1 5.0 %, tor:t1 2.0 %",
        "by layer": "overlay: 120 of 900 probes lost (13.3 %)\nunderlay: no probes",
        "example paths": "overlay h1 10.0.0.1:61100 → h2 10.0.1.2:65300\nunderlay h1 → h3",
        "outlier factor": "40.75 (LOF; 1 is as the others)",
        "of tomorrow": '[\n 1,\n {\n  "a": 2\n }\n]',
    }  # fmt: skip


def test_added_latency_has_its_unit_and_evidence_of_another_form_is_shown(
    opened: Open, put: Put
) -> None:
    put(msgspec.structs.replace(
        INCIDENT, symptom="high_latency", evidence={"effect": 29.658833, "layers": "overlay"}
    ))  # fmt: skip
    facts = opened("/incidents/AAAA").locator("#facts")
    facts.get_by_text("29.7 µs", exact=True).wait_for()
    facts.get_by_text("overlay", exact=True).wait_for()


def test_counts_of_the_sentence_have_the_moment_of_the_verdict_that_it_is_of(
    opened: Open, put: Put
) -> None:
    later = {"state": "ongoing", "evidence": EVIDENCE}
    put(
        INCIDENT,
        msgspec.structs.replace(INCIDENT, version=2, updated_at="2026-01-31T12:00:20Z", **later),
        msgspec.structs.replace(
            INCIDENT, version=3, updated_at="2026-01-31T12:00:40Z", paths_bad=224, paths_total=1386,
            **later,
        ),
    )  # fmt: skip
    page = opened("/incidents/AAAA")
    page.get_by_text("As of the verdict of 12:00:20 UTC; the whole incident is below.").wait_for()
    page.get_by_text("224 over the whole incident, of 1,386 that cross it").wait_for()
    page.get_by_text("224 of 1,386 paths bad so far").wait_for()


@pytest.mark.usefixtures("shown")
def test_links_on_the_page_have_its_order_and_charts_say_what_their_marks_are(opened: Open) -> None:
    page = opened("/incidents/AAAA")
    page.locator("#charts .marks").first.get_by_text("first bad second, and end").wait_for()
    links = page.get_by_role("navigation", name="On this page").get_by_role("link")
    titles = page.locator("main > section > h2").all_text_contents()
    assert links.all_text_contents() == titles == ["Where", "Why", "What next", "Handling"]


def test_hostile_names_are_shown_and_not_executed(opened: Open, put: Put) -> None:
    put(msgspec.structs.replace(
        TYPED, component=f"rnic:{HOSTILE}", tie_set=[f"rnic:{HOSTILE}", HOSTILE], jobs=[HOSTILE],
        evidence={"text": HOSTILE},
    ))  # fmt: skip
    page = opened("/incidents/AAAA")
    page.locator("#next pre", has_text="onerror").first.wait_for()
    assert page.evaluate("window.owned") is None
    assert page.locator("main img, main script").count() == 0


# --- the matrix --------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [390, 1440])
def test_the_matrix_says_what_it_looks_like_and_names_the_worst_cells(
    opened: Open, put_windows: PutWindows, width: int
) -> None:
    tors = [f"t{n}" for n in range(5)]
    put_windows(*(
        window(NOON, 10 * a + b, src_asw=src, dst_asw=dst, lost=30 * ("t3" in (src, dst)))
        for a, src in enumerate(tors) for b, dst in enumerate(tors)
    ))  # fmt: skip
    page = opened("/matrix?until=2026-01-31T12:01:00Z", width)
    page.get_by_text("t3 is down: nothing to or from it is answered.").wait_for()
    assert page.locator("#worst tbody tr").count() == 9
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    canvas = page.locator("#matrix")
    size = canvas.bounding_box()["width"]
    edge = size - 5 * 28  # names on the left and on top; cells have 28 pixels
    assert 0 < edge < 40
    assert canvas.evaluate(INKED, [0, edge, edge, size])
    assert canvas.evaluate(INKED, [edge, 0, size, edge])
    canvas.hover(position={"x": edge + 3.5 * 28, "y": edge + 0.5 * 28})
    page.get_by_text("t0 to t3: 30 of 30 probes lost (100 %)").wait_for()
    page.get_by_label("Color").select_option("rtt")
    page.get_by_text("no answers").wait_for()
    assert "measure=rtt" in page.url


def test_cells_that_are_too_small_have_no_names(opened: Open, put_windows: PutWindows) -> None:
    put_windows(*(
        window(NOON, n, src_asw=f"t{n:02}", dst_asw=f"t{(n + 1) % 40:02}") for n in range(40)
    ))  # fmt: skip
    page = opened("/matrix?until=2026-01-31T12:01:00Z", 390)
    page.locator("#matrix[aria-label^='40 by 40 cells']").wait_for()
    assert page.locator("#matrix").bounding_box()["width"] % 40 == 0


def test_an_empty_matrix_says_so(opened: Open) -> None:
    opened("/matrix").get_by_text("No windows are stored for this time.").wait_for()
