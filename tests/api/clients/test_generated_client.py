"""A client that openapi-python-client generates from the document speaks to the real service."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from builders.api_service import served
from builders.monitoring.known_site import known_site
from builders.monitoring.known_store import known_store
from builders.monitoring.prometheus_tools import PROJECT

#: In the environment of the generator, which has what generated clients need.
PROGRAM = """
import json, sys
from skh_client import Client
from skh_client.api.incidents import advice, incident, incidents
from skh_client.api.paths_and_components import components, paths
from skh_client.api.site import agents, drawing, job_skeleton, one_job
from skh_client.models import FleetView, IncidentPage, Problem, TopologyView

client = Client(base_url=sys.argv[1], raise_on_unexpected_status=True)
page = incidents.sync(client=client, limit=2, component=["rnic:10.0.0.1"])
assert isinstance(page, IncidentPage)
one = page.items[0]
assert isinstance(agents.sync(client=client), FleetView)
site = drawing.sync(client=client, fabric="f1")
assert isinstance(site, TopologyView)
print(json.dumps({
    "total": page.total,
    "component": one.component,
    "opened": one.opened_at.isoformat(),
    "detail": incident.sync("BBBB", client=client).incident.component,
    "steps": len(advice.sync("BBBB", client=client).next_steps),
    "unknown": isinstance(incident.sync("none", client=client), Problem),
    "refused": incidents.sync_detailed(client=client, limit=-1).status_code,
    "paths": paths.sync(
        client=client, since="2026-01-31T12:00:00Z", until="2026-01-31T12:10:00Z"
    ).total,
    "components": components.sync(client=client).total > 0,
    "hosts": [name for name, pod in site.hosts],
    "job": one_job.sync("llm-70b", client=client).job,
    "stages": job_skeleton.sync("llm-70b", client=client).fabrics[0].stages,
}))
"""


def tool() -> Path:
    """The generator, where scripts/openapi-tools.sh has put it."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    pinned = re.search(r"version=(\S+)", (PROJECT / "scripts/openapi-tools.sh").read_text())
    assert pinned
    found = cache / "skeletonhunter" / f"openapi-python-client-{pinned[1]}" / "bin"
    if not (found / "openapi-python-client").exists():
        pytest.skip("needs openapi-python-client (scripts/openapi-tools.sh installs it)")
    return found


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with known_store(tmp_path_factory.mktemp("client") / "store") as store:
        known_site(store)
        with served(store) as client:
            yield client


@pytest.fixture(scope="module")
def generated(api: httpx.Client, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder of the client, and what the generator said."""
    folder, bin_folder = tmp_path_factory.mktemp("generated"), tool()
    document = folder / "openapi.json"
    document.write_bytes(api.get("/openapi.json").raise_for_status().content)
    done = subprocess.run(
        [
            bin_folder / "openapi-python-client", "generate", "--path", document, "--meta", "none",
            "--output-path", folder / "skh_client",
        ],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return folder, done.stdout + done.stderr


def run(generated: tuple[Path, str], api: httpx.Client, program: str) -> Any:
    done = subprocess.run(
        [tool() / "python", "-c", program, str(api.base_url)],
        capture_output=True, text=True, check=False, cwd=generated[0], timeout=300,
        env={"PYTHONPATH": str(generated[0])},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_every_operation_has_a_function_but_the_one_that_takes_sql_as_text(
    generated: tuple[Path, str],
) -> None:
    missing = re.findall(r"parsing (\w+ \S+) within", generated[1])
    assert missing == ["POST /api/v1/sql"]


def test_the_client_reads_what_the_service_answers(
    generated: tuple[Path, str], api: httpx.Client
) -> None:
    assert run(generated, api, PROGRAM) == {
        "total": 1, "component": "rnic:10.0.0.1", "opened": "2026-01-31T12:05:00+00:00",
        "detail": "rnic:10.0.0.1", "steps": 1, "unknown": True, "refused": 422, "paths": 2,
        "components": True, "hosts": ["h1", "h2", "h3"], "job": "llm-70b", "stages": 2,
    }  # fmt: skip


def test_the_client_acts_and_a_repeated_request_is_one_action(
    generated: tuple[Path, str], api: httpx.Client
) -> None:
    found = run(generated, api, """
import json, sys
from skh_client import Client
from skh_client.api.actions import act_on_incident
from skh_client.models import NewAction

client = Client(base_url=sys.argv[1], raise_on_unexpected_status=True)
body = NewAction.from_dict({"kind": "acknowledge", "by": "ana"})
sent = [act_on_incident.sync_detailed("BBBB", client=client, body=body, idempotency_key="k1")
        for _ in range(2)]
print(json.dumps([[int(each.status_code), each.parsed.kind] for each in sent]))
""")  # fmt: skip
    assert found == [[201, "acknowledge"], [200, "acknowledge"]]
