"""The skeleton of a job: positions of its rnics, and the probes between them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import httpx
import msgspec
import pytest
from builders.api_service import Put
from builders.monitoring.path_windows import window
from builders.monitoring.small_site import SKELETON, encoded, put_placement, put_skeleton
from builders.schemas.incidents import INCIDENT

from schemas.documents.tasks.job import Job, Submission
from schemas.documents.topology import Endpoint
from store.client import Store
from streams.sink import job_rows

PutWindows = Callable[..., None]
A, B, C = "10.0.0.1", "10.0.1.2", "10.0.0.3"


@pytest.fixture
def placed(store: Store) -> None:
    put_placement(store, "c1", "h1", endpoints=[Endpoint("172.16.0.1", A)])
    put_placement(store, "c2", "h2", endpoints=[Endpoint("172.16.0.2", B)])


def asked(client: httpx.Client, job: str = "llm") -> dict[str, Any]:
    response = client.get(f"/api/v1/jobs/{job}/skeleton")
    assert response.status_code == 200
    return dict(response.json())


def recent() -> int:
    return int(time.time()) // 30 * 30 - 60


@pytest.mark.usefixtures("placed")
def test_positions_pairs_and_probes_of_a_job(
    client: httpx.Client, store: Store, put_windows: PutWindows
) -> None:
    put_skeleton(store)
    back = {"src_real_ip": B, "dst_real_ip": A, "src_node_id": "c2", "dst_node_id": "c1"}
    put_windows(window(recent(), 1), window(recent(), 2, lost=6, rtt_p50_us=30.0, **back))
    (found,) = asked(client)["fabrics"]
    assert (found["fabric"], found["state"], found["stages"]) == ("f1", "used", 2)
    assert found["text"] == (
        "2 pipeline stages, 2 DP groups of 1 rnics each, rounds of 20 s; confidence 0.90, by"
        " throughput until 11:04:00 UTC."
    )
    assert [(each[:5], each[7:9]) for each in found["rnics"]] == [
        ([A, "h1", "c1", 0, 0], [60, 6]), ([B, "h2", "c2", 1, 1], [60, 6]),
    ]  # fmt: skip
    assert found["links"] == [[0, 1, True, 60, 6, 20.0]], "both directions are one pair"
    assert (found["pairs"], found["probed"], found["links_total"]) == (1, 1, 1)


@pytest.mark.usefixtures("placed")
def test_the_newest_inference_holds(client: httpx.Client, store: Store) -> None:
    later = {"start": "2026-01-31T12:00:00Z", "end": "2026-01-31T12:04:00Z"}
    put_skeleton(store, msgspec.structs.replace(SKELETON, **later, declined="no rhythm"))
    put_skeleton(store)
    (found,) = asked(client)["fabrics"]
    assert found["state"] == "declined"
    assert found["text"] == "No skeleton: the inference at 12:04:00 UTC was declined: no rhythm."
    assert [each[3:5] for each in found["rnics"]] == [[-1, -1]] * 2, "it must not be used"


@pytest.mark.usefixtures("placed")
def test_without_a_skeleton_the_probes_are_there_and_the_reason(
    client: httpx.Client, put_windows: PutWindows
) -> None:
    put_windows(window(recent(), 1))
    (found,) = asked(client)["fabrics"]
    assert (found["state"], found["pairs"], found["confidence"]) == ("none", None, None)
    assert "none was inferred" in found["text"]
    assert found["links"] == [[0, 1, False, 30, 0, 10.0]]


@pytest.mark.usefixtures("placed")
def test_a_job_that_opted_out_says_so(client: httpx.Client, store: Store) -> None:
    submitted = Submission(
        source="rest", valid_from="2026-01-31T11:00:00Z", fabric="f1", skeleton=False
    )
    store.insert("jobs", job_rows.job(encoded(Job(job="llm", submitted=submitted)), 1))
    assert "submitted without inference" in asked(client)["fabrics"][0]["text"]


@pytest.mark.usefixtures("placed")
def test_a_skeleton_of_containers_that_have_changed_is_not_shown(
    client: httpx.Client, store: Store
) -> None:
    put_skeleton(store)
    put_placement(store, "c3", "h1", endpoints=[Endpoint("172.16.0.3", C)])
    (found,) = asked(client)["fabrics"]
    assert found["state"] == "none"
    assert "containers have changed" in found["text"]
    assert len(found["rnics"]) == 3


def test_probes_of_other_jobs_do_not_count(
    client: httpx.Client, store: Store, put_windows: PutWindows
) -> None:
    put_placement(store, "c1", "h1", endpoints=[Endpoint("172.16.0.1", A)])
    put_placement(store, "c2", "h2", job="other", endpoints=[Endpoint("172.16.0.2", B)])
    put_windows(window(recent(), 1))
    (found,) = asked(client)["fabrics"]
    assert ([each[0] for each in found["rnics"]], found["links"]) == ([A], [])


def test_the_name_of_a_job_may_contain_a_slash(client: httpx.Client, store: Store) -> None:
    put_placement(store, "c1", "h1", job="team-a/llm")
    assert asked(client, "team-a%2Fllm")["job"] == "team-a/llm"


def test_a_job_that_only_incidents_name_has_none(client: httpx.Client, put: Put) -> None:
    put(msgspec.structs.replace(INCIDENT, jobs=["lost"]))
    assert asked(client, "lost") == {"job": "lost", "as_of": None, "fabrics": []}


def test_an_unknown_job_is_a_404(client: httpx.Client) -> None:
    assert client.get("/api/v1/jobs/none/skeleton").status_code == 404
