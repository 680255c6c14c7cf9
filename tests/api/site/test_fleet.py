"""Agents by their heartbeats: who is silent, starved, of which version, and whose clock is off."""

from __future__ import annotations

import time
from typing import Any

import httpx
import msgspec
from builders.api_service import Put
from builders.monitoring.small_site import beat, put_heartbeats, put_topology
from builders.schemas.incidents import INCIDENT

from store.client import Store

STARVED = msgspec.structs.replace(
    INCIDENT, incident_id="SSSS", component="agent:h2", kind="agent", symptom="agent_starved",
    tie_set=["agent:h2"],
)  # fmt: skip


def asked(client: httpx.Client, **parameters: Any) -> dict[str, Any]:
    response = client.get("/api/v1/fleet", params=parameters)
    assert response.status_code == 200
    return dict(response.json())


def test_the_heartbeats_of_a_minute_become_one_row_with_the_worst_of_it(
    client: httpx.Client, store: Store
) -> None:
    minute = time.time() // 60 * 60 - 60
    put_heartbeats(store, beat("h1", minute + 1, cpu_steal=0.5), beat("h1", minute + 31))
    store.execute("OPTIMIZE TABLE heartbeats FINAL")
    assert store.rows("SELECT count() AS n FROM heartbeats") == [{"n": 1}]
    (agent,) = asked(client)["agents"]
    assert (agent["cpu_steal"], agent["version"], agent["sent"]) == (0.5, "1.2", 100)
    assert agent["state"] == "active"


def test_an_agent_is_silent_when_others_go_on(client: httpx.Client, store: Store) -> None:
    now = time.time()
    put_heartbeats(store, beat("h1", now), beat("h2", now - 30), beat("h3", now - 5))
    found = asked(client)
    assert [(each["node_sn"], each["state"]) for each in found["agents"]] == [
        ("h2", "silent"), ("h1", "active"), ("h3", "active"),
    ]  # fmt: skip
    assert found["states"] == {"active": 2, "silent": 1}
    assert found["newest_age_s"] < 600


def test_an_incident_of_the_agent_is_its_state(
    client: httpx.Client, store: Store, put: Put
) -> None:
    put_heartbeats(store, beat("h1", time.time()), beat("h2", time.time()))
    put(STARVED)
    first, _ = asked(client)["agents"]
    assert (first["node_sn"], first["state"], first["incident_id"]) == (
        "h2",
        "agent_starved",
        "SSSS",
    )
    assert asked(client, state="agent_starved")["total"] == 1


def test_a_clock_is_off_against_those_of_the_others(client: httpx.Client, store: Store) -> None:
    now = time.time()
    put_heartbeats(store, beat("h1", now), beat("h2", now), behind_ms=20)
    put_heartbeats(store, beat("h3", now), behind_ms=9020)
    found = asked(client)
    assert {each["node_sn"]: each["clock_ms"] for each in found["agents"]} == {
        "h1": 0, "h2": 0, "h3": 9000,
    }  # fmt: skip
    assert found["arrival_s"] == 0.02


def test_hosts_of_the_topology_without_an_agent_are_named(
    client: httpx.Client, store: Store
) -> None:
    put_topology(store)
    put_heartbeats(store, beat("h1", time.time()))
    found = asked(client)
    assert (found["hosts"], found["silent_hosts"], found["silent_total"]) == (2, ["h2"], 1)


def test_agents_are_found_by_part_of_a_name_or_version(client: httpx.Client, store: Store) -> None:
    put_heartbeats(store, beat("gpu-1", time.time()), beat("gpu-2", time.time(), version="1.3"))
    assert [each["node_sn"] for each in asked(client, text="1.3")["agents"]] == ["gpu-2"]
    assert asked(client, limit=1)["total"] == 2


def test_without_heartbeats_nothing_is_claimed(client: httpx.Client) -> None:
    found = asked(client)
    assert (found["agents"], found["newest_age_s"], found["hosts"]) == ([], None, None)
