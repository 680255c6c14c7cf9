"""Pods of hosts and jobs of containers: a topology first, then the newest record or placement."""

from __future__ import annotations

from builders.clusters import End, path
from builders.incidences import paths_of

from localizer.state.inventory import Inventory
from schemas.documents.placement import Placement
from schemas.documents.topology import Container, Host, Topology

A = End("c1", "h1", "r1", "asw1")
B = End("c2", "h2", "r2", "asw2")
GIVEN = Topology(
    hosts=[Host("h1", [], pod="east")], containers=[Container("c1", "h1", "job-1", "tenant-1", [])]
)


def placement(box: str, job: str) -> Placement:
    return Placement(
        node_id=box,
        node_sn="h2",
        state="ready",
        valid_from="2026-01-01T00:00:00Z",
        job=job,
        tenant="t",
    )


def test_the_newest_record_names_the_pod_of_a_host_that_the_topology_does_not_give() -> None:
    inventory = Inventory(GIVEN)
    for pod in ("west", "south"):
        inventory.learn_pods(paths_of([path(A, B)._replace(src_pod=pod, dst_pod=pod)]))
    assert inventory.pods == {"h1": "east", "h2": "south"}


def test_a_record_without_a_pod_changes_none() -> None:
    inventory = Inventory(GIVEN)
    inventory.learn_pods(paths_of([path(A, B)._replace(src_pod="", dst_pod="")]))
    assert inventory.pods == {"h1": "east"}


def test_the_newest_placement_names_the_job_of_a_container() -> None:
    inventory = Inventory(GIVEN)
    inventory.learn_jobs([placement("c2", "job-2"), placement("c2", "job-3")])
    assert inventory.jobs == {"c1": ("job-1", "tenant-1"), "c2": ("job-3", "t")}


def test_another_topology_replaces_what_the_former_gave_and_nothing_else() -> None:
    inventory = Inventory(GIVEN)
    paths = paths_of([path(A, B)._replace(src_pod="west", dst_pod="west")])
    inventory.learn_pods(paths)
    inventory.learn_jobs([placement("c2", "job-2")])
    moved = [Container("c2", "h1", "job-9", "t", []), Container("c3", "h1", "job-3", "t", [])]
    inventory.follow(Topology(hosts=[Host("h3", [], pod="east")], containers=moved), paths)
    assert inventory.pods == {"h1": "west", "h2": "west", "h3": "east"}
    assert inventory.jobs == {"c2": ("job-2", "t"), "c3": ("job-3", "t")}


def test_only_what_the_topology_gives_outlives_its_last_use() -> None:
    inventory = Inventory(GIVEN)
    inventory.learn_pods(paths_of([path(A, B)]))
    inventory.learn_jobs([placement("c2", "job-2"), placement("c3", "job-2")])
    inventory.retain_hosts([])
    inventory.retain_containers({"c3"}, ())
    assert inventory.pods == {"h1": "east"}
    assert set(inventory.jobs) == {"c1", "c3"}
