"""Probes on demand over HTTP: who may be asked what, the answers as they come, and the record."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import msgspec
import pytest
from builders.controller.clusters import two_tiers
from builders.controller.controller_service import Service, Topics
from builders.controller.task_events import HOSTS, box

from controller.service.requests.desk import RequestDesk
from schemas import topics
from schemas.documents.requests.evidence import Answer, Evidence, ProbeResult
from schemas.documents.requests.request import Request
from schemas.documents.times import rfc3339_of_ms

pytestmark = pytest.mark.anyio

TOPOLOGY = two_tiers(HOSTS)
HOST_NAMES = [host.node_sn for host in TOPOLOGY.hosts]


async def started(held: Topics | None = None) -> Service:
    """Two jobs, c0 and c1 of job-a, c2 of job-b; all agents have registered but that of h003."""
    service = Service(TOPOLOGY, held)
    async with service.operator() as operator:
        for job, numbers in (("job-a", (0, 1)), ("job-b", (2,))):
            boxes = [msgspec.to_builtins(box(f"c{number}", number, job)) for number in numbers]
            body = {"job": job, "fabric": "f1", "containers": boxes}
            assert (await operator.post("/api/v1/jobs", json=body)).status_code == 201
    for number in range(3):
        service.now_ms += 100
        async with service.agent(HOST_NAMES[number]) as agent:
            where = f"/api/v1/agents/{HOST_NAMES[number]}/register"
            await agent.post(where, json={"containers": [f"c{number}"]})
    return service


async def ask(service: Service, **body: Any) -> httpx.Response:
    async with service.operator() as operator:
        return await operator.post("/api/v1/probes", json=body)


async def asked(service: Service, node_sn: str = "h000", etag: str = "") -> httpx.Response:
    """What the agent of a host reads."""
    async with service.agent(node_sn) as agent:
        headers = {"If-None-Match": etag} if etag else {}
        return await agent.get(f"/api/v1/agents/{node_sn}/requests", headers=headers)


async def until_asked(service: Service, node_sn: str = "h000") -> Request:
    while not service.desk.requests(("f1", node_sn)):  # noqa: ASYNC110 — no event of the product
        await asyncio.sleep(0)
    return service.desk.requests(("f1", node_sn))[0]


def evidence(request: Request, number: int, state: str = "running", **more: Any) -> Evidence:
    return msgspec.convert(
        {
            "request_id": request.request_id, "kind": request.kind, "node_sn": request.node_sn,
            "fabric": request.fabric, "number": number, "time": request.asked_at, "state": state,
            **more,
        },
        Evidence,
    )  # fmt: skip


def probe(rtt_us: float | None) -> ProbeResult:
    dial = "timeout" if rtt_us is None else "success"
    return ProbeResult("10.0.0.1", 50_000, "10.0.1.1", 1, "2026-01-01T00:00:00Z", dial, rtt_us)


def lines(answer: httpx.Response) -> list[dict[str, Any]]:
    return [json.loads(line) for line in answer.text.splitlines() if line]


async def test_an_operators_probe_reaches_one_agent_and_its_answers_come_as_lines() -> None:
    service = await started()
    answering = asyncio.create_task(ask(service, source="h000", target="h001", count=2))
    request = await until_asked(service)
    assert [(each.src_ip, each.ip) for each in request.targets] == [
        ("10.0.0.1", "10.0.1.1"), ("10.1.0.1", "10.1.1.1"),
    ]  # fmt: skip
    assert (request.operator, request.count) == ("operator-a", 2)
    read = (await asked(service)).json()["requests"]
    assert msgspec.convert(read, list[Request]) == [request]
    assert (await asked(service, "h001")).json() == {"requests": []}
    stored = service.topics.held[topics.REQUESTS.name, request.request_id]
    assert msgspec.json.decode(stored, type=Request) == request
    service.desk.take(Answer(evidence(request, 1, sent=1, answered=1, probes=[probe(12.5)])))
    service.desk.take(Answer(evidence(request, 1, sent=1, answered=1, probes=[probe(99.0)])))
    service.desk.take(
        Answer(evidence(request, 2, "complete", sent=2, answered=1, probes=[probe(None)]))
    )
    found = lines(await answering)
    assert [*map(list, found)] == [["request"], ["probe"], ["probe"], ["end"]]
    assert [each["probe"]["rtt_us"] for each in found[1:3]] == [12.5, None]
    assert found[-1]["end"] == {
        "state": "complete", "reason": "", "sent": 2, "answered": 1, "left_out": 0,
    }  # fmt: skip
    assert service.desk.open.counts == {"asked": 1, "complete": 1, "repeated": 1}
    assert (await asked(service)).json() == {"requests": []}


@pytest.mark.parametrize(
    ("body", "status", "reason"),
    [
        ({"source": "h000", "target": "h009"}, 404, "no host, container or rnic 'h009'"),
        ({"source": "h000", "target": "192.0.2.1"}, 404, "'192.0.2.1'"),
        ({"source": "h000", "target": "h001", "fabric": "f2"}, 404, "no topology of fabric 'f2'"),
        ({"source": "h000", "target": "h003"}, 409, "the agent of host h003 has not registered"),
        ({"source": "c0", "target": "c2"}, 409, "are not of the same job"),
        ({"source": "c0", "target": "h001"}, 409, "name two of the same"),
        ({"source": "c0", "target": "c1", "traceroute": True}, 409, "inside the overlay"),
        ({"source": "10.0.0.1", "target": "10.0.0.1"}, 409, "the same endpoint"),
        ({"source": "h000", "target": "h001", "count": 0}, 422, "count 0"),
        ({"source": "h000", "target": "h001", "count": 1000}, 422, "a request may last 900 s"),
        ({"source": "h000", "target": "h001", "ports": 65}, 422, "not between 1 and 64"),
        ({"source": "h000", "target": "h001", "cuont": 1}, 422, "did you mean 'count'"),
        ({"source": "h000", "target": "h001", "interval_s": 0.05, "count": 5, "ports": 2}, 429,
         "lengthen the interval"),
    ],
)  # fmt: skip
async def test_what_may_not_be_asked_is_refused_with_one_line(
    body: dict[str, Any], status: int, reason: str
) -> None:
    service = await started()
    answer = await ask(service, **body)
    assert (answer.status_code, reason in answer.json()["detail"]) == (status, True), answer.text
    assert len(service.desk.open) == 0
    assert not [key for key in service.topics.held if key[0] == topics.REQUESTS.name]


async def test_traceroutes_are_spread_so_that_the_hosts_rate_holds() -> None:
    service = await started()
    answering = asyncio.create_task(
        ask(service, source="h000", target="h001", ports=60, traceroute=True)
    )
    request = await until_asked(service)
    assert (request.kind, request.count, request.five_tuples) == ("traceroute", 1, 120)
    assert request.rate <= service.desk.parameters.host_rate / 2
    answering.cancel()
    await asyncio.gather(answering, return_exceptions=True)


async def test_requests_are_read_by_their_own_host_and_asked_by_operators_only() -> None:
    service = await started()
    async with service.agent("h001") as agent:
        assert (await agent.get("/api/v1/agents/h000/requests")).status_code == 403
        body = {"source": "h000", "target": "h001"}
        assert (await agent.post("/api/v1/probes", json=body)).status_code == 403


async def test_an_agent_that_does_not_answer_ends_the_stream_when_the_request_expires() -> None:
    service = await started()
    answering = asyncio.create_task(ask(service, source="c0", target="c1", count=1))
    await until_asked(service)
    service.now_ms += 60_000
    service.desk.expire()
    end = lines(await answering)[-1]["end"]
    assert end["state"] == "expired"
    assert "host h000 has not answered" in end["reason"]
    assert (await asked(service)).json() == {"requests": []}


async def test_a_request_whose_caller_has_gone_is_withdrawn() -> None:
    service = await started()
    answering = asyncio.create_task(ask(service, source="h000", target="h001"))
    request = await until_asked(service)
    etag = (await asked(service)).headers["etag"]
    answering.cancel()
    await asyncio.gather(answering, return_exceptions=True)
    while len(service.desk.open):  # noqa: ASYNC110 — the product has no event for it
        await asyncio.sleep(0)
    changed = await asked(service, etag=etag)
    assert (changed.status_code, changed.json()) == (200, {"requests": []})
    await service.site.flush()
    stored = service.topics.held[topics.REQUESTS.name, request.request_id]
    assert "gone" in msgspec.json.decode(stored, type=Request).withdrawn


async def test_an_agent_that_waits_is_answered_when_it_is_asked() -> None:
    service = await started()
    etag = (await asked(service)).headers["etag"]
    assert (await asked(service, etag=etag)).status_code == 304

    async def wait() -> httpx.Response:
        async with service.agent("h000") as agent:
            return await agent.get(
                "/api/v1/agents/h000/requests?wait_s=50", headers={"If-None-Match": etag}
            )

    waits = asyncio.create_task(wait())
    while not len(service.desk.waiting):  # noqa: ASYNC110 — as above
        await asyncio.sleep(0)
    answering = asyncio.create_task(ask(service, source="h000", target="h001"))
    assert len((await asyncio.wait_for(waits, 20)).json()["requests"]) == 1
    answering.cancel()
    await asyncio.gather(answering, return_exceptions=True)


async def test_without_a_broker_no_agent_is_asked() -> None:
    service = await started()
    service.topics.down = True
    answer = await ask(service, source="h000", target="h001")
    assert answer.status_code == 503
    assert (await asked(service)).json() == {"requests": []}


async def test_where_answers_are_not_read_no_probe_is_made_on_demand() -> None:
    service = await started()
    service.desk.unread = "their senders need not sign"
    answer = await ask(service, source="h000", target="h001")
    assert (answer.status_code, "need not sign" in answer.text) == (503, True)


async def test_an_agent_in_a_container_answers_for_its_own_endpoints_only() -> None:
    service = await started()
    answering = asyncio.create_task(ask(service, source="c0", target="c1", count=1))
    request = await until_asked(service)
    last = evidence(request, 1, "complete", sent=1, answered=1, probes=[probe(12.5)])
    service.desk.take(Answer(last, "c1"))
    service.desk.take(Answer(msgspec.structs.replace(last, fabric="f9"), "c0"))
    assert service.desk.open.counts == {"asked": 1, "unknown": 2}
    service.desk.take(Answer(last, "c0"))
    assert lines(await answering)[-1]["end"]["state"] == "complete"


async def test_what_a_host_is_asked_about_itself_no_container_answers() -> None:
    service = await started()
    known = Request(
        request_id="r1", kind="counters", node_sn="h000", fabric="f1", reason="a test",
        incident_id="I1", asked_at=rfc3339_of_ms(service.now_ms),
        expires=rfc3339_of_ms(service.now_ms + 60_000),
    )  # fmt: skip
    await service.desk.ask([known])
    service.desk.take(Answer(evidence(known, 1, "complete"), "c0"))
    assert known.request_id in service.desk.open


async def test_a_controller_that_starts_goes_on_with_what_holds_of_incidents() -> None:
    service = await started()
    now = service.now_ms

    def made(name: str, *, lasts_s: int = 60, **more: Any) -> Request:
        fields = {"operator": "", "incident_id": "I1", "withdrawn": ""} | more
        return Request(
            request_id=name, kind="counters", node_sn="h000", fabric="f1", reason="a test",
            asked_at=rfc3339_of_ms(now - 60_000), expires=rfc3339_of_ms(now - 60_000 + 1000 *
            lasts_s), **fields,
        )  # fmt: skip

    holds, done = made("holds", lasts_s=120), made("done", lasts_s=120)
    over, ended = made("over"), made("ended", lasts_s=120)
    demanded = made("demanded", lasts_s=120, operator="me", incident_id="")
    desk = RequestDesk(service.site)
    restored = desk.restore([
        holds, done, over, ended, demanded, Answer(evidence(done, 1, "complete")),
        msgspec.structs.replace(ended, withdrawn="the incident has ended"),
    ])  # fmt: skip
    assert [each.request_id for each in desk.requests(("f1", "h000"))] == ["holds"]
    assert len(restored) == 5
