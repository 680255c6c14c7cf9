"""Agents over HTTP: own list only, woken by its changes only, never an endpoint that is not
ready."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import msgspec
import pytest
from builders.controller.clusters import two_tiers
from builders.controller.controller_service import OPERATOR, Service, probed, run, token_of
from builders.controller.task_events import HOSTS, box, events
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.tasks.events import AnyEvent, Box

pytestmark = pytest.mark.anyio

TOPOLOGY = two_tiers(HOSTS)
HOST_NAMES = [host.node_sn for host in TOPOLOGY.hosts]
JOB = {
    "job": "job-a", "fabric": "f1", "size": HOSTS,
    "containers": msgspec.to_builtins([box(f"c{number}", number) for number in range(HOSTS)]),
}  # fmt: skip


async def register(service: Service, number: int, *containers: str) -> dict[str, Any]:
    async with service.agent(HOST_NAMES[number]) as agent:
        answer = await agent.post(
            f"/api/v1/agents/{HOST_NAMES[number]}/register", json={"containers": containers}
        )
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def read(service: Service, number: int, etag: str = "", **query: Any) -> httpx.Response:
    async with service.agent(HOST_NAMES[number]) as agent:
        headers = {"If-None-Match": etag} if etag else {}
        where = f"/api/v1/agents/{HOST_NAMES[number]}/ping-list"
        return await agent.get(where, params=query, headers=headers)


async def submit(service: Service) -> None:
    async with service.operator() as operator:
        assert (await operator.post("/api/v1/jobs", json=JOB)).status_code == 201


async def started(service: Service) -> None:
    """A job whose containers are all ready."""
    await submit(service)
    for number in range(HOSTS):
        service.now_ms += 100
        await register(service, number, f"c{number}")


async def until_waiting(service: Service, count: int) -> None:
    while len(service.site.waiting) != count:  # noqa: ASYNC110 — the product has no event for it
        await asyncio.sleep(0)


@pytest.mark.parametrize(
    ("token", "status"),
    [
        (None, 401),
        ("wrong", 403),
        (token_of("h001"), 403),
        (OPERATOR, 403),
        (token_of("h000"), 200),
    ],
)
async def test_a_list_is_read_with_the_token_of_its_own_host_only(
    token: str | None, status: int
) -> None:
    service = Service(TOPOLOGY)
    async with service.client(token) as caller:
        assert (await caller.get("/api/v1/agents/h000/ping-list")).status_code == status
        assert (await caller.post("/api/v1/agents/h000/register")).status_code == status
    assert service.site.refused.total() == (0 if status == 200 else 2)


async def test_nothing_is_answered_before_the_state_is_restored() -> None:
    service = Service(TOPOLOGY, restored=False)
    async with service.agent("h000") as agent:
        answer = await agent.get("/api/v1/agents/h000/ping-list")
    assert answer.status_code == 503
    assert "being read" in answer.json()["detail"]
    assert service.site.not_ready() is not None


async def test_a_pair_is_listed_once_both_ends_have_registered_and_not_after_one_drains() -> None:
    service = Service(TOPOLOGY)
    await submit(service)
    assert probed((await read(service, 0)).json()) == set()
    await register(service, 0, "c0")
    assert probed((await read(service, 0)).json()) == set()
    await register(service, 1, "c1")
    both = {("172.16.0.1", "172.16.1.1"), ("172.17.0.1", "172.17.1.1")}
    assert probed((await read(service, 0)).json()) == both
    service.now_ms += 1000
    assert (await register(service, 1))["ready"] == []
    assert probed((await read(service, 0)).json()) == set()
    service.now_ms += 1000
    await register(service, 1, "c1")
    assert probed((await read(service, 0)).json()) == both, "it has come back"


async def test_an_agent_registers_only_what_is_placed_on_its_host() -> None:
    service = Service(TOPOLOGY)
    await submit(service)
    found = await register(service, 0, "c0", "c1", "c9")
    assert (found["ready"], found["unknown"]) == (["c0"], ["c1", "c9"])
    assert service.site.state.tasks.placements["c1"].state == "starting"


async def test_a_registration_that_is_repeated_publishes_nothing() -> None:
    service = Service(TOPOLOGY)
    await started(service)
    sent = service.topics.sent
    service.now_ms += 30_000
    assert (await register(service, 0, "c0"))["ready"] == ["c0"]
    assert service.topics.sent == sent


async def test_a_registration_without_containers_says_nothing_about_them() -> None:
    service = Service(TOPOLOGY)
    await started(service)
    async with service.agent("h000") as agent:
        answer = await agent.post("/api/v1/agents/h000/register")
    assert answer.json()["ready"] == ["c0"]


async def test_an_operators_drain_is_not_undone_by_the_agents_next_registration() -> None:
    service = Service(TOPOLOGY)
    await started(service)
    service.now_ms += 1000
    drain = {
        "event": "container_draining", "time_ms": service.now_ms, "source": "rest", "node_id": "c1",
    }  # fmt: skip
    async with service.operator() as operator:
        assert (await operator.post("/api/v1/events", json=drain)).status_code == 200
    for _ in range(2):
        service.now_ms += 30_000
        assert (await register(service, 1, "c1"))["ready"] == []
    assert not any("172.16.1.1" in pair for pair in probed((await read(service, 0)).json()))


async def test_an_agent_that_withdraws_is_not_probed() -> None:
    service = Service(TOPOLOGY)
    await started(service)
    service.now_ms += 1000
    async with service.agent("h001") as agent:
        assert (await agent.delete("/api/v1/agents/h001/register")).status_code == 204
    document = (await read(service, 0)).json()
    assert document["targets"]
    assert "h001" not in {each["node_sn"] for each in document["targets"]}


async def test_an_unchanged_list_is_not_sent_again() -> None:
    service = Service(TOPOLOGY)
    await started(service)
    etag = (await read(service, 0)).headers["etag"]
    again = await read(service, 0, etag)
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", etag)


async def test_a_request_that_waits_is_answered_when_the_list_changes() -> None:
    service = Service(TOPOLOGY)
    await submit(service)
    await register(service, 0, "c0")
    etag = (await read(service, 0)).headers["etag"]
    waits = asyncio.create_task(read(service, 0, etag, wait_s=50))
    await until_waiting(service, 1)
    await register(service, 1, "c1")
    answer = await asyncio.wait_for(waits, 20)
    assert answer.status_code == 200
    assert probed(answer.json())


async def test_only_agents_whose_lists_have_changed_are_woken() -> None:
    service = Service(two_tiers(8, hosts_per_tor=2))
    hosts = [f"h{number:03}" for number in range(8)]
    woken: list[str] = []

    async def wait_for(node_sn: str) -> None:
        host = ("f1", node_sn)
        if await service.site.waiting.changed(host, 50):
            woken.append(node_sn)

    async with asyncio.TaskGroup() as group:
        for node_sn in hosts:
            group.create_task(wait_for(node_sn))
        await until_waiting(service, 8)
        notified = service.site.state.agent("f1", "h000", ready=True).notified
        service.site.waiting.wake(notified)
        while len(woken) < len(notified):  # noqa: ASYNC110 — as above
            await asyncio.sleep(0)
        assert {("f1", node_sn) for node_sn in woken} == notified != set()
        assert len(service.site.waiting) == 8 - len(notified) > 0
        service.site.waiting.close()


async def test_requests_that_wait_are_answered_when_the_service_ends() -> None:
    service = Service(TOPOLOGY)
    etag = (await read(service, 0)).headers["etag"]
    waits = asyncio.create_task(read(service, 0, etag, wait_s=50))
    await until_waiting(service, 1)
    service.site.waiting.close()
    assert (await asyncio.wait_for(waits, 20)).status_code == 304


async def test_a_delta_applied_to_the_old_list_is_the_new_list() -> None:
    service = Service(TOPOLOGY)
    await submit(service)
    for number in range(3):
        await register(service, number, f"c{number}")
    old = await read(service, 0)
    service.now_ms += 1000
    await register(service, 1)
    await register(service, 3, "c3")
    change = (await read(service, 0, old.headers["etag"], delta="true")).json()
    targets = {(each["src_ip"], each["ip"]): each for each in old.json()["targets"]}
    for pair in change["removed"]:
        targets.pop(tuple(pair), None)
    targets |= {(each["src_ip"], each["ip"]): each for each in change["added"]}
    new = (await read(service, 0)).json()
    assert change["removed"]
    assert change["added"]
    assert targets == {(each["src_ip"], each["ip"]): each for each in new["targets"]}
    assert change["endpoints"] == new["endpoints"]
    assert f'"{change["etag"]}"' == (await read(service, 0)).headers["etag"]


async def test_a_stream_sends_the_list_then_each_change_and_ends_with_the_service() -> None:
    service = Service(TOPOLOGY)
    await submit(service)
    await register(service, 0, "c0")
    async with service.agent("h000") as agent:
        stream = asyncio.create_task(agent.get("/api/v1/agents/h000/ping-list/events"))
        await until_waiting(service, 1)
        await register(service, 1, "c1")
        await until_waiting(service, 0)
        await until_waiting(service, 1)
        service.site.waiting.close()
        answer = await asyncio.wait_for(stream, 20)
    assert answer.headers["content-type"].startswith("text/event-stream")
    whole, change = answer.text.strip().split("\n\n")
    assert whole.startswith("event: list\nid: ")
    assert change.startswith("event: delta\nid: ")
    assert probed(msgspec.json.decode(whole.partition("data: ")[2])) == set()
    added = msgspec.json.decode(change.partition("data: ")[2])["added"]
    assert ("172.16.0.1", "172.16.1.1") in {(each["src_ip"], each["ip"]) for each in added}


async def test_a_host_of_no_topology_learns_so() -> None:
    service = Service(TOPOLOGY)
    service.site.state.lists.clear()
    answer = await read(service, 0)
    assert answer.status_code == 404
    assert "no published topology" in answer.json()["detail"]


@settings(deadline=None, max_examples=50)
@given(
    st.lists(
        st.one_of(
            events(),
            st.tuples(
                st.integers(0, HOSTS - 1), st.sets(st.sampled_from(["c0", "c1", "c2", "c3"]))
            ),
        ),
        max_size=12,
    )
)
def test_no_list_over_http_shows_an_endpoint_that_is_not_ready(
    happened: list[AnyEvent | tuple[int, set[str]]],
) -> None:
    async def story() -> None:
        service = Service(TOPOLOGY)
        for each in happened:
            service.now_ms += 1000
            if isinstance(each, tuple):
                await register(service, each[0], *each[1])
            elif each.source != "agent":
                async with service.operator() as operator:
                    await operator.post("/api/v1/events", content=msgspec.json.encode(each))
            boxes = service.site.state.tasks.placements.values()
            ready = {end.ip for box in boxes if box.state == "ready" for end in box.endpoints}
            for number in range(HOSTS):
                document = (await read(service, number)).json()
                assert {ip for pair in probed(document) for ip in pair} <= ready

    run(story)


def test_boxes_of_the_job_are_on_the_hosts_of_the_topology() -> None:
    boxes = msgspec.convert(JOB["containers"], list[Box])
    assert [each.node_sn for each in boxes] == HOST_NAMES


async def test_a_controller_that_leads_no_longer_gives_no_lists() -> None:
    service = Service(two_tiers(HOSTS))
    async with service.agent("h000") as agent:
        assert (await agent.get("/api/v1/agents/h000/ping-list")).status_code == 200
        service.site.leads = False
        refused = await agent.get("/api/v1/agents/h000/ping-list")
    assert refused.status_code == 503
    assert "this controller does not lead" in refused.json()["detail"]
