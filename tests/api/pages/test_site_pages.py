"""Topology, jobs, fleet and pipeline in a real browser, and what holds of every view."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from builders.api_service import Put, served
from builders.monitoring.path_windows import window
from builders.monitoring.small_site import (
    SITE,
    SKELETON,
    beat,
    put_heartbeats,
    put_placement,
    put_skeleton,
    put_topology,
)
from builders.schemas.incidents import INCIDENT, NIC, RESOLVED

from schemas.documents.tasks.skeleton import Position
from schemas.documents.topology import Endpoint, Host, Rnic, Switch, Topology
from schemas.metrics import Sample, sink, stream
from store.client import Store

AXE = Path(__file__).parent / "vendor" / "axe.min.js"
VIEWS = (
    "/", "/topology", "/topology?incident=AAAA", "/incidents/AAAA", "/matrix", "/jobs", "/jobs/llm",
    "/fleet", "/pipeline", "/docs",
)  # fmt: skip
TOR = msgspec.structs.replace(
    INCIDENT, component="tor:t1", tie_set=["tor:t1", "link:agg:a1|tor:t1"], jobs=["llm"]
)
HOSTILE = '<img src=x onerror="window.owned=1">'
PutWindows = Callable[..., None]
Open = Callable[..., Any]

pytestmark = pytest.mark.browser


def loaded(page: Any) -> None:
    """Wait until the view has its data."""
    page.locator("#active a, #connection[data-state=live], #operations h2").first.wait_for()
    page.wait_for_load_state("load")


@pytest.mark.usefixtures("site")
@pytest.mark.parametrize("path", VIEWS)
def test_axe_finds_nothing_in_light_and_dark(opened: Open, path: str) -> None:
    for width, scheme in ((1440, "light"), (390, "dark")):
        page = opened(path, width, scheme)
        loaded(page)
        page.evaluate(AXE.read_text() + "; undefined")
        options = {"runOnly": ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa", "best-practice"]}
        found = page.evaluate("(options) => axe.run(document, options)", options)
        assert [
            (each["id"], [node["html"][:160] for node in each["nodes"]])
            for each in found["violations"]
        ] == []


@pytest.mark.usefixtures("site")
@pytest.mark.parametrize("path", VIEWS)
@pytest.mark.parametrize("width", [390, 768, 1440])
def test_no_view_scrolls_sideways(opened: Open, path: str, width: int) -> None:
    page = opened(path, width)
    loaded(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.usefixtures("site")
@pytest.mark.parametrize("path", VIEWS)
def test_every_view_leads_to_all_others_and_counts_active_incidents(
    opened: Open, path: str
) -> None:
    page = opened(path)
    loaded(page)
    links = page.get_by_role("navigation", name="Views").get_by_role("link")
    assert links.all_text_contents() == [
        "Now", "Topology", "Matrix", "Jobs", "Fleet", "Pipeline", "API",
    ]  # fmt: skip
    if path != "/docs":
        page.locator("link[rel=icon][href='/page/icon-1.svg']").wait_for(state="attached")
        assert page.title().startswith("(1) ")


@pytest.mark.usefixtures("site")
def test_the_list_has_the_site_at_a_glance(opened: Open) -> None:
    strip = opened("/").locator("#strip")
    strip.get_by_text("✕ 1 incident active").wait_for()
    strip.get_by_text("! 1 of 2 agents in trouble").wait_for()
    strip.get_by_text("! 638 of 640 covered").wait_for()
    strip.get_by_text("✓ Measurements come in").wait_for()


def test_agents_that_state_no_version_have_none(opened: Open, store: Store) -> None:
    put_heartbeats(store, beat("h1", time.time(), version=""))
    opened("/").locator("#strip").get_by_text("version unknown").wait_for()


@pytest.mark.usefixtures("site")
@pytest.mark.parametrize(("width", "rows"), [(1440, 1), (768, 2), (390, 2)])
def test_the_site_at_a_glance_has_full_rows(opened: Open, width: int, rows: int) -> None:
    tiles = opened("/", width=width).locator("#strip li")
    tiles.nth(3).wait_for()
    tops = [tiles.nth(index).bounding_box()["y"] for index in range(4)]
    assert [tops.count(top) for top in sorted(set(tops))] == [4 // rows] * rows


# --- topology ----------------------------------------------------------------------------------


@pytest.mark.usefixtures("site")
def test_the_topology_follows_incidents_without_a_reload(opened: Open, put: Put) -> None:
    page = opened("/topology")
    with page.expect_response("**/api/v1/stream") as listening:
        page.reload()
    assert listening.value.status == 200
    page.locator("#out", has_text="tor:t1: loss").wait_for()
    put(msgspec.structs.replace(NIC, fabric="f1", incident_id="BBBB", state="open"))
    page.locator("#out", has_text="rnic:10.0.0.1: unconnectivity").wait_for()
    page.locator("#summary", has_text="2 active incidents").wait_for()
    put(msgspec.structs.replace(RESOLVED, component="tor:t1"))
    page.locator("#summary", has_text="1 active incident.").wait_for()


@pytest.mark.usefixtures("site")
def test_arrow_keys_move_between_components_and_say_what_each_is(opened: Open) -> None:
    page = opened("/topology")
    page.locator("#out", has_text="tor:t1").wait_for()
    drawing = page.get_by_role("application")
    drawing.focus()
    said = page.locator("#component")
    for key, text in (
        ("ArrowDown", "spine:s1"), ("ArrowDown", "agg:a"), ("ArrowLeft", "agg:a1"),
        ("ArrowDown", "tor:t1: incident tor:t1, loss"), ("ArrowDown", "rnic:10.0.0.1, 10 % of"),
        ("ArrowRight", "rnic:10.0.1.2"),
    ):  # fmt: skip
        page.keyboard.press(key)
        said.get_by_text(text).wait_for()
    assert "component=rnic%3A10.0.1.2" in page.url
    page.locator("#facts dd", has_text="t2").first.wait_for()


@pytest.mark.usefixtures("site")
def test_pointing_at_a_switch_shows_its_links_and_incident(opened: Open) -> None:
    page = opened("/topology")
    page.get_by_role("button", name="show tor:t1 in the drawing").click()
    page.locator("#component", has_text="tor:t1: incident tor:t1, loss").wait_for()
    page.locator("#facts dd", has_text="2: a1, 10.0.0.1").wait_for()
    page.get_by_role("combobox", name="Find").fill("agg:a2")
    page.locator("#component", has_text="agg:a2").wait_for()


@pytest.mark.usefixtures("site")
def test_an_incident_leads_to_its_paths_in_the_topology(opened: Open) -> None:
    page = opened("/incidents/AAAA")
    page.get_by_role("link", name="Its bad and good paths in the topology").click()
    page.get_by_text(
        "Paths in the minute shown: 1 of 1 that were bad at one of its verdicts, and 1 good ones"
    ).wait_for()
    page.get_by_text("1 bad path; all routes traced").click()
    page.get_by_text("10.0.0.1 → t1 → a1 → s1 → a2 → t2 → 10.0.1.2").wait_for()
    page.get_by_text("1 good path; route known of 0 of 1").wait_for()
    pixels = page.evaluate("""() => {
      const canvas = document.getElementById("over");
      const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
      return data.some((value) => value);
    }""")
    assert pixels, "the paths are drawn"


def test_a_fabric_without_a_document_says_what_is_missing(
    opened: Open, put_windows: PutWindows
) -> None:
    put_windows(window(int(time.time()) // 30 * 30 - 30, 1))
    page = opened("/topology")
    page.get_by_text("No topology document of this fabric is stored").wait_for()
    page.get_by_text("f1: 2 switches, 0 links between them, 2 hosts, 2 rnics").wait_for()


def test_2048_rnics_are_drawn_and_wider_than_a_phone_only_inside_their_frame(
    opened: Open, store: Store
) -> None:
    hosts = [
        Host(
            f"h{n}", [Rnic(f"10.{n}.{r}.1", r, f"t{n // 16}-{r}") for r in range(8)], f"p{n // 64}"
        )
        for n in range(256)
    ]
    tors = [Switch(f"t{n}-{r}", "asw", f"p{n // 4}") for n in range(16) for r in range(8)]
    put_topology(store, Topology(fabric="big", hosts=hosts, switches=tors))
    page = opened("/topology?component=rnic:10.200.3.1", 390)
    page.get_by_text("256 hosts, 2,048 rnics").wait_for()
    page.locator("#component", has_text="rnic:10.200.3.1, no probes").wait_for()
    frame = page.locator("#frame")
    assert frame.evaluate("node => node.scrollWidth > node.clientWidth")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.evaluate("performance.getEntriesByName('topology-draw').length") >= 1
    assert page.locator("main *").count() < 150, "no element for each rnic"


def test_hostile_names_are_text_in_every_view(opened: Open, store: Store, put: Put) -> None:
    bad = msgspec.structs.replace(
        SITE, fabric=HOSTILE, containers=[], switches=[Switch(HOSTILE, "asw", HOSTILE)], links=[],
        hosts=[Host(HOSTILE, [Rnic("10.0.0.1", 0, HOSTILE)], HOSTILE)],
    )  # fmt: skip
    put_topology(store, bad)
    put_placement(store, HOSTILE, HOSTILE, job="job", tenant=HOSTILE, fabric=HOSTILE)
    put_heartbeats(store, beat(HOSTILE, time.time(), version=HOSTILE, fabric=HOSTILE))
    put(msgspec.structs.replace(INCIDENT, fabric=HOSTILE, component=f"tor:{HOSTILE}", jobs=["job"]))
    for path, text in (("/topology", "onerror"), ("/jobs", "onerror"), ("/jobs/job", "onerror"),
                       ("/fleet", "onerror")):  # fmt: skip
        page = opened(path)
        page.locator("main", has_text=text).wait_for()
        assert page.evaluate("window.owned") is None
        assert page.locator("main img, main script").count() == 0


# --- jobs, fleet, pipeline ---------------------------------------------------------------------


@pytest.mark.usefixtures("site")
def test_a_job_is_found_and_says_whether_it_is_the_network(opened: Open, put: Put) -> None:
    page = opened("/jobs")
    page.get_by_text("1 job, 1 with active incidents.").wait_for()
    page.get_by_role("link", name="llm").click()
    page.get_by_text("Yes: tor:t1 has loss since 12:00:00 UTC.").wait_for()
    assert page.locator("#charts canvas").count() == 2
    assert page.locator("#rows tr").count() == 2
    put(msgspec.structs.replace(RESOLVED, component="tor:t1", jobs=["llm"]))
    page.get_by_text("Unknown: no incident names a culprit, but probes were lost").wait_for()


@pytest.mark.usefixtures("site")
def test_the_skeleton_of_a_job_is_drawn_and_said(opened: Open) -> None:
    page = opened("/jobs/llm")
    page.get_by_text("2 pipeline stages, 2 DP groups of 1 rnics each").wait_for()
    page.get_by_text("Probed: 1 of its 1 pair.").wait_for()
    page.get_by_text("1 pair lost 0.1 % or more; worst 10.0.0.1 and 10.0.1.2: 10 %.").wait_for()
    pixels = page.evaluate("""() => {
      const canvas = document.getElementById("graph");
      const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
      return data.some((value) => value);
    }""")
    assert pixels
    page.get_by_text("The same as tables").click()
    page.locator("#groups tr", has_text="DP group 0").wait_for()
    row = page.locator("#pairs tr").inner_text()
    assert "10.0.0.1" in row
    assert "! 10.00 %" in row
    page.get_by_label("Color by").select_option("rtt")
    page.locator("#skeleton-legend", has_text="1.5 times the median").wait_for()


def test_columns_of_a_skeleton_stand_closer_where_that_makes_them_fit(
    opened: Open, store: Store
) -> None:
    names = [(f"h{n}", f"10.0.{n}.1") for n in range(8)]
    rnics = [
        Position(node_sn=host, real_ip=name, cluster=n, stage=n // 2)
        for n, (host, name) in enumerate(names)
    ]
    put_placement(store, "c1", "h0", job="four", endpoints=[Endpoint(n, n) for _, n in names])
    put_skeleton(store, msgspec.structs.replace(
        SKELETON, job="four", rnics=rnics, dp=1, tp_pp=8, stages=4, pairs=[],
    ))  # fmt: skip
    for width in (390, 768, 1440):
        page = opened("/jobs/four", width)
        page.get_by_text("4 pipeline stages, 8 DP groups of 1 rnics each").wait_for()
        frame = page.locator("#graph-frame")
        assert frame.evaluate("node => node.scrollWidth <= node.clientWidth"), width


@pytest.mark.usefixtures("site")
def test_the_legend_of_a_chart_has_the_newest_value(opened: Open) -> None:
    page = opened("/jobs/llm")
    legend = page.locator("#charts .u-legend").first
    legend.get_by_text("UTC").wait_for()
    assert "\u2013" not in legend.inner_text()


@pytest.mark.parametrize(
    ("names", "width", "way"),
    [
        (["asw-01", "asw-14"], 96, "whole"), (["asw-01", "asw-14"], 36, "short"),
        (["asw-01", "asw-14"], 12, "upwards"), (["asw-01", "asw-14"], 8, "none"),
        (["north", "south-of-it"], 40, "cut"),
    ],
)  # fmt: skip
def test_names_of_switches_are_shortened_by_what_they_share_before_they_are_cut(
    opened: Open, names: list[str], width: int, way: str
) -> None:
    found = opened("/topology").evaluate(
        """async ([names, width]) => {
          const clos = await import("/page/clos.js");
          const switches = names.map((name) => [`tor:${name}`, name, "p", 10, 0, 1]);
          const room = 24 + names.length * (width + 4);
          const data = { switches, hosts: [], rnics: [], links: [] };
          const drawing = clos.layout(data, room, 1);
          const brush = document.createElement("canvas").getContext("2d");
          clos.paint(brush, drawing, new Map(), clos.palette());
          return [...drawing.names.values()].map((each) => each.writing.way);
        }""",
        [names, width],
    )
    assert found == [way] * len(names)


@pytest.mark.usefixtures("site")
def test_arrow_keys_move_between_the_rnics_of_a_skeleton(opened: Open) -> None:
    page = opened("/jobs/llm")
    page.locator("#skeleton-text", has_text="DP group").wait_for()
    page.get_by_role("application", name="Skeleton").focus()
    said = page.locator("#rnic")
    page.keyboard.press("ArrowRight")
    said.get_by_text("10.0.0.1 of h1, container c1: stage 0, DP group 0. 10 % of 180").wait_for()
    page.keyboard.press("ArrowRight")
    said.get_by_text("10.0.1.2 of h2, container c2: stage 1, DP group 1.").wait_for()


def test_a_job_of_1024_rnics_is_drawn_and_wider_than_a_phone_only_inside_its_frame(
    opened: Open, store: Store
) -> None:
    names = [(f"h{n // 8}", f"10.{n // 128}.{n % 128}.1") for n in range(1024)]
    rnics = [
        Position(node_sn=host, real_ip=name, cluster=n // 64, stage=n // 128)
        for n, (host, name) in enumerate(names)
    ]
    put_placement(store, "c1", "h0", job="big", endpoints=[Endpoint(n, n) for _, n in names])
    put_skeleton(store, msgspec.structs.replace(
        SKELETON, job="big", rnics=rnics, dp=64, tp_pp=16, stages=8, pairs=[],
    ))  # fmt: skip
    page = opened("/jobs/big", 390)
    page.get_by_text("8 pipeline stages, 16 DP groups of 64 rnics each").wait_for()
    frame = page.locator("#graph-frame")
    assert frame.evaluate("node => node.scrollWidth > node.clientWidth")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.evaluate("performance.getEntriesByName('skeleton-draw')[0].duration") < 1000


@pytest.mark.usefixtures("site")
def test_the_fleet_shows_the_silent_agent_first_and_filters_by_address(opened: Open) -> None:
    page = opened("/fleet")
    page.get_by_text("2 agents: 1 silent, 1 active.").wait_for()
    page.get_by_text("Versions: 1.2 on 2.").wait_for()
    assert page.locator("#rows tr").first.inner_text().startswith("h2")
    page.get_by_label("State").select_option("silent")
    page.get_by_text("1 agent", exact=True).wait_for()
    assert page.url.endswith("/fleet?state=silent")


@pytest.mark.usefixtures("site")
def test_the_pipeline_says_what_came_in_what_was_lost_and_what_is_not_known(opened: Open) -> None:
    page = opened("/pipeline")
    page.locator("#summary", has_text="1 record could not be used in the last day").wait_for()
    page.locator("#fabrics td", has_text="f1").wait_for()
    page.locator("#lost td", has_text="bad").wait_for()
    page.get_by_text("2 figures not known here").click()
    page.get_by_text("this process has no stream worker").wait_for()


@pytest.mark.usefixtures("site")
def test_counters_of_the_process_fit_a_phone(browser: Any, store: Store) -> None:
    samples = [
        Sample(stream.STREAM_RECORDS, 1_452_092, ("judged",)), Sample(sink.SINK_WAITING, 1),
        Sample(stream.STREAM_MISSING, 97, ("skh.windows",)), Sample(stream.STREAM_LAG, 42),
        Sample(sink.SINK_MISSING, 0, ("skh.pings",)),
    ]  # fmt: skip
    with served(store, counters=[lambda: samples]) as client:
        page = browser.new_page(viewport={"width": 390, "height": 900})
        page.goto(f"{str(client.base_url).rstrip('/')}/pipeline")
        page.locator("#summary", has_text="Verdicts are 42 s behind; the sink waits").wait_for()
        page.locator("#lost dd", has_text="97 skh.windows").wait_for()
        page.locator("#counts dd", has_text="1,452,092 judged").wait_for()
        for part in page.locator("dl").all():
            assert part.evaluate("node => node.scrollWidth <= node.clientWidth")
        page.close()


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/topology", "Neither a topology document nor a window of the last hour is stored."),
        ("/jobs", "No job is known"),
        ("/fleet", "No heartbeat was stored in the last day"),
        ("/pipeline", "No dead letter was stored in the last day."),
    ],
)
@pytest.mark.usefixtures("store")
def test_an_empty_view_says_so(opened: Open, path: str, text: str) -> None:
    opened(path, 390).get_by_text(text).wait_for()


def test_an_unknown_job_is_named(browser: Any, client: httpx.Client) -> None:
    page = browser.new_page()
    page.goto(str(client.base_url).rstrip("/") + "/jobs/none")
    page.get_by_text("no container and no incident names a job 'none'").wait_for()
    page.close()


@pytest.mark.usefixtures("site")
def test_views_that_are_left_leave_no_stream_and_no_memory_behind(
    opened: Open, client: httpx.Client, put: Put
) -> None:
    page = opened("/topology")
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")

    def listeners_and_nodes() -> tuple[int, int]:
        session.send("HeapProfiler.collectGarbage")
        found = session.send("Performance.getMetrics")["metrics"]
        values = {each["name"]: each["value"] for each in found}
        return int(values["JSEventListeners"]), int(values["Nodes"])

    page.locator("#out", has_text="tor:t1").wait_for()
    sizes = []
    for version in range(2, 26):
        put(msgspec.structs.replace(TOR, version=version, evidence={"text": f"turn {version}."}))
        page.locator("#out", has_text=f"turn {version}.").wait_for()
        sizes.append(listeners_and_nodes())
    first, last = sizes[3], sizes[-1]
    assert last[0] <= first[0] + 20, sizes
    assert last[1] <= first[1] + 200, sizes
