"""What is known of a job's members: who they are, their rnics, the pairs that are probed."""

from __future__ import annotations

from builders.controller.clusters import placement, two_tiers

from controller.ping_lists.lists import PingLists
from schemas.documents.tasks.job import Job, Submission

HOSTS, RAILS = 4, 2


def lists_of(ready: int) -> PingLists:
    """A job on all hosts, of which so many containers are ready."""
    lists = PingLists(two_tiers(HOSTS, RAILS))
    for host in range(HOSTS):
        lists.container(placement(host, host, "ready" if host < ready else "starting"))
    return lists


def test_of_the_pairs_of_a_job_those_between_ready_containers_are_active() -> None:
    for ready in range(HOSTS + 1):
        phase = lists_of(ready).jobs.phase("job-a")
        assert phase.pairs == RAILS * HOSTS * (HOSTS - 1) // 2
        assert phase.active == RAILS * ready * (ready - 1) // 2
        assert phase.ready == ready


def test_the_active_pairs_are_those_in_the_lists() -> None:
    lists = lists_of(3)
    listed = {
        (target["src_ip"], target["ip"])
        for host in lists.hosts
        for target in lists.document(host)["targets"]  # type: ignore[attr-defined]  # a list
        if target["layer"] == "overlay"
    }
    assert len(listed) == 2 * lists.jobs.phase("job-a").active


def test_the_rnics_of_a_job_are_sorted_by_host_and_rail() -> None:
    lists = lists_of(2)
    lists.container(placement(3, 3, "gone"))
    assert [each.real_ip for each in lists.jobs.rnics("job-a")] == [
        f"10.{rail}.{host}.1" for host in range(HOSTS - 1) for rail in range(RAILS)
    ]


def test_membership_says_who_is_there_and_whether_a_skeleton_is_allowed() -> None:
    lists = lists_of(2)
    before = lists.jobs.membership("job-a")
    assert (before.containers, before.ready, before.allowed) == (HOSTS, 2, True)
    own = Submission(source="rest", valid_from="2026-01-01T00:00:00.000Z", skeleton=False)
    lists.job(Job(job="job-a", submitted=own))
    assert not lists.jobs.membership("job-a").allowed
    lists.container(placement(3, 3, "gone"))
    assert lists.jobs.membership("job-a").generation > before.generation
