"""Pods -> events; and what the events make of the controller's state."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

import msgspec
import pytest
from builders.controller.pods import CREATED_MS, HOSTS, endpoints, network_status, pod
from hypothesis import given
from hypothesis import strategies as st

from controller.sources.kubernetes import job_names
from controller.sources.kubernetes.api_objects import Pod
from controller.sources.kubernetes.pod_endpoints import NoEndpoints
from controller.sources.kubernetes.pod_endpoints import endpoints as endpoints_of
from controller.sources.kubernetes.tracker import PodOptions, PodTracker
from controller.sources.whole_hosts import Hosts
from controller.tasks.events import AnyEvent, ContainerGone, ContainerReady
from controller.tasks.tasks import Documents, Tasks
from schemas.documents.topology import Endpoint, Rnic

NOW_MS = CREATED_MS + 60_000
OPTIONS = PodOptions(fabric="f1")


def tracker(hosts: Hosts = HOSTS) -> PodTracker:
    return PodTracker(lambda: hosts, OPTIONS)


def applied(events: Iterable[AnyEvent], tasks: Tasks | None = None) -> Tasks:
    known = Tasks() if tasks is None else tasks
    for each in events:
        known.apply(each)
    return known


def states(tasks: Tasks) -> dict[str, str]:
    """By pod name."""
    return {
        node_id.partition("/")[2].partition(".")[0]: box.state
        for node_id, box in tasks.placements.items()
    }


def test_a_pod_is_a_container_from_when_it_has_host_and_endpoints() -> None:
    pods = tracker()
    assert pods.changed(pod(1), NOW_MS) == []
    assert pods.changed(pod(1, 0, annotations={}), NOW_MS) == [], "the network is not there yet"
    tasks = applied(pods.changed(pod(1, 0), NOW_MS))
    (box,) = tasks.placements.values()
    assert (box.node_id, box.node_sn, box.job) == ("train/p1.00000001", "h000", "train/job-a")
    assert (box.tenant, box.fabric, box.state) == ("train", "f1", "starting")
    assert box.endpoints == [Endpoint("172.16.1.1", "10.0.0.1"), Endpoint("172.17.1.1", "10.1.0.1")]
    assert list(tasks.jobs) == ["train/job-a"]
    assert pods.changed(pod(1, 0), NOW_MS) == [], "each event once"


@pytest.mark.parametrize(
    ("labels", "name"),
    [
        ({"batch.kubernetes.io/job-name": "a", "job-name": "a"}, "train/a"),
        ({"job-name": "old"}, "train/old"),
        ({"training.kubeflow.org/job-name": "mpi", "job-name": "mpi-launcher"}, "train/mpi"),
        ({"elasticjob.dlrover/name": "elastic"}, "train/elastic"),
        ({"jobset.sigs.k8s.io/jobset-name": "s", "job-name": "s-workers-0"}, "train/s"),
        ({"app": "web"}, ""),
    ],
)
def test_the_most_specific_label_names_the_job(labels: dict[str, str], name: str) -> None:
    assert job_names.job_of(pod(1, 0, labels=labels)) == name
    if name:
        own = job_names.job_of(pod(1, 0, labels={**labels, "mine": "m"}), ("mine",))
        assert own == "train/m"


def test_a_pod_without_a_job_is_no_container() -> None:
    assert tracker().changed(pod(1, 0, job=""), NOW_MS) == []


def test_a_pod_drains_from_when_its_deletion_was_asked_for() -> None:
    pods = tracker()
    tasks = applied(pods.changed(pod(1, 0), NOW_MS))
    leaving = pod(1, 0, deletionTimestamp="2026-09-21T14:14:20Z", deletionGracePeriodSeconds=30)
    applied(pods.changed(leaving, NOW_MS), tasks)
    (box,) = tasks.placements.values()
    assert (box.state, box.valid_from) == ("draining", "2026-09-21T14:13:50.000Z")
    applied(pods.changed(leaving, NOW_MS, deleted=True), tasks)
    assert states(tasks) == {"p1": "gone"}


def with_status(base: Pod, **status: Any) -> Pod:
    raw = msgspec.to_builtins(base)
    raw["status"] |= status
    return msgspec.convert(raw, Pod)


def test_a_preempted_pod_drains_before_it_is_deleted() -> None:
    pods = tracker()
    tasks = applied(pods.changed(pod(1, 0), NOW_MS))
    condition = {
        "type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler",
        "lastTransitionTime": "2026-09-21T14:14:00Z",
    }  # fmt: skip
    applied(pods.changed(with_status(pod(1, 0), conditions=[condition]), NOW_MS), tasks)
    assert states(tasks) == {"p1": "draining"}


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_that_has_ended_is_gone_since_its_last_container_ended(phase: str) -> None:
    pods = tracker()
    tasks = applied(pods.changed(pod(1, 0), NOW_MS))
    ends = [{"state": {"terminated": {"finishedAt": f"2026-09-21T14:14:0{n}Z"}}} for n in (1, 2)]
    over = with_status(pod(1, 0), phase=phase, containerStatuses=ends)
    applied(pods.changed(over, NOW_MS), tasks)
    (box,) = tasks.placements.values()
    assert (box.state, box.valid_from) == ("gone", "2026-09-21T14:14:02.000Z")
    assert pods.changed(over, NOW_MS) == []


def test_what_vanished_while_the_connection_was_lost_is_gone() -> None:
    pods = tracker()
    tasks = applied(pods.listed([pod(n, n % 4) for n in range(6)], NOW_MS))
    applied(pods.listed([pod(n, n % 4) for n in (0, 2, 7)], NOW_MS + 1), tasks)
    assert states(tasks) == {
        f"p{n}": "starting" if n in (0, 2, 7) else "gone" for n in (0, 1, 2, 3, 4, 5, 7)
    }


def test_what_vanished_while_the_controller_was_down_is_gone() -> None:
    tasks = applied(tracker().listed([pod(0, 0), pod(1, 1)], NOW_MS))
    documents = tasks.documents()
    restarted = tracker()
    restarted.restore(documents.placements, documents.jobs, NOW_MS)
    after = Tasks.restored(Documents(*documents))
    applied(restarted.listed([pod(1, 1)], NOW_MS + 1), after)
    assert states(after) == {"p0": "gone", "p1": "starting"}


def test_a_container_of_another_source_is_not_gone_because_no_pod_is_listed() -> None:
    tasks = applied(tracker().listed([pod(0, 0)], NOW_MS))
    document = tasks.documents().placements[0]
    foreign = msgspec.structs.replace(
        document, claims=[msgspec.structs.replace(document.claims[0], key="of-another")]
    )
    restarted = tracker()
    restarted.restore([foreign], [], NOW_MS)
    assert restarted.listed([], NOW_MS) == []


def test_a_pod_that_takes_a_name_again_is_another_container() -> None:
    pods = tracker()
    tasks = applied(pods.changed(pod(1, 0), NOW_MS))
    again = pod(1, 2, uid="abcdef01-0000-4000-8000-1")
    events = pods.changed(pod(1, 0), NOW_MS, deleted=True)
    applied([*events, *pods.changed(again, NOW_MS)], tasks)
    assert {box.node_id: box.state for box in tasks.placements.values()} == {
        "train/p1.00000001": "gone", "train/p1.abcdef01": "starting",
    }  # fmt: skip


def test_a_job_ends_when_it_has_had_no_pod_for_long() -> None:
    pods = tracker()
    tasks = applied(pods.changed(pod(1, 0), NOW_MS))
    applied(pods.changed(pod(1, 0), NOW_MS, deleted=True), tasks)
    assert pods.looked(NOW_MS + 599_000) == []
    applied(pods.looked(NOW_MS + 600_000), tasks)
    assert tasks.jobs["train/job-a"].ended is not None


def test_a_job_whose_pods_wait_for_hosts_does_not_end() -> None:
    pods = tracker()
    pods.changed(pod(1, 0), NOW_MS)
    pods.changed(pod(2), NOW_MS)
    pods.changed(pod(1, 0), NOW_MS, deleted=True)
    assert pods.looked(NOW_MS + 10_000_000) == []


def test_a_run_after_the_end_of_the_job_is_placed_and_does_not_drain() -> None:
    pods = tracker()
    tasks = applied(pods.changed(pod(1, 0), NOW_MS))
    applied(pods.changed(pod(1, 0), NOW_MS, deleted=True), tasks)
    applied(pods.looked(NOW_MS + 600_000), tasks)
    later = pod(2, 1, creationTimestamp="2026-09-21T15:00:00Z")
    applied(pods.changed(later, NOW_MS + 3_000_000), tasks)
    assert states(tasks) == {"p1": "gone", "p2": "starting"}
    job = tasks.jobs["train/job-a"]
    assert job.submitted is not None
    assert job.submitted.valid_from == "2026-09-21T15:00:00.000Z"


def test_the_size_of_a_job_follows_its_newest_pod() -> None:
    pods, tasks = tracker(), Tasks()
    for number, (minute, size) in enumerate([(20, "8"), (25, "4"), (22, "16")]):
        notes = {
            "skeletonhunter.io/endpoints": endpoints(number, 0),
            "skeletonhunter.io/job-size": size, "skeletonhunter.io/skeleton": "false",
        }  # fmt: skip
        made = pod(number, 0, annotations=notes, creationTimestamp=f"2026-09-21T14:{minute}:00Z")
        applied(pods.changed(made, NOW_MS), tasks)
    job = tasks.jobs["train/job-a"]
    assert job.size is not None
    assert job.size.containers == 4
    assert job.submitted is not None
    assert not job.submitted.skeleton


def test_a_pod_on_a_host_of_no_topology_waits_for_the_topology() -> None:
    hosts: dict[str, list[Rnic]] = {}
    pods = tracker(hosts)
    status = network_status(("rail-a", "172.16.0.1", "mlx5_2"), ("rail-b", "172.17.0.1", "mlx5_3"))
    notes = {"k8s.v1.cni.cncf.io/network-status": status}
    assert pods.changed(pod(1, 0, annotations=notes), NOW_MS) == []
    assert "in no topology" in pods.left_out["train/p1"]
    hosts |= HOSTS
    tasks = applied(pods.looked(NOW_MS))
    assert states(tasks) == {"p1": "starting"}
    assert not pods.left_out


@given(st.lists(st.tuples(st.integers(0, 5), st.sampled_from("prdx")), max_size=30), st.integers())
def test_lists_and_changes_in_any_order_leave_exactly_the_listed_pods(
    steps: list[tuple[int, str]], seed: int
) -> None:
    """p: placed, r: relisted, d: deleted, x: it ends; then a list that says what there is."""
    pods, tasks, now_ms = tracker(), Tasks(), NOW_MS
    for number, step in steps:
        now_ms += 1000
        one = pod(number, number % 4)
        if step == "r":
            events = pods.listed([one], now_ms)
        elif step == "x":
            events = pods.changed(pod(number, number % 4, phase="Failed"), now_ms)
        else:
            events = pods.changed(one, now_ms, deleted=step == "d")
        applied(events, tasks)
    present = random.Random(seed).sample(range(6, 12), 3)
    applied(pods.listed([pod(n, n % 4) for n in present], now_ms + 1000), tasks)
    alive = {name for name, state in states(tasks).items() if state != "gone"}
    assert alive == {f"p{n}" for n in present}
    assert pods.containers == 3


TWO = (("train/sriov-a", "172.16.9.1", "mlx5_4"), ("train/sriov-b", "172.17.9.1", "mlx5_5"))


def test_rdma_interfaces_of_multus_are_endpoints_in_order_of_rails() -> None:
    status = network_status(*TWO, ("train/storage", "192.168.0.5", ""))
    found = pod(1, 2, annotations={"k8s.v1.cni.cncf.io/network-status": status})
    assert endpoints_of(found, HOSTS["h002"]) == [
        Endpoint("172.16.9.1", "10.0.2.1"), Endpoint("172.17.9.1", "10.1.2.1"),
    ]  # fmt: skip
    swapped = endpoints_of(found, HOSTS["h002"], ("sriov-b", "train/sriov-a"))
    assert [each.real_ip for each in swapped] == ["10.1.2.1", "10.0.2.1"]


@pytest.mark.parametrize(
    ("notes", "rails", "says"),
    [
        ({"skeletonhunter.io/endpoints": "[{"}, (), "write a JSON array"),
        ({"skeletonhunter.io/endpoints": endpoints(1, 3)}, (), "is no rnic of host 'h000'"),
        (
            {"skeletonhunter.io/endpoints": f"[{','.join([endpoints(1, 0, 1)[1:-1]] * 200)}]"},
            (),
            "more than 128",
        ),
        ({"k8s.v1.cni.cncf.io/network-status": "{"}, (), "network-status: "),
        (
            {"skeletonhunter.io/endpoints": '[{"ip": "a", "real_ip": "10.0.0.1"}]'},
            (),
            "both IP addresses",
        ),
        ({"k8s.v1.cni.cncf.io/network-status": network_status(TWO[0])}, (), "name the networks"),
        ({"k8s.v1.cni.cncf.io/network-status": network_status(*TWO)}, ("x",), "not among"),
        (
            {"k8s.v1.cni.cncf.io/network-status": network_status(TWO[0])},
            ("x", "y", "sriov-a"),
            "the host lacks",
        ),
    ],
)
def test_endpoints_that_cannot_be_used_are_explained_in_one_line(
    notes: dict[str, str], rails: tuple[str, ...], says: str
) -> None:
    with pytest.raises(NoEndpoints, match=says) as why:
        endpoints_of(pod(1, 0, annotations=notes), HOSTS["h000"], rails)
    assert why.value.wrong
    assert "\n" not in str(why.value)


def test_a_pod_on_the_hosts_network_has_the_hosts_rnics_and_is_ready_when_it_runs() -> None:
    raw = msgspec.to_builtins(pod(1, 3, annotations={}))
    raw["spec"] |= {
        "hostNetwork": True,
        "containers": [{"resources": {"limits": {"nvidia.com/gpu": "8", "cpu": 4}}}],
    }
    pods = tracker()
    events = pods.changed(msgspec.convert(raw, Pod), NOW_MS)
    assert isinstance(events[-1], ContainerReady)
    tasks = applied(events)
    (box,) = tasks.placements.values()
    assert box.state == "ready"
    assert {each.ip for each in box.endpoints} == {each.real_ip for each in HOSTS["h003"]}
    raw["metadata"]["annotations"] = {"k8s.v1.cni.cncf.io/network-status": "{"}
    assert pods.changed(msgspec.convert(raw, Pod), NOW_MS) == [], "a tenant writes nonsense"
    raw["metadata"]["annotations"] = {}
    raw["spec"]["containers"] = [{"resources": {"limits": {"cpu": 4}}}]
    assert tracker().changed(msgspec.convert(raw, Pod), NOW_MS) == [], "it has no device"


def test_a_ready_pod_makes_its_container_ready_only_where_its_annotation_says_so() -> None:
    condition = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-09-21T14:14:00Z"}
    plain = with_status(pod(1, 0), conditions=[condition])
    assert states(applied(tracker().changed(plain, NOW_MS))) == {"p1": "starting"}
    notes = {
        "skeletonhunter.io/endpoints": endpoints(1, 0), "skeletonhunter.io/ready": "pod",
    }  # fmt: skip
    pods = tracker()
    tasks = applied(pods.changed(pod(1, 0, annotations=notes), NOW_MS))
    assert states(tasks) == {"p1": "starting"}
    marked = with_status(pod(1, 0, annotations=notes), conditions=[condition])
    applied(pods.changed(marked, NOW_MS), tasks)
    (box,) = tasks.placements.values()
    assert (box.state, box.valid_from) == ("ready", "2026-09-21T14:14:00.000Z")


def test_a_gone_container_is_never_earlier_than_its_creation() -> None:
    pods = tracker()
    pods.changed(pod(1, 0), 0)
    (gone,) = pods.changed(pod(1, 0), 0, deleted=True)  # the clocks differ
    assert isinstance(gone, ContainerGone)
    assert gone.time_ms == CREATED_MS
