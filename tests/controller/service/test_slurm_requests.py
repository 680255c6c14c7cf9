"""Slurm over HTTP: the hook's script, and what squeue shows."""

from __future__ import annotations

import asyncio
import http.server
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from builders.controller.clusters import two_tiers
from builders.controller.controller_service import OPERATOR, Service, token_of
from builders.controller.task_events import HOSTS

import controller.sources.slurm

pytestmark = pytest.mark.anyio

TOPOLOGY = two_tiers(HOSTS)
HOOK = Path(controller.sources.slurm.__file__).parent / "hooks" / "slurmctld.sh"


def form(job_id: int = 7, **fields: Any) -> bytes:
    said = {"job_id": job_id, "nodes": "h[000-001],login1", "account": "team-a", "fabric": "f1"}
    return urlencode(said | fields).encode()


async def sent(service: Service, method: str, path: str, **more: Any) -> Any:
    async with service.operator() as slurm:
        answer = await slurm.request(method, f"/api/v1/slurm/{path}", **more)
    assert answer.status_code == 200, answer.text
    return answer.json()


def states(service: Service) -> dict[str, str]:
    return {name: each.state for name, each in service.site.state.tasks.placements.items()}


async def test_a_job_has_its_hosts_from_prolog_to_epilog() -> None:
    service = Service(TOPOLOGY)
    begun = await sent(service, "POST", "start", content=form())
    assert begun["jobs"] == ["slurm-7"]
    assert states(service) == {"slurm-7@h000": "ready", "slurm-7@h001": "ready"}
    repeated = await sent(service, "POST", "start", content=form())
    assert repeated["events"] == 0
    service.now_ms += 60_000
    ended = await sent(service, "POST", "end", content=form(nodes=""))
    assert ended["ended"] == ["slurm-7"]
    assert set(states(service).values()) == {"gone"}
    assert service.topics.documents().jobs[0].ended is not None


async def test_a_job_without_an_account_has_no_tenant() -> None:
    service = Service(TOPOLOGY)
    await sent(service, "POST", "start", content=form(account="(null)"))
    submitted = service.site.state.tasks.jobs["slurm-7"].submitted
    assert submitted is not None
    assert submitted.tenant == ""


async def test_a_job_without_any_host_of_the_fabric_is_ignored() -> None:
    service = Service(TOPOLOGY)
    begun = await sent(service, "POST", "start", content=form(nodes="login1"))
    ended = await sent(service, "POST", "end", content=form(9))
    assert (begun["ignored"], ended["ignored"]) == (["slurm-7"], ["slurm-9"])
    assert service.topics.sent == 0


async def test_the_queue_begins_what_hooks_missed_and_ends_what_is_over() -> None:
    service = Service(TOPOLOGY)
    start_s = service.now_ms // 1000 - 100
    for job_id in (1, 2):
        await sent(
            service, "POST", "start", content=form(job_id, nodes=f"h00{job_id}", start_s=start_s)
        )
    taken_ms = service.now_ms
    late = form(4, nodes="h000", start_s=service.now_ms // 1000 + 1)
    service.now_ms += 2000
    await sent(service, "POST", "start", content=late)
    jobs = [
        {"job_id": 2, "nodes": "h002", "start_s": start_s, "account": "team-a"},
        {"job_id": 3, "nodes": "h003", "start_s": start_s},
    ]
    queue = {"jobs": jobs, "taken_ms": taken_ms, "fabric": "f1"}
    found = await sent(service, "PUT", "jobs", json=queue)
    assert (found["jobs"], found["ended"]) == (["slurm-2", "slurm-3"], ["slurm-1"])
    assert states(service) == {
        "slurm-1@h001": "gone", "slurm-2@h002": "ready", "slurm-3@h003": "ready",
        "slurm-4@h000": "ready",
    }, "a job that began after the queue was read goes on"  # fmt: skip
    again = await sent(service, "PUT", "jobs", json={**queue, "taken_ms": taken_ms + 1})
    assert again["events"] == 0


@pytest.mark.parametrize("token", [None, "wrong", token_of("h000")])
async def test_only_operators_report_jobs_of_slurm(token: str | None) -> None:
    service = Service(TOPOLOGY)
    async with service.client(token) as caller:
        answers = [
            await caller.post("/api/v1/slurm/start", content=form()),
            await caller.post("/api/v1/slurm/end", content=form()),
            await caller.put("/api/v1/slurm/jobs", json={"jobs": [], "taken_ms": 1}),
        ]
    assert {each.status_code for each in answers} == {401 if token is None else 403}


@pytest.mark.parametrize(
    ("content", "says"),
    [(b"job_id=x", "job_id"), (b"nodes=h000", "job_id"), (b"job_id=1&nodes=h[", "host list"),
     (b"job_id=1&sice=2", "sice"), (b"\xff", "form")],
)  # fmt: skip
async def test_a_form_that_cannot_be_used_is_refused_in_one_line(content: bytes, says: str) -> None:
    service = Service(TOPOLOGY)
    async with service.operator() as slurm:
        answer = await slurm.post("/api/v1/slurm/start", content=content)
    assert answer.status_code == 422
    assert says in answer.json()["detail"]
    assert "\n" not in answer.json()["detail"]


def run_hook(tmp_path: Path, url: str, what: str, **job: str) -> subprocess.CompletedProcess[str]:
    token = tmp_path / "token"
    token.write_text(f"{OPERATOR}\n")
    env_file = tmp_path / "slurm.env"
    env_file.write_text(
        f"SKH_CONTROLLER_URL={url}\nSKH_CONTROLLER_TOKEN_FILE={token}\nSKH_FABRIC=f1\n"
    )
    return subprocess.run(
        [HOOK], capture_output=True, text=True, check=False, timeout=60,
        env={"SKH_SLURM_ENV": str(env_file), "SLURM_SCRIPT_CONTEXT": f"{what}_slurmctld", **job},
    )  # fmt: skip


Received = list[tuple[str, str, bytes]]


@contextmanager
def listening(status: int = 200) -> Iterator[tuple[str, Received]]:
    """URL of a server that answers so, and path, token and body of each request to it."""
    received: Received = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            received.append((self.path, self.headers["Authorization"], body))
            self.send_response(status)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", received
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.mark.skipif(shutil.which("curl") is None, reason="the hook needs curl")
def test_the_hook_sends_what_slurmctld_says(tmp_path: Path) -> None:
    job = {
        "SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "h[000-001]", "SLURM_JOB_ACCOUNT": "a&b=\"'",
        "SLURM_JOB_START_TIME": "1790000000",
    }  # fmt: skip
    with listening() as (url, received):
        done = [run_hook(tmp_path, url, what, **job) for what in ("prolog", "epilog")]
    assert {(each.returncode, each.stdout) for each in done} == {(0, "")}
    assert [each[0] for each in received] == ["/api/v1/slurm/start", "/api/v1/slurm/end"]
    assert {each[1] for each in received} == {f"Bearer {OPERATOR}"}

    async def story() -> Service:
        service = Service(TOPOLOGY)
        await sent(service, "POST", "start", content=received[0][2])
        return service

    (known,) = asyncio.run(story()).site.state.tasks.jobs.values()
    assert known.submitted is not None
    assert known.submitted.tenant == "a&b=\"'"
    assert known.submitted.valid_from == "2026-09-21T14:13:20.000Z"


@pytest.mark.skipif(shutil.which("curl") is None, reason="the hook needs curl")
def test_the_hook_reports_to_the_controller_that_leads(tmp_path: Path) -> None:
    with listening(503) as (standby, refused), listening() as (leader, received):
        urls = f"http://127.0.0.1:9,{standby},{leader}"
        done = run_hook(tmp_path, urls, "prolog", SLURM_JOB_ID="7")
    assert done.returncode == 0
    assert refused, "it was asked first"
    assert [path for path, *_ in received] == ["/api/v1/slurm/start"]


@pytest.mark.skipif(shutil.which("curl") is None, reason="the hook needs curl")
def test_the_hook_lets_the_job_begin_when_the_controller_does_not_answer(tmp_path: Path) -> None:
    done = run_hook(tmp_path, "http://127.0.0.1:9", "prolog", SLURM_JOB_ID="7")
    assert done.returncode == 0
    assert os.access(HOOK, os.X_OK)
