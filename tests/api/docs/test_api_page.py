"""docs/api.md: every example is run by a shell on known data, and says what it should."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from builders.api_service import served
from builders.monitoring.known_store import known_store
from builders.monitoring.prometheus_tools import PROJECT

from store.client import Store

PAGE = (PROJECT / "docs/api.md").read_text()
EXAMPLES: dict[str, str] = dict(
    re.findall(r"^### (.+?)$(?:(?!^###).)*?```sh\n(.*?)```", PAGE, re.MULTILINE | re.DOTALL)
)
#: Example -> what its output has.
SAYS: dict[str, list[str]] = {
    "What is wrong now?": ['"incident_id":"BBBB"', '"total":1'],
    "Which severe incidents of two jobs began in the last week, and has no one acknowledged?": [
        '"total":2', '"AAAA"', '"BBBB"',
    ],
    "All incidents, page by page": ["BBBB\nAAAA\n"],
    "Has anything changed?": ["304"],
    "What happened to an incident?": ['"text":"open: loss of tor:asw-3-1, P1"', '"resolved"'],
    "Acknowledge, assign, note": ['"assignee":"bob"', '"key":"ticket-4711"'],
    "Was the verdict right?": ['"verdict":"wrong_component"', '"by":"alice"'],
    "How often are verdicts right here?": ['"wrong_component":1', '"not_reviewed":1'],
    "New versions as they are stored": [": connected"],
    "Which components of a kind are not well?": ['"component":"tor:t9"', '"suspect"'],
    "What is known of one component?": ['"blamed":false', '"BBBB"'],
    "Which paths lose most?": ['"loss":0.1', '"total":1'],
    "One path: windows, route, raw pings": [
        '"window_start":"2026-01-31T12:00:00.000Z"', '"dial":"timeout"',
    ],
    "What does no probe cross?": ['"tor:t9"'],
    "Who loses how much to whom?": ['"names":["t1","t2"]'],
}  # fmt: skip


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed (apt-get install curl)")
    with (
        known_store(tmp_path_factory.mktemp("api-page") / "store") as store,
        served(store) as client,
    ):
        _complete(store)
        yield client


def _complete(store: Store) -> None:
    """What the examples ask for beyond the known store: a suspect ToR, pings of the lossy path."""
    store.execute(
        "INSERT INTO incidents (incident_id, version, state, fabric, component, tie_set, severity,"
        " parent) VALUES ('DDDD', 1, 'open', 'f1', 'spine:s1', ['spine:s1', 'tor:t9'], 'P2', 'X')"
    )
    store.execute(
        "INSERT INTO pings (path_id, task_type, dial, ping_time)"
        " VALUES (2, 'UDP_PING', 'timeout', '2026-01-31 12:00:01')"
    )


def test_every_example_of_the_page_has_an_expectation() -> None:
    headings = re.findall(r"^### (.+)$", PAGE, re.MULTILINE)
    assert headings == list(EXAMPLES) == list(SAYS)
    assert len(SAYS) >= 12


@pytest.mark.parametrize("heading", list(SAYS))
def test_an_example_says_what_it_should(api: httpx.Client, heading: str, tmp_path: Path) -> None:
    if heading == "How often are verdicts right here?":
        body = {"kind": "feedback", "by": "alice", "verdict": "wrong_component"}
        api.post("/api/v1/incidents/BBBB/actions", json=body).raise_for_status()
    done = subprocess.run(
        ["bash", "-ec", EXAMPLES[heading]], capture_output=True, text=True, check=False,
        cwd=tmp_path, timeout=300,
        env={**os.environ, "API": f"{str(api.base_url).rstrip('/')}/api/v1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for part in SAYS[heading]:
        assert part in done.stdout


def test_the_page_names_operations_that_exist(api: httpx.Client) -> None:
    known = set(api.get("/openapi.json").json()["paths"])
    for path in re.findall(r'\$API(/[\w/]*?)[?" ]', PAGE):
        shape = re.sub(r"/(AAAA|BBBB)(?=/|$)", "/{incident_id}", f"/api/v1{path}")
        assert shape in known or shape.startswith(("/api/v1/components/", "/api/v1/paths/")), path
