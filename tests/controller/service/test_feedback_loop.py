"""The feedback loop of a running site: what is asked for an incident, and how it ends."""

from __future__ import annotations

import msgspec
import pytest
from builders.controller.controller_service import Service
from builders.controller.incident_grounds import incident, pods

from controller.feedback.parameters import FeedbackParameters
from controller.ping_lists.parameters import FIRST_PORT, RESPONDER_PORT
from controller.service.requests.loop import FeedbackLoop
from schemas import topics
from schemas.documents.incident import Anomaly
from schemas.documents.requests.evidence import Answer, Evidence
from schemas.documents.requests.request import Request
from schemas.documents.times import rfc3339_of_ms
from schemas.metrics import controller as metrics

pytestmark = pytest.mark.anyio

TOPOLOGY = pods(3)
HOSTS = [host.node_sn for host in TOPOLOGY.hosts]
TIED = incident("tor:tor-0-0", "link:agg:agg-0-0|tor:tor-0-0")


async def started() -> tuple[Service, FeedbackLoop]:
    """All agents have registered."""
    service = Service(TOPOLOGY)
    for node_sn in HOSTS:
        service.site.state.agent("f1", node_sn, ready=True)
    return service, FeedbackLoop(service.site, service.desk)


def stored(service: Service) -> list[Request]:
    held = service.topics.held.items()
    raw = [value for (topic, _), value in held if topic == topics.REQUESTS.name]
    return [msgspec.json.decode(value, type=Request) for value in raw]


async def test_an_open_incident_makes_requests_that_agents_read_and_the_topic_records() -> None:
    service, loop = await started()
    service.site.advice.take(TIED)
    await loop.look()
    asked = [request for node in HOSTS for request in service.desk.requests(("f1", node))]
    assert {each.kind for each in asked} == {"probe", "traceroute"}
    assert {each.incident_id for each in asked} == {TIED.incident_id}
    assert sorted(each.request_id for each in stored(service)) == sorted(
        each.request_id for each in asked
    )
    await loop.look()
    assert len(service.desk.open) == len(asked), "a round is asked once"


async def test_the_requests_of_an_incident_that_ends_are_withdrawn_and_that_is_recorded() -> None:
    service, loop = await started()
    service.site.advice.take(TIED)
    await loop.look()
    ended = msgspec.structs.replace(TIED, state="resolved", version=2)
    service.site.advice.take(ended)
    await loop.look()
    assert len(service.desk.open) == 0
    await service.site.flush()
    assert {each.withdrawn for each in stored(service)} == {"the incident has ended"}
    counts = service.desk.open.counts
    assert counts["asked"] == counts["withdrawn"] == len(stored(service))


async def test_a_restarted_controller_asks_no_round_twice() -> None:
    service, loop = await started()
    service.site.advice.take(TIED)
    await loop.look()
    before = len(service.desk.open)
    again = Service(TOPOLOGY, service.topics)
    again.site.advice.take(TIED)
    for node_sn in HOSTS:
        again.site.state.agent("f1", node_sn, ready=True)
    second = FeedbackLoop(again.site, again.desk)
    documents: list[Request | Evidence] = [*stored(service)]
    second.restore(again.desk.restore(documents))
    await second.look()
    assert len(again.desk.open) == before


async def test_it_ends_by_itself_after_some_rounds_even_if_the_incident_stays_open() -> None:
    service, loop = await started()
    service.site.advice.take(TIED)
    known = FeedbackParameters()
    for _ in range(4 * known.rounds):
        await loop.look()
        service.now_ms += round(1000 * (known.lasts_s + known.settle_s))
        service.desk.expire()
    assert len(service.desk.open) == 0
    assert len({each.asked_at for each in stored(service)}) == known.rounds


async def test_operators_read_what_agents_answered_about_an_incident() -> None:
    service, loop = await started()
    service.site.advice.take(TIED)
    where = f"/api/v1/incidents/{TIED.incident_id}/evidence"
    async with service.operator() as operator:
        assert (await operator.get(where)).json()["evidence"] == []
        await loop.look()
        request = next(each for each in service.desk.open if each.kind == "traceroute")
        for number, state, reason in ((1, "running", ""), (2, "refused", "no list")):
            answer = Evidence(
                request_id=request.request_id, kind=request.kind, node_sn=request.node_sn,
                fabric="f1", number=number, time=request.asked_at, reason=reason,
                state=state,  # type: ignore[arg-type]
            )  # fmt: skip
            service.desk.take(Answer(answer))
        found = (await operator.get(where)).json()
        assert [each["reason"] for each in found["evidence"]] == ["no list"]
        assert len(found["open"]) == len(service.desk.open) > 0
        assert (await operator.get("/api/v1/incidents/unknown/evidence")).status_code == 404
    async with service.agent(HOSTS[0]) as agent:
        assert (await agent.get(where)).status_code == 403


async def test_after_a_start_a_round_waits_until_most_agents_have_registered() -> None:
    service = Service(TOPOLOGY)
    loop = FeedbackLoop(service.site, service.desk)
    service.site.advice.take(TIED)
    for node_sn in HOSTS[:3]:
        service.site.state.agent("f1", node_sn, ready=True)
    await loop.look()
    assert stored(service) == []
    for node_sn in HOSTS:
        service.site.state.agent("f1", node_sn, ready=True)
    await loop.look()
    assert stored(service)


async def test_an_incident_of_a_fabric_without_a_topology_asks_nothing() -> None:
    service, loop = await started()
    service.site.advice.take(msgspec.structs.replace(TIED, fabric="f9"))
    await loop.look()
    assert stored(service) == []


async def test_suspect_paths_are_looked_at_more_closely_without_an_incident() -> None:
    service, loop = await started()
    lists = service.site.state.lists["f1"]
    (a, b), _ = sorted(lists.entries(HOSTS[0]).items())[0]
    known = lists.member(b)
    assert known is not None
    time = rfc3339_of_ms(service.now_ms)
    loop.suspects.take(
        Anomaly(
            fabric="f1", path_id="0" * 16, layer="underlay", symptom="loss", src_node_sn=HOSTS[0],
            src_real_ip=a, src_ip=a, dst_node_sn=known[0].node_sn, dst_real_ip=b, dst_ip=b,
            src_port=FIRST_PORT, dst_port=RESPONDER_PORT, window_start=time, window_end=time,
            sent=30, lost=3, loss_rate=0.1,
        ),
        service.now_ms,
    )  # fmt: skip
    await loop.look()
    asked = [each for node in HOSTS for each in service.desk.requests(("f1", node))]
    assert sorted(each.kind for each in asked) == ["probe", "traceroute", "traceroute"]
    assert len(stored(service)) == 3
    await loop.look()
    assert len(service.desk.open) == 3
    named = [each for each in service.desk.samples() if each.metric is metrics.CONTROLLER_SUSPECTS]
    assert {each.labels[0]: each.value for each in named}["asked"] == 1
    service.now_ms += 300_000
    service.desk.expire()
    await loop.look()
    assert len(service.desk.open) == 0, "it ends by itself"
