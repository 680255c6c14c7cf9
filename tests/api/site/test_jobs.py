"""Jobs: where they run, who is slow, and whether it is the network."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import httpx
import msgspec
import pytest
from builders.api_service import Put
from builders.monitoring.path_windows import window
from builders.monitoring.small_site import SITE, put_placement, put_topology
from builders.schemas.incidents import INCIDENT, RESOLVED

from schemas.documents.times import rfc3339
from store.client import Store

PutWindows = Callable[..., None]
AFFECTED = msgspec.structs.replace(INCIDENT, jobs=["llm"])
DOWN = msgspec.structs.replace(
    AFFECTED, component="agent:h1", kind="agent", symptom="agent_down", tie_set=["agent:h1"]
)


@pytest.fixture
def placed(store: Store) -> None:
    put_placement(store, "c1", "h1", state="starting", valid_from="2026-01-31T10:00:00Z")
    put_placement(store, "c1", "h1")
    put_placement(store, "c2", "h2")


def asked(client: httpx.Client, job: str = "llm") -> dict[str, Any]:
    response = client.get(f"/api/v1/jobs/{job}")
    assert response.status_code == 200
    return dict(response.json())


def recent() -> int:
    return int(time.time()) // 30 * 30 - 60


@pytest.mark.usefixtures("placed")
def test_a_clean_job_says_that_the_network_is_innocent_and_why(
    client: httpx.Client, put_windows: PutWindows
) -> None:
    put_windows(window(recent(), 1), window(recent(), 2))
    found = asked(client)
    assert found["verdict"]["answer"] == "no"
    assert found["verdict"]["text"].startswith(
        "No, the network is innocent: no active incident; 0 % of 60 probes on 2 paths lost, median"
        " round trip 10 µs"
    )
    assert [(each["node_id"], each["state"]) for each in found["containers"]] == [
        ("c1", "ready"), ("c2", "ready"),
    ]  # fmt: skip


@pytest.mark.usefixtures("placed")
@pytest.mark.parametrize(
    ("incident", "answer", "text"),
    [
        (AFFECTED, "yes", "Yes: tor:asw-3-1 has loss since 12:00:00 UTC."),
        (DOWN, "no", "No: agent:h1 has agent down since 12:00:00 UTC, which is no fault of the"
         " network."),
    ],
)  # fmt: skip
def test_an_active_incident_decides(
    client: httpx.Client, put: Put, incident: Any, answer: str, text: str
) -> None:
    put(incident)
    assert asked(client)["verdict"] == {"answer": answer, "text": text}


@pytest.mark.usefixtures("placed")
def test_losses_that_no_incident_explains_leave_it_open(
    client: httpx.Client, put_windows: PutWindows
) -> None:
    put_windows(window(recent(), 1, lost=3))
    verdict = asked(client)["verdict"]
    assert verdict["answer"] == "unknown"
    assert "no incident names a culprit, but probes were lost: 10 % of 30" in verdict["text"]


@pytest.mark.usefixtures("placed")
def test_losses_of_an_incident_that_has_just_ended_are_its(
    client: httpx.Client, put: Put, put_windows: PutWindows
) -> None:
    put_windows(window(recent(), 1, lost=3))
    ended = rfc3339(recent() * 1_000_000_000)
    put(msgspec.structs.replace(RESOLVED, jobs=["llm"], closed_at=ended))
    verdict = asked(client)["verdict"]
    assert verdict["text"].startswith(f"Not now: tor:asw-3-1 had loss until {ended[11:19]} UTC;")


@pytest.mark.usefixtures("placed")
def test_without_probes_nothing_is_claimed(client: httpx.Client) -> None:
    found = asked(client)
    assert found["verdict"]["answer"] == "unknown"
    assert found["as_of"] is None


def test_the_slow_container_stands_first_with_its_factor(
    client: httpx.Client, store: Store, put_windows: PutWindows
) -> None:
    for number in (1, 2, 3, 4):
        put_placement(store, f"c{number}", f"h{number}")
    put_windows(*(
        window(recent(), 10 * src + dst, src_node_id=f"c{src}", dst_node_id=f"c{dst}",
               rtt_p50_us=40.0 if 3 in (src, dst) else 10.0)
        for src in (1, 2, 3, 4) for dst in (1, 2, 3, 4) if src != dst
    ))  # fmt: skip
    first = asked(client)["containers"][0]
    assert (first["node_id"], first["rtt_us"], first["slowness"]) == ("c3", 40.0, 4.0)


def test_jobs_of_placement_topology_and_incidents_are_listed_those_in_trouble_first(
    client: httpx.Client, store: Store, put: Put
) -> None:
    put_topology(store)
    put_placement(store, "c7", "h2", job="bert")
    put_placement(store, "c8", "h2", job="bert", state="gone")
    put(msgspec.structs.replace(INCIDENT, jobs=["lost"]))
    items = client.get("/api/v1/jobs").json()["items"]
    assert [(each["job"], each["ready"], each["containers"], each["active"]) for each in items] == [
        ("lost", 0, 0, {"P1": 1}), ("bert", 1, 1, {}), ("llm", 1, 1, {}),
    ]  # fmt: skip


def test_placement_outweighs_the_topology_document(client: httpx.Client, store: Store) -> None:
    put_topology(store, SITE)
    put_placement(store, "c1", "h2")
    (container,) = asked(client)["containers"]
    assert container["node_sn"] == "h2"


def test_the_name_of_a_job_may_contain_a_slash(client: httpx.Client, store: Store) -> None:
    put_placement(store, "c1", "h2", job="team-a/llm")
    assert asked(client, "team-a%2Fllm")["job"] == "team-a/llm"
    assert client.get("/jobs/team-a%2Fllm").status_code == 200


def test_an_unknown_job_is_a_404(client: httpx.Client) -> None:
    assert client.get("/api/v1/jobs/none").status_code == 404
