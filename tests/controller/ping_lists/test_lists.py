"""Three phases: only what is ready is probed, by both sides, and only who needs it is notified."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from builders.controller.clusters import placement, two_tiers
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.ping_lists.jobs.pairs import OPTED_OUT
from controller.ping_lists.lists import PingLists
from controller.ping_lists.parameters import PingListParameters
from probers.ping_list import document as ping_list
from schemas.documents.placement import Placement
from schemas.documents.tasks.claims import State
from schemas.documents.tasks.job import Job, Size, Submission
from schemas.documents.topology import Topology

HOSTS = 8
TIME = "2026-01-01T00:00:00Z"
TOPOLOGY = two_tiers(HOSTS)
SMALL = PingListParameters(targets_per_endpoint=2, skeleton_targets=2)
STATES: tuple[State, ...] = ("starting", "ready", "draining", "gone")

#: An event: ("host", number, ready), ("container", document), ("skeleton" | "job", details)
Event = tuple[Any, ...]


def containers() -> st.SearchStrategy[Event]:
    return st.builds(
        lambda number, host, state, job: ("container", placement(number, host, state, job=job)),
        st.integers(0, 9), st.integers(0, HOSTS - 1), st.sampled_from(STATES),
        st.sampled_from(["job-a", "job-b", ""]),
    )  # fmt: skip


def happenings() -> st.SearchStrategy[Event]:
    rnics = st.integers(0, HOSTS - 1).map(lambda host: f"10.0.{host}.1")
    return st.one_of(
        containers(), containers(), containers(),
        st.tuples(st.just("host"), st.integers(0, HOSTS - 1), st.booleans()),
        st.tuples(st.just("skeleton"), st.lists(st.tuples(rnics, rnics), max_size=4)),
        st.tuples(st.just("job"), st.integers(0, 9), st.booleans()),
    )  # fmt: skip


def job(size: int = 0, *, skeleton: bool = True) -> Job:
    return Job(
        job="job-a",
        submitted=Submission(source="rest", valid_from=TIME, skeleton=skeleton),
        size=Size(source="rest", valid_from=TIME, containers=size) if size else None,
    )


def take(lists: PingLists, event: Event) -> set[str]:
    kind, *rest = event
    if kind == "host":
        return lists.host(f"h{rest[0]:03}", ready=rest[1])
    if kind == "container":
        return lists.container(rest[0])
    if kind == "job":
        return lists.job(job(rest[0], skeleton=rest[1]))
    return lists.use_skeleton("job-a", rest[0])


def entries(lists: PingLists) -> set[tuple[str, str]]:
    return {
        (str(target["src_ip"]), str(target["ip"]))
        for node_sn in lists.hosts
        for target in targets(lists, node_sn)
    }


def targets(lists: PingLists, node_sn: str) -> list[dict[str, Any]]:
    found = lists.document(node_sn)["targets"]
    assert isinstance(found, list)
    return found


def started(count: int = HOSTS, parameters: PingListParameters = SMALL) -> PingLists:
    """A job of so many containers, one on each host, all ready; no host agent has registered."""
    lists = PingLists(TOPOLOGY, parameters)
    lists.job(job(count))
    for number in range(count):
        lists.container(placement(number, number))
    return lists


@settings(deadline=None)
@given(st.lists(happenings(), max_size=30))
def test_no_entry_names_or_belongs_to_an_endpoint_that_is_not_ready(happened: list[Event]) -> None:
    lists = PingLists(TOPOLOGY, SMALL)
    registered: set[str] = set()
    newest: dict[str, Placement] = {}
    for event in happened:
        take(lists, event)
        if event[0] == "host":
            own = {f"10.{rail}.{event[1]}.1" for rail in range(2)}
            registered = registered | own if event[2] else registered - own
        elif event[0] == "container":
            newest[event[1].node_id] = event[1]
        ready = {end.ip for box in newest.values() if box.state == "ready" for end in box.endpoints}
        for source, target in entries(lists):
            assert {source, target} <= registered | ready


@settings(deadline=None)
@given(st.lists(happenings(), max_size=30))
def test_an_endpoint_that_is_probed_probes_back_and_over_as_many_ports(
    happened: list[Event],
) -> None:
    lists = PingLists(TOPOLOGY, SMALL)
    for event in happened:
        take(lists, event)
    ports = {
        (target["src_ip"], target["ip"]): target["src_ports"]
        for node_sn in lists.hosts
        for target in targets(lists, node_sn)
    }
    assert all(ports.get((b, a)) == used for (a, b), used in ports.items())


@settings(deadline=None)
@given(st.lists(happenings(), max_size=20))
def test_exactly_the_notified_hosts_have_another_list(happened: list[Event]) -> None:
    lists = PingLists(TOPOLOGY, SMALL)
    before = {node_sn: lists.document(node_sn) for node_sn in lists.hosts}
    for event in happened:
        tags = {node_sn: lists.etag(node_sn) for node_sn in lists.hosts}
        notified = take(lists, event)
        after = {node_sn: lists.document(node_sn) for node_sn in lists.hosts}
        changed = {node_sn for node_sn in lists.hosts if by_name(before, node_sn) != by_name(after, node_sn)}  # fmt: skip  # noqa: E501
        assert notified == changed
        assert changed == {node_sn for node_sn in lists.hosts if lists.etag(node_sn) != tags[node_sn]}  # fmt: skip  # noqa: E501
        before = after


def by_name(documents: dict[str, dict[str, object]], node_sn: str) -> object:
    document = documents[node_sn]
    endpoints = document["endpoints"]
    assert isinstance(endpoints, list)
    return {**document, "endpoints": sorted(endpoints, key=str)}


@settings(deadline=None)
@given(st.lists(happenings(), max_size=20))
def test_a_repeated_event_changes_no_list(happened: list[Event]) -> None:
    lists = PingLists(TOPOLOGY, SMALL)
    for event in happened:
        take(lists, event)
        assert take(lists, event) == set()


@settings(deadline=None)
@given(st.lists(happenings(), max_size=20), st.integers(0, 20))
def test_a_delta_leads_from_an_old_list_to_the_present_one(
    happened: list[Event], seen: int
) -> None:
    lists = PingLists(TOPOLOGY, SMALL)
    for event in happened[:seen]:
        take(lists, event)
    held = {n: (lists.etag(n), {key(t): t for t in targets(lists, n)}) for n in lists.hosts}
    for event in happened[seen:]:
        take(lists, event)
    for node_sn, (etag, old) in held.items():
        delta = lists.delta(node_sn, etag)
        assert delta is not None
        for gone in delta.removed:
            old.pop(gone, None)
        old.update({key(target): target for target in delta.added})
        assert old == {key(target): target for target in targets(lists, node_sn)}
        assert delta.etag == lists.etag(node_sn)


def key(target: dict[str, Any]) -> tuple[str, str]:
    return target["src_ip"], target["ip"]


@settings(deadline=None)
@given(st.lists(happenings(), max_size=20), st.integers(1, 400), st.integers(1, 100))
def test_no_host_and_no_rnic_sends_more_probes_a_second_than_its_cap(
    happened: list[Event], agent_rate: int, rnic_rate: int
) -> None:
    caps = PingListParameters(agent_rate=agent_rate, rnic_rate=rnic_rate)
    lists = PingLists(TOPOLOGY, caps, interval_s=0.1)
    for event in happened:
        take(lists, event)
    for node_sn in lists.hosts:
        document = ping_list.parse(msgspec.json.encode(lists.document(node_sn)), node_sn)
        assert document.interval_s is not None
        rnic = {own.ip: own.real_ip for own in document.endpoints}
        rates: dict[str, float] = {}
        for target in document.targets:
            own = rnic[target.src_ip]
            rates[own] = rates.get(own, 0.0) + len(target.src_ports) / document.interval_s
        assert sum(rates.values()) <= agent_rate + 1e-6
        assert max(rates.values(), default=0.0) <= rnic_rate + 1e-6


@settings(deadline=None)
@given(st.lists(happenings(), max_size=20))
def test_the_same_content_has_the_same_etag_however_it_came_about(happened: list[Event]) -> None:
    lists, again = PingLists(TOPOLOGY, SMALL), PingLists(TOPOLOGY, SMALL)
    for event in happened:
        take(lists, event)
    for event in happened:
        take(again, event)
        take(again, event)
    assert [lists.etag(n) for n in lists.hosts] == [again.etag(n) for n in again.hosts]


def test_a_submitted_job_is_paired_before_anything_is_probed() -> None:
    lists = PingLists(TOPOLOGY, SMALL)
    lists.job(job(4))
    for number in range(4):
        lists.container(placement(number, number, "starting"))
    assert entries(lists) == set()
    assert lists.jobs.phase("job-a")[:5] == ("preload", "not inferred yet", 4, 0, 2 * 4)


def test_a_container_that_becomes_ready_tells_its_own_host_and_those_of_its_ready_peers() -> None:
    lists = started()
    lists.container(placement(2, 2, "starting", second=1))
    assert not any("172.16.2.1" in pair for pair in entries(lists))
    notified = lists.container(placement(2, 2, second=2))
    assert notified == {"h001", "h002", "h003"}, "its neighbours on the ring of the job"
    lists.container(placement(1, 1, "draining", second=3))
    assert lists.container(placement(2, 2, "draining", second=4)) == {"h002", "h003"}


def test_a_successor_takes_the_place_of_a_container_that_was_preempted() -> None:
    lists = started()
    before = entries(lists)
    lists.container(placement(3, 3, "gone", second=1))
    notified = lists.container(placement(20, 3, second=2))
    assert notified == {"h002", "h003", "h004"}
    renamed = {tuple(ip.replace(".20.", ".3.") for ip in pair) for pair in entries(lists)}
    assert renamed == before


def test_a_job_that_grows_beyond_its_size_is_paired_anew_and_keeps_its_neighbours() -> None:
    lists = started(4)
    lists.container(placement(4, 4))
    lists.container(placement(5, 5))
    pairs = entries(lists)
    assert ("172.16.4.1", "172.16.5.1") in pairs
    assert {source for source, _ in pairs} == {
        f"172.{16 + rail}.{number}.1" for rail in range(2) for number in range(6)
    }  # fmt: skip


def test_containers_of_a_job_on_one_host_do_not_probe_each_other() -> None:
    lists = PingLists(TOPOLOGY)
    for number, host in enumerate((0, 0, 1)):
        lists.container(placement(number, host))
    assert ("172.16.0.1", "172.16.1.1") not in entries(lists)
    assert ("172.16.0.1", "172.16.2.1") in entries(lists)


def test_a_skeleton_leaves_only_the_pairs_that_carry_traffic() -> None:
    lists = started()
    notified = lists.use_skeleton("job-a", [("10.0.0.1", "10.0.5.1"), ("10.1.2.1", "10.1.1.1")])
    assert entries(lists) == {
        ("172.16.0.1", "172.16.5.1"), ("172.16.5.1", "172.16.0.1"),
        ("172.17.1.1", "172.17.2.1"), ("172.17.2.1", "172.17.1.1"),
    }  # fmt: skip
    assert notified == {f"h{host:03}" for host in range(HOSTS)}
    assert lists.jobs.phase("job-a")[:2] == ("skeleton", "inferred")


@pytest.mark.parametrize(
    ("pairs", "reason"),
    [
        ([("10.0.0.1", "10.9.9.9")], "names rnic 10.9.9.9"),
        ([("10.0.0.1", "10.1.0.1")], "no pair of two hosts"),
        ([], "no pair of two hosts"),
    ],
)
def test_a_skeleton_that_does_not_fit_the_job_leaves_the_rails_and_says_why(
    pairs: list[tuple[str, str]], reason: str
) -> None:
    lists = started()
    before = entries(lists)
    assert lists.use_skeleton("job-a", pairs) == set()
    assert entries(lists) == before
    assert reason in lists.jobs.phase("job-a").reason


def test_a_job_that_has_opted_out_keeps_its_rails() -> None:
    lists = started()
    before = entries(lists)
    lists.use_skeleton("job-a", [("10.0.0.1", "10.0.5.1")])
    lists.job(job(HOSTS, skeleton=False))
    assert entries(lists) == before
    lists.use_skeleton("job-a", [("10.0.0.1", "10.0.5.1")])
    assert lists.jobs.phase("job-a")[:2] == ("activation", OPTED_OUT)


def test_an_elastic_change_returns_to_the_rails_and_outdates_what_was_inferred() -> None:
    lists = started(7)
    skeleton = [("10.0.0.1", "10.0.5.1")]
    generation = lists.jobs.phase("job-a").generation
    lists.use_skeleton("job-a", skeleton, generation)
    lists.container(placement(7, 7))
    phase = lists.jobs.phase("job-a")
    assert phase[:2] == ("activation", "container c7 joined: the skeleton is inferred again")
    assert ("172.16.7.1", "172.16.6.1") in entries(lists)
    lists.use_skeleton("job-a", skeleton, generation)
    assert "have changed" in lists.jobs.phase("job-a").reason
    lists.use_skeleton("job-a", skeleton, phase.generation)
    assert lists.jobs.phase("job-a").phase == "skeleton"


def test_a_newer_container_takes_over_an_address_and_an_older_one_does_not() -> None:
    lists = started(3)
    newer = msgspec.structs.replace(placement(0, 0, second=9), node_id="c99")
    lists.container(newer)
    lists.container(placement(0, 0, second=1))
    source = next(t for t in targets(lists, "h001") if t["ip"] == "172.16.0.1")
    assert source["node_id"] == "c99"


def test_another_topology_changes_the_lists_of_those_whom_it_concerns() -> None:
    lists = started()
    lists.use_skeleton("job-a", [("10.0.0.1", "10.0.5.1")])
    for host in range(HOSTS):
        lists.host(f"h{host:03}", ready=True)
    assert lists.replace_topology(TOPOLOGY) == set(), "the same one changes nothing"
    host = TOPOLOGY.hosts[0]
    moved = msgspec.structs.replace(
        host, rnics=[msgspec.structs.replace(host.rnics[0], asw="tor-1-0"), *host.rnics[1:]]
    )
    recabled = msgspec.structs.replace(TOPOLOGY, hosts=[moved, *TOPOLOGY.hosts[1:]])
    versions = {node_sn: lists.version(node_sn) for node_sn in lists.hosts}
    notified = lists.replace_topology(recabled)
    assert {"h000", "h005"} <= notified, "the host itself, and the one that probes it"
    assert all(lists.version(node_sn) > versions[node_sn] for node_sn in notified)
    assert lists.jobs.phase("job-a").phase == "skeleton"


def test_agents_accept_every_list_of_the_plan() -> None:
    lists = started(parameters=PingListParameters())
    for node_sn in lists.hosts:
        lists.host(node_sn, ready=True)
    for node_sn in lists.hosts:
        read = ping_list.parse(msgspec.json.encode(lists.document(node_sn)), node_sn)
        ping_list.check_owner(read, node_sn, node_sn, "f1")
        assert {target.layer for target in read.targets} == {"overlay", "underlay"}


def test_a_host_that_the_topology_lacks_is_ignored() -> None:
    lists = PingLists(TOPOLOGY)
    assert lists.container(placement(0, 99)) == set()
    assert lists.host("h099", ready=True) == set()
    with pytest.raises(KeyError):
        lists.document("h099")


def test_lists_without_containers_and_links_are_empty() -> None:
    lonely = Topology(fabric="f1", hosts=two_tiers(1, rails=1).hosts)
    lists = PingLists(msgspec.structs.replace(TOPOLOGY, hosts=lonely.hosts, links=[]))
    lists.host("h000", ready=True)
    assert entries(lists) == set()


def test_of_a_skeleton_with_too_many_pairs_some_are_left_out_and_successors_are_kept() -> None:
    lists = started()
    rnics = [f"10.0.{host}.1" for host in range(HOSTS)]
    lists.use_skeleton("job-a", [(a, b) for a in rnics for b in rnics if a < b])
    sources = [source for source, _ in entries(lists)]
    assert max(map(sources.count, sources)) == SMALL.skeleton_targets == 2
    assert {(f"172.16.{n}.1", f"172.16.{n + 1}.1") for n in range(HOSTS - 1)} <= entries(lists)
    assert lists.jobs.phase("job-a").reason == "inferred; 8 of 28 pairs, 2 targets an endpoint"
