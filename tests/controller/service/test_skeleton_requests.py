"""The skeleton of a job over HTTP: how far its inference is, and what it has found."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import numpy as np
import pytest
from builders.controller.clusters import two_tiers
from builders.controller.controller_service import T0_MS, Service, token_of
from builders.controller.task_events import box
from builders.monitoring.small_site import SKELETON

from controller.service.learning import learn_next
from controller.service.messages import of_forgotten_skeletons, of_skeleton
from schemas import topics
from schemas.documents.tasks import skeleton
from testbed.training.cases import training, without_collectives

pytestmark = pytest.mark.anyio

HOSTS, RAILS, SECONDS = 8, 8, 260
BOXES = msgspec.to_builtins([box(f"c{number}", number, rails=RAILS) for number in range(HOSTS)])
JOB = {"job": "job-a", "fabric": "f1", "size": HOSTS, "containers": BOXES}
WHERE = "/api/v1/jobs/job-a/skeleton"


async def trained(kind: str) -> tuple[Service, dict[str, Any]]:
    """A service that has seen a job's throughput, and its answer."""
    made = (
        training(64, moe=False, impairment="none", seed=5, duration_s=SECONDS)
        if kind == "training"
        else without_collectives(kind, 64, seed=1, duration_s=SECONDS)
    )
    service = Service(two_tiers(HOSTS, RAILS))
    async with service.operator() as operator:
        await operator.post("/api/v1/jobs", json=JOB)
        for number in range(HOSTS):
            await service.site.register(("f1", f"h{number:03}"), [f"c{number}"])
        service.site.traffic.follow(service.now_ms)
        hosts = [f"h{host:03}" for host in made.host.tolist()]
        ips = [f"10.{r}.{h}.1" for h, r in zip(made.host.tolist(), made.rail.tolist(), strict=True)]
        for second in range(SECONDS):
            service.now_ms = T0_MS + second * 1000
            service.site.traffic.add(
                "f1", hosts, ips, np.full(64, service.now_ms * 1_000_000),
                made.tx[:, second].astype(np.int64), made.rx[:, second].astype(np.int64),
                service.now_ms,
            )  # fmt: skip
        assert await learn_next(service.site)
        assert not await learn_next(service.site)
        answer = await operator.get(WHERE)
    assert answer.status_code == 200
    (status,) = answer.json()["fabrics"]
    return service, status


async def test_what_was_inferred_is_published_and_a_job_that_is_forgotten_deletes_it() -> None:
    service, status = await trained("training")
    await service.site.skeletons.flush()
    place = topics.SKELETONS.name, "f1 job-a"
    found = skeleton.parse(service.topics.held[place])
    assert json.loads(skeleton.encode(found)) == status["inferred"]
    service.site.skeletons.add(of_forgotten_skeletons(["job-a"], ["f1", "f2"]))
    await service.site.skeletons.flush()
    assert place not in service.topics.held


async def test_a_skeleton_that_no_message_holds_is_published_without_its_pairs() -> None:
    whole = len(skeleton.encode(SKELETON))
    (message,) = of_skeleton(SKELETON, most_bytes=whole - 1)
    assert message.value is not None
    assert skeleton.parse(message.value) == msgspec.structs.replace(SKELETON, pairs=[])
    assert [*of_skeleton(SKELETON, most_bytes=whole // 2)] == []


async def test_the_answer_has_confidence_groups_and_pairs_and_the_lists_use_them() -> None:
    service, status = await trained("training")
    assert (status["fabric"], status["phase"], status["reason"]) == ("f1", "skeleton", "inferred")
    assert status["seconds"] == SECONDS
    found = status["inferred"]
    assert found["declined"] is None
    assert found["confidence"] > 0.5
    assert {each["cluster"] for each in found["rnics"]} == set(range(found["tp_pp"]))
    assert found["dp"] * found["tp_pp"] == HOSTS * RAILS
    listed = {
        tuple(sorted((target["src_ip"], target["ip"])))
        for number in range(HOSTS)
        for target in service.site.state.lists["f1"].document(f"h{number:03}")["targets"]
        if target["layer"] == "overlay"
    }
    assert len(listed) == len(found["pairs"])


async def test_what_is_declined_is_answered_with_the_reason() -> None:
    _, status = await trained("idle")
    assert status["phase"] == "activation"
    assert status["reason"] == status["inferred"]["declined"]
    assert status["inferred"]["pairs"] == []


async def test_before_the_first_inference_the_answer_says_what_it_waits_for() -> None:
    service = Service(two_tiers(HOSTS, RAILS))
    async with service.operator() as operator:
        await operator.post("/api/v1/jobs", json={**JOB, "skeleton": False})
        (opted_out,) = (await operator.get(WHERE)).json()["fabrics"]
        service.now_ms += 1000
        await operator.post("/api/v1/jobs", json=JOB)
        service.site.traffic.follow(service.now_ms)
        (waiting,) = (await operator.get(WHERE)).json()["fabrics"]
        unknown = await operator.get("/api/v1/jobs/none/skeleton")
    assert opted_out["waits"] == opted_out["reason"] == "the job has opted out"
    assert waiting["waits"] == "no throughput of its rnics has come"
    assert (waiting["seconds"], waiting["next_s"], waiting["inferred"]) == (0, 240, None)
    assert unknown.status_code == 404


@pytest.mark.parametrize("token", [None, "wrong", token_of("h000")])
async def test_only_operators_read_skeletons(token: str | None) -> None:
    service = Service(two_tiers(HOSTS, RAILS))
    async with service.client(token) as caller:
        assert (await caller.get(WHERE)).status_code == (401 if token is None else 403)
