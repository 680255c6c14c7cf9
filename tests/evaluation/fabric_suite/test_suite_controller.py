"""The suite's controller asks agents about incidents as the service does, and awaits them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import msgspec
import pytest

from controller.ping_lists.same_rail import ready_containers, same_rail_lists
from controller.service import tokens
from evaluation.fabric_suite.controller import SuiteController
from schemas.documents.incident import Incident
from schemas.documents.requests.evidence import Answer, Evidence, State
from testbed.netns import Plan
from testbed.netns.plan.document import topology as topology_of

PLAN = Plan(hosts=2, nics=1, hosts_per_tor=1, spines=1, containers=1, tenants=1)
HOST, RNIC = "host-0", PLAN.nic_address(0, 0)
TIE = [f"rnic:{RNIC}", f"link:rnic:{RNIC}|tor:tor-0"]
INCIDENT = Incident(
    incident_id="i1", version=1, state="open", fabric=PLAN.fabric, component=TIE[0], kind="rnic",
    layer="underlay", symptom="unconnectivity", issue_type=None, direction="both",
    opened_at="2026-01-01T00:00:05Z", detected_at="2026-01-01T00:00:08Z",
    updated_at="2026-01-01T00:00:08Z", closed_at=None, severity="P1", confidence=0.9,
    p_value=1e-9, tie_set=TIE, parent=None, paths_bad=1, paths_total=2,
)  # fmt: skip
HANG_S = 120.0


@pytest.fixture
def controller() -> Iterator[SuiteController]:
    topology = topology_of(PLAN)
    known = tokens.parse(tokens.agent_line((PLAN.fabric, HOST), "secret"))
    lists = same_rail_lists(topology, ports_per_pair=2)
    with SuiteController(topology, lists, ready_containers(topology), known) as made:
        yield made


@pytest.fixture
def agent(controller: SuiteController) -> Iterator[httpx.Client]:
    """The agent of a host, as far as HTTP goes."""
    url = f"http://127.0.0.1:{controller.port}/api/v1/agents/{HOST}/"
    headers = {"Authorization": "Bearer secret"}
    with httpx.Client(base_url=url, headers=headers, timeout=HANG_S) as client:
        yield client


def wait(reached: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + HANG_S
    while not (found := reached()):
        assert time.monotonic() < deadline
        time.sleep(0.05)  # between two looks
    return found


def answer(request: dict[str, Any], number: int, state: State) -> Answer:
    return Answer(Evidence(
        request_id=request["request_id"], kind=request["kind"], node_sn=HOST, fabric=PLAN.fabric,
        incident_id="i1", number=number, time="2026-01-01T00:00:09Z", state=state,
    ))  # fmt: skip


def test_agents_get_the_lists_that_the_suite_plays_with(agent: httpx.Client) -> None:
    assert agent.post("register", json={"containers": None}).json()["known"]
    listed = agent.get("ping-list").json()
    assert {each["layer"] for each in listed["targets"]} == {"underlay", "overlay"}
    assert {len(each["src_ports"]) for each in listed["targets"]} == {2}


def test_a_host_is_asked_for_counters_and_awaited_until_its_last_word(
    controller: SuiteController, agent: httpx.Client
) -> None:
    assert not controller.awaits_facts()
    controller.follow([INCIDENT], [])
    asked = wait(lambda: agent.get("requests").json()["requests"])
    (counters,) = (each for each in asked if each["kind"] == "counters")
    assert counters["incident_id"] == "i1"
    assert controller.awaits_facts()
    controller.follow([], [answer(counters, 1, "running")])
    controller.follow([], [answer(counters, 2, "complete")])
    wait(lambda: not controller.awaits_facts())


def test_a_host_is_not_awaited_when_its_incident_has_ended(
    controller: SuiteController, agent: httpx.Client
) -> None:
    controller.follow([INCIDENT], [])
    wait(controller.awaits_facts)
    resolved = msgspec.structs.replace(INCIDENT, version=2, state="resolved")
    controller.follow([resolved], [])
    wait(lambda: not controller.awaits_facts())
    assert agent.get("requests").json()["requests"] == []
