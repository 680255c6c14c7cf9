"""diagnose --report: one file that shows incidents, in a real browser, and runs nothing."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from builders.command_line import Command
from builders.schemas.incidents import INCIDENT

from localizer.options import Options
from skeletonhunter.diagnosis import inputs, run
from skeletonhunter.diagnosis.outcome import outcome_of
from skeletonhunter.diagnosis.page import page
from testbed.simulator.files import Written

CHROMIUM = shutil.which("chromium") or "/usr/bin/chromium"
HOSTILE = '<img src=x onerror="window.owned=1">'

pytestmark = pytest.mark.browser


@pytest.fixture
def opened() -> Iterator[Any]:
    """opened(file, width) is a page that must not complain."""
    if shutil.which(CHROMIUM) is None:
        pytest.skip("Chromium is not installed (apt-get install chromium)")
    from playwright.sync_api import sync_playwright

    complaints: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])

        def visit(file: Path, width: int = 1200) -> Any:
            tab = browser.new_page(viewport={"width": width, "height": 900})
            tab.on("pageerror", lambda error: complaints.append(str(error)))
            tab.on("console", lambda said: complaints.append(said.text))
            tab.goto(file.as_uri())
            return tab

        yield visit
        browser.close()
    assert complaints == []


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> inputs.Inputs:
    """Records of a cluster in which an rnic dies."""
    from testbed.scenarios.scenario import load
    from testbed.simulator.files import write

    folder = tmp_path_factory.mktemp("broken")
    (folder / "one.toml").write_text(
        'proves = "a NIC goes down"\nduration_s = 30\n[fabric]\nname = "f"\nhosts = 8\nrails = 2\n'
        'hosts_per_segment = 4\n[[faults]]\nkind = "rnic_down"\ncomponent = "any rnic"\nat = 15\n'
    )
    simulation = load(str(folder / "one.toml")).simulation(seed=3, start_ns=1_767_225_600 * 10**9)
    written = write(simulation, folder, 30, "parquet")
    return inputs.read([str(written.pings)], inputs.Documents(topology=written.topology))


def report(given: inputs.Inputs, file: Path, **changes: Any) -> Path:
    done = run.diagnose(given, Options())
    changed = [msgspec.structs.replace(each, **changes) for each in done.incidents]
    done = run.Diagnosis(changed, done.suppressed, done.coverage, done.anomalies)
    file.write_text(page.html(given, done, outcome_of(given, done)))
    return file


@pytest.mark.parametrize("width", [390, 1200])
def test_the_page_says_what_where_why_and_what_next(
    opened: Any, broken: inputs.Inputs, tmp_path: Path, width: int
) -> None:
    tab = opened(report(broken, tmp_path / "r.html"), width)
    text = tab.inner_text("main section")
    for words in ("rnic:10.", "unconnectivity", "bad paths cross", "Host\n", "ToR\n", "What next"):
        assert words in text
    for moment in ("(as of the last verdict)", "bad over the whole incident, of", "one of its"):
        assert moment in text, "counts of one thing differ by their moment"
    assert "ip -br addr" in text, "a command to run"
    assert "<host>" not in text, "commands have the host's name from the records"
    assert "µs" in tab.inner_html("main figure:last-child")
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    for command in tab.query_selector_all("pre"):  # also on paper, which does not scroll
        assert command.evaluate("node => node.scrollWidth <= node.clientWidth")


def test_the_charts_show_loss_of_the_bad_paths_only(
    opened: Any, broken: inputs.Inputs, tmp_path: Path
) -> None:
    tab = opened(report(broken, tmp_path / "r.html"))
    heights = {
        name: [
            float(point.split(",")[1])
            for point in tab.get_attribute(f"figure:first-child polyline.{name}", "points").split()
        ]
        for name in ("bad", "others")
    }
    assert min(heights["bad"]) == pytest.approx(10.0), "all is lost: the top of the picture"
    assert min(heights["others"]) > 90.0, "nothing to speak of: near its bottom"


def test_names_from_data_are_text(opened: Any, broken: inputs.Inputs, tmp_path: Path) -> None:
    evidence = {**INCIDENT.evidence, "text": HOSTILE}
    file = report(
        broken, tmp_path / "r.html", component=f"rnic:{HOSTILE}", jobs=[HOSTILE], fabric=HOSTILE,
        tie_set=[HOSTILE], parent=None, evidence=evidence, issue_type=HOSTILE, strategy=HOSTILE,
        incident_id='"><script>window.owned=1</script>',
    )  # fmt: skip
    tab = opened(file)
    assert tab.evaluate("window.owned === undefined")
    assert tab.query_selector("img, script") is None
    assert HOSTILE in tab.inner_text("main")


def test_a_healthy_cluster_has_a_page_that_says_so(
    opened: Any, command: Command, small: Written, tmp_path: Path
) -> None:
    file = tmp_path / "report.html"
    done = command("diagnose", small.pings, "--topology", small.topology, "--report", file)
    assert done.code == 0
    tab = opened(file)
    assert tab.inner_text("h1") == "No incidents"
    assert "12 s, 8 source hosts" in tab.inner_text("main")


@pytest.mark.parametrize("page", ["/proc/nowhere/r.html", "/proc"])
def test_a_page_that_cannot_be_written_is_one_line_before_anything_is_read(
    command: Command, page: str
) -> None:
    done = command("diagnose", "absent.ndjson", "--report", page)
    assert done.code == 2
    assert f"--report {page}: " in done.error_line
