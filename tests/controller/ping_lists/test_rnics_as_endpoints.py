"""A container on its host's own network: its endpoints are the host's rnics."""

from __future__ import annotations

import msgspec
import pytest
from builders.controller.clusters import two_tiers

from controller.ping_lists.endpoints import Document
from controller.ping_lists.lists import PingLists
from probers.ping_list.document import job_rnics, parse
from schemas.documents.placement import Placement
from schemas.documents.tasks.claims import State
from schemas.documents.topology import Endpoint

TOPOLOGY = two_tiers(8)
HOSTS = [host.node_sn for host in TOPOLOGY.hosts]
#: On one rail; the plan of the underlay has the first and not the second.
PLANNED, NEW = ("10.0.0.1", "10.0.1.1"), ("10.0.0.1", "10.0.4.1")


def whole(host: int, state: State = "ready", job: str = "job") -> Placement:
    """The container that stands for a job on a whole host."""
    own = [Endpoint(each.real_ip, each.real_ip) for each in TOPOLOGY.hosts[host].rnics]
    return Placement(
        node_id=f"{job}@{HOSTS[host]}", node_sn=HOSTS[host], state=state, job=job,
        fabric=TOPOLOGY.fabric, valid_from="2026-01-01T00:00:00Z", endpoints=own,
    )  # fmt: skip


@pytest.fixture
def lists() -> PingLists:
    made = PingLists(TOPOLOGY)
    for node_sn in HOSTS:
        made.host(node_sn, ready=True)
    return made


def every(lists: PingLists) -> dict[str, Document]:
    return {node_sn: lists.document(node_sn) for node_sn in HOSTS}


def measured(lists: PingLists, node_sn: str) -> tuple[str, ...]:
    return job_rnics(parse(msgspec.json.encode(lists.document(node_sn)), node_sn)).addresses


def test_a_container_on_the_hosts_network_changes_no_target_but_its_rnics_are_measured(
    lists: PingLists,
) -> None:
    before = every(lists)
    etags = {node_sn: lists.etag(node_sn) for node_sn in HOSTS}
    for host, node_sn in enumerate(HOSTS):
        assert lists.container(whole(host, "starting")) == {node_sn}
        assert lists.etag(node_sn) != etags[node_sn]
        assert lists.container(whole(host)) == set()
        assert lists.document(node_sn)["targets"] == before[node_sn]["targets"]
        assert measured(lists, node_sn) == (f"10.0.{host}.1", f"10.1.{host}.1")
    assert lists.jobs.phase("job").ready == len(HOSTS)
    assert [each.ip for each in lists.jobs.rnics("job")] == [
        f"10.{rail}.{host}.1" for host in range(8) for rail in range(2)
    ]
    for host, node_sn in enumerate(HOSTS):
        assert lists.container(whole(host, "gone")) == {node_sn}
    assert every(lists) == before
    assert {node_sn: lists.etag(node_sn) for node_sn in HOSTS} == etags


def test_a_skeleton_of_rnics_joins_the_plan_of_the_underlay_until_the_job_ends(
    lists: PingLists,
) -> None:
    before = every(lists)
    for host in range(8):
        lists.container(whole(host))
    assert lists.use_skeleton("job", [PLANNED, NEW]) == {"h000", "h004"}
    phase = lists.jobs.phase("job")
    assert (phase.phase, phase.pairs, phase.active) == ("skeleton", 2, 2)
    entries = lists.entries("h000")
    assert NEW in entries
    assert NEW[::-1] in lists.entries("h004")
    assert entries.keys() - {NEW} == {(t["src_ip"], t["ip"]) for t in _targets(before["h000"])}
    lists.host("h004", ready=False)
    assert NEW not in lists.entries("h000"), "its agent does not answer"
    lists.host("h004", ready=True)
    assert NEW in lists.entries("h000")
    for host in range(8):
        lists.container(whole(host, "gone"))
    assert every(lists) == before


def test_a_pair_that_two_jobs_draw_stays_until_both_have_ended(lists: PingLists) -> None:
    before = every(lists)
    for job in ("one", "other"):
        for host in range(8):
            lists.container(whole(host, job=job))
        lists.use_skeleton(job, [NEW])
    for job in ("one", "other"):
        assert NEW in lists.entries("h000")
        assert PLANNED in lists.entries("h000")
        for host in range(8):
            lists.container(whole(host, "gone", job=job))
    assert every(lists) == before


def test_a_skeleton_of_rnics_goes_on_under_a_new_topology(lists: PingLists) -> None:
    for host in range(8):
        lists.container(whole(host))
    lists.use_skeleton("job", [NEW])
    lists.replace_topology(two_tiers(8, spines=2))
    assert lists.jobs.phase("job").phase == "skeleton"
    assert NEW in lists.entries("h000")


def test_of_two_endpoints_with_one_address_the_first_is_probed(lists: PingLists) -> None:
    for state in ("starting", "ready", "gone"):
        for number, host in enumerate(TOPOLOGY.hosts):
            own = [Endpoint(f"172.16.{number}.1", each.real_ip) for each in host.rnics] * 2
            box = Placement(
                node_id=f"c{number}", node_sn=host.node_sn, state=state, job="job",
                fabric=TOPOLOGY.fabric, valid_from="2026-01-01T00:00:00Z", endpoints=own,
            )  # fmt: skip
            lists.container(box)
            known = [each for each in lists.own(host.node_sn) if each["layer"] == "overlay"]
            assert len(known) == (0 if state == "gone" else 1)


def _targets(document: Document) -> list[Document]:
    found = document["targets"]
    assert isinstance(found, list)
    return found
