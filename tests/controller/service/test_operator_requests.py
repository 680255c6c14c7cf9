"""Operators over HTTP: jobs and planned work, each request once however often it is repeated."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from builders.controller.clusters import two_tiers
from builders.controller.controller_service import Service, token_of
from builders.controller.task_events import HOSTS, box

from controller.tasks.events import ContainerReady
from schemas.documents.maintenance import Maintenance
from schemas.documents.tasks.job import Job

pytestmark = pytest.mark.anyio

TOPOLOGY = two_tiers(HOSTS)
BOXES = msgspec.to_builtins([box(f"c{number}", number) for number in range(HOSTS)])
JOB = {"job": "job-a", "fabric": "f1", "size": HOSTS, "containers": BOXES}


@pytest.mark.parametrize("token", [None, "wrong", token_of("h000")])
async def test_only_operators_reach_jobs_and_planned_work(token: str | None) -> None:
    service = Service(TOPOLOGY)
    async with service.client(token) as caller:
        answers = [
            await caller.post("/api/v1/jobs", json=JOB),
            await caller.post("/api/v1/jobs/job-a/containers", json={"containers": []}),
            await caller.get("/api/v1/jobs"),
            await caller.get("/api/v1/jobs/job-a"),
            await caller.delete("/api/v1/jobs/job-a"),
            await caller.post("/api/v1/events", json=[]),
            await caller.get("/api/v1/maintenance"),
            await caller.post("/api/v1/maintenance", json={}),
            await caller.post("/api/v1/maintenance/end", json={}),
        ]
    assert {each.status_code for each in answers} == {401 if token is None else 403}
    assert service.topics.sent == 0


async def test_a_job_is_submitted_once_however_often_the_request_is_repeated() -> None:
    service = Service(TOPOLOGY)
    async with service.operator() as operator:
        first = await operator.post("/api/v1/jobs", json=JOB, headers={"Idempotency-Key": "k"})
        for number in range(HOSTS):
            ready = ContainerReady(
                time_ms=service.now_ms + 1, source="kubernetes", node_id=f"c{number}",
                node_sn=f"h{number:03}",
            )  # fmt: skip
            await service.site.apply([ready])
        sent = service.topics.sent
        service.now_ms += 60_000
        again = await operator.post("/api/v1/jobs", json=JOB, headers={"Idempotency-Key": "k"})
    assert (first.status_code, again.status_code) == (201, 200)
    assert service.topics.sent == sent
    assert {each["state"] for each in again.json()["containers"]} == {"ready"}, "no new life"
    (lists,) = again.json()["lists"].values()
    assert (lists["phase"], lists["ready"]) == ("activation", HOSTS)


async def test_a_key_with_other_content_is_refused() -> None:
    service = Service(TOPOLOGY)
    named = {"Idempotency-Key": "k"}
    async with service.operator() as operator:
        await operator.post("/api/v1/jobs", json={**JOB, "containers": BOXES[:2]}, headers=named)
        sent = service.topics.sent
        other = await operator.post("/api/v1/jobs", json=JOB, headers=named)
        spaced = await operator.post(
            "/api/v1/jobs", headers={**named, "Content-Type": "application/json"},
            content=json.dumps({**JOB, "containers": BOXES[:2]}, indent=2),
        )  # fmt: skip
        assert service.topics.sent == sent
        where = "/api/v1/jobs/job-a/containers"
        await operator.post(where, json={"containers": BOXES[2:3], "key": "g"})
        grown = await operator.post(where, json={"containers": BOXES[2:], "key": "g"})
        members = (await operator.get("/api/v1/jobs/job-a")).json()["containers"]
    assert (other.status_code, spaced.status_code, grown.status_code) == (409, 200, 409)
    assert "'k'" in other.json()["detail"]
    assert len(members) == 2 + 1


async def test_a_job_that_grows_and_ends_is_shown_with_its_phase() -> None:
    service = Service(TOPOLOGY)
    async with service.operator() as operator:
        await operator.post("/api/v1/jobs", json={**JOB, "containers": BOXES[:2]})
        for _ in range(2):
            grown = await operator.post(
                "/api/v1/jobs/job-a/containers", json={"containers": BOXES[2:], "key": "g"}
            )
            service.now_ms += 1000
        status = (await operator.get("/api/v1/jobs/job-a")).json()
        ended = [await operator.delete("/api/v1/jobs/job-a") for _ in range(2)]
    assert grown.json() == status
    assert len(status["containers"]) == HOSTS
    assert status["lists"]["f1"]["phase"] == "preload"
    assert [each.json() for each in ended] == [ended[0].json()] * 2
    assert {each["state"] for each in ended[0].json()["containers"]} == {"draining"}


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"job": "j", "sice": 3}, "did you mean 'size'"),
        ({"job": ""}, "the name is empty"),
        ({"job": "j", "containers": [{"node_id": "a|b"}]}, "holds '|'"),
        (
            {"job": "j", "containers": [
                {"node_id": "c", "endpoints": [{"ip": "host-1", "real_ip": "10.0.0.1"}]}
            ]},
            "is not an IP address",
        ),
        (
            {"job": "j", "containers": [
                {"node_id": "c", "endpoints": [{"ip": "2001:DB8::1", "real_ip": "2001:db8::2"}]}
            ]},
            "'2001:DB8::1' is 2001:db8::1 in its canonical spelling",
        ),
    ],
)  # fmt: skip
async def test_a_body_that_cannot_be_used_is_refused_in_one_line(
    body: dict[str, Any], says: str
) -> None:
    service = Service(TOPOLOGY)
    async with service.operator() as operator:
        answer = await operator.post("/api/v1/jobs", json=body)
        agents = {"event": "container_ready", "time_ms": 1, "source": "agent",
                  "node_id": "c", "node_sn": "h"}  # fmt: skip
        forged = await operator.post("/api/v1/events", json=agents)
    assert answer.status_code == forged.status_code == 422
    assert says in answer.json()["detail"]
    assert "\n" not in answer.json()["detail"]
    assert service.topics.sent == 0


async def test_an_unknown_job_is_not_found() -> None:
    service = Service(TOPOLOGY)
    async with service.operator() as operator:
        for answer in (
            await operator.get("/api/v1/jobs/none"),
            await operator.delete("/api/v1/jobs/none"),
            await operator.post("/api/v1/jobs/none/containers", json={"containers": []}),
        ):
            assert answer.status_code == 404


async def test_what_the_broker_does_not_store_is_answered_with_503_and_stored_later() -> None:
    service = Service(TOPOLOGY)
    service.topics.down = True
    async with service.operator() as operator:
        failed = await operator.post("/api/v1/jobs", json=JOB)
        assert failed.status_code == 503
        assert service.site.not_ready() == "the broker does not store documents"
        service.topics.down = False
        assert (await operator.post("/api/v1/jobs", json=JOB)).status_code == 200
    assert service.site.not_ready() is None
    assert len(service.topics.documents().placements) == HOSTS


async def test_planned_work_is_added_listed_and_ended() -> None:
    service = Service(TOPOLOGY)
    plan = {
        "component": "tor:t1",
        "until": "2030-01-01T00:00:00Z",
        "reason": "swap",
        "fabric": "f1",
    }
    async with service.operator() as operator:
        added = await operator.post("/api/v1/maintenance", json={**plan, "key": "k"})
        service.now_ms += 1000
        again = await operator.post("/api/v1/maintenance", json={**plan, "key": "k"})
        assert (added.status_code, again.json()) == (201, added.json())
        assert (await operator.get("/api/v1/maintenance")).json() == [added.json()]
        end = {"component": "tor:t1", "fabric": "f1"}
        (ended,) = (await operator.post("/api/v1/maintenance/end", json=end)).json()
        assert ended["until"] < added.json()["until"]
        assert (await operator.post("/api/v1/maintenance/end", json=end)).status_code == 404
        assert (await operator.get("/api/v1/maintenance")).json() == []
        assert (await operator.get("/api/v1/maintenance?over=true")).json() == [ended]
        nonsense = await operator.post("/api/v1/maintenance", json={**plan, "component": "x"})
    assert nonsense.status_code == 422
    assert "no component id" in nonsense.json()["detail"]


async def test_work_that_an_operators_command_publishes_is_listed() -> None:
    service = Service(TOPOLOGY)
    work = Maintenance(
        component="tor:t1", start="2026-01-01T00:00:00Z", until="2030-01-01T00:00:00Z", reason="x"
    )
    later = msgspec.structs.replace(work, until="2031-01-01T00:00:00Z")
    for each in (work, later):
        service.site.maintenance(each)
    async with service.operator() as operator:
        (found,) = (await operator.get("/api/v1/maintenance")).json()
    assert found["until"] == later.until


async def test_lists_and_jobs_are_the_same_after_a_restart() -> None:
    before = Service(TOPOLOGY)
    async with before.operator() as operator:
        await operator.post("/api/v1/jobs", json=JOB)
    for number in range(HOSTS):
        await before.site.register(("f1", f"h{number:03}"), [f"c{number}"])
    after = Service(TOPOLOGY, before.topics)
    for number in range(HOSTS):
        await after.site.register(("f1", f"h{number:03}"), [f"c{number}"])
    hosts = [("f1", host.node_sn) for host in TOPOLOGY.hosts]
    assert [after.site.etag(each) for each in hosts] == [before.site.etag(each) for each in hosts]
    assert isinstance(after.site.state.tasks.jobs["job-a"], Job)


async def test_what_has_been_over_for_long_leaves_the_topics() -> None:
    service = Service(TOPOLOGY)
    async with service.operator() as operator:
        await operator.post("/api/v1/jobs", json=JOB)
        await operator.delete("/api/v1/jobs/job-a")
        gone = [
            {"event": "container_gone", "time_ms": service.now_ms + 1, "source": "rest",
             "node_id": each["node_id"]}
            for each in BOXES
        ]  # fmt: skip
        await operator.post("/api/v1/events", json=gone)
    assert service.topics.held
    service.now_ms += 2 * 86_400_000
    await service.site.forget()
    assert service.topics.held == {}


async def test_a_declared_job_becomes_what_is_declared_and_repeating_it_changes_nothing() -> None:
    service = Service(TOPOLOGY)
    name = "team/job"  # as Kubernetes' jobs are named
    wanted = {"job": name, "fabric": "f1", "containers": BOXES[:2], "hosts": ["h[002-003]"]}
    async with service.operator() as operator:
        first = await operator.put(f"/api/v1/jobs/{name}", json=wanted)
        sent = service.topics.sent
        again = await operator.put(f"/api/v1/jobs/{name}", json=wanted)
        assert (again.json()["events"], service.topics.sent) == (0, sent)
        status = (await operator.get(f"/api/v1/jobs/{name}")).json()
        fewer = {**wanted, "containers": BOXES[1:2], "hosts": []}
        service.now_ms += 1000
        less = await operator.put(f"/api/v1/jobs/{name}", json=fewer)
        ended = await operator.delete(f"/api/v1/jobs/{name}")
    assert first.json()["status"] == status
    assert {each["node_id"]: each["state"] for each in status["containers"]} == {
        "c0": "starting", "c1": "starting", f"{name}@h002": "ready", f"{name}@h003": "ready",
    }  # fmt: skip
    assert {each["node_id"]: each["state"] for each in less.json()["status"]["containers"]} == {
        "c0": "draining", "c1": "starting",
    }  # fmt: skip
    assert {each["state"] for each in ended.json()["containers"]} == {"draining"}


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"job": "other"}, "the body says 'other'"),
        ({"job": "j", "fabric": "f1", "hosts": ["h9"]}, "host 'h9' is not in the topology"),
        ({"job": "j", "hosts": ["h["]}, "host list"),
    ],
)
async def test_a_declaration_that_cannot_be_used_is_refused_in_one_line(
    body: dict[str, Any], says: str
) -> None:
    service = Service(TOPOLOGY)
    async with service.operator() as operator:
        answer = await operator.put("/api/v1/jobs/j", json=body)
    assert answer.status_code == 422
    assert says in answer.json()["detail"]
