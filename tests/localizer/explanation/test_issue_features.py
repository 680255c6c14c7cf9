"""What paths show of an issue type, from probes to the incident."""

from __future__ import annotations

import pytest
from builders.clusters import Cluster, Path, Second, Weather, newest, observe

from localizer.explanation.issue_features import hit_inside
from localizer.explanation.issue_types import NONE
from localizer.explanation.parameters import DEFAULT
from localizer.localizer import Localizer
from schemas.documents.incident import Incident
from streams.replay import Replay
from testbed.faults.kinds import Fault
from testbed.simulator.fault_effects import candidates
from testbed.simulator.simulator import Simulation
from testbed.topologies.clos import ClosSpec, build

BEGIN, END = 10, 35


def written(weather: Weather) -> list[Incident]:
    cluster = Cluster()
    localizer = Localizer(topology=cluster.topology)
    return observe(
        localizer, [m for at in range(50) for m in cluster.second(at, weather)]
    ).incidents


def rnic(lost: int, period: int = 1, duty: int = 1) -> Weather:
    def weather(path: Path, at: int) -> Second:
        hit = BEGIN <= at < END and (at - BEGIN) % period < duty
        mine = "r2.0" in (path.src_real_ip, path.dst_real_ip)
        return Second(sent=10, lost=lost if hit and mine else 0)

    return weather


def likeliest(doc: Incident) -> str:
    types = doc.evidence["issue_types"]
    assert isinstance(types, dict)
    return str(max(types, key=lambda name: types[name]))


def test_a_port_is_known_to_flap_once_it_has_come_back() -> None:
    documents = written(rnic(10, period=4, duty=2))
    assert (documents[0].issue_type, likeliest(documents[0])) == (None, "rnic_port_down"), (
        "not known yet"
    )
    types = [doc.issue_type for doc in documents]
    turn = types.index("rnic_port_flapping")
    assert set(types[turn:]) == {"rnic_port_flapping"}
    assert [doc.version for doc in documents] == list(range(1, len(documents) + 1))


def test_a_port_that_stays_down_does_not_flap() -> None:
    documents = written(rnic(10))
    assert {likeliest(doc) for doc in documents} == {"rnic_port_down"}
    assert {doc.issue_type for doc in documents} == {None}, "four causes look like it"


@pytest.mark.parametrize("lost", [2, 5, 10])
def test_a_type_is_stated_only_if_it_is_clearly_more_probable_than_the_others(lost: int) -> None:
    for doc in written(rnic(lost)) + written(rnic(lost, period=4, duty=2)):
        types = doc.evidence["issue_types"]
        assert isinstance(types, dict)
        first, second = sorted(types.values())[:-3:-1]
        clear = (
            first > DEFAULT.stated and first >= DEFAULT.clearly * second and likeliest(doc) != NONE
        )
        assert doc.issue_type == (likeliest(doc) if clear else None)


def test_an_rnic_that_loses_some_packets_all_the_time_has_a_bad_cable() -> None:
    (incident,) = newest(written(rnic(2)))
    assert likeliest(incident) == "crc_error"
    assert incident.evidence["flapping"] is False


@pytest.mark.parametrize(
    ("kind", "where", "added_us"),
    [
        ("pcie_nic_error", "any host", 60.0),
        ("hugepage_misconfiguration", "any host", 40.0),
        ("not_using_rdma", "any vswitch", 60.0),
        ("repetitive_flow_offloading", "any vswitch", 60.0),
    ],
)
def test_the_issue_type_of_a_slow_host_follows_from_where_and_when_it_is_slow(
    kind: str, where: str, added_us: float
) -> None:
    spec = ClosSpec(hosts=12, rails=2, hosts_per_segment=6, hosts_per_job=6)
    quiet = Simulation(build(spec, 5), seed=5, start_ns=1_780_000_000 * 10**9)
    place = candidates(quiet.network, quiet.paths, where)[3]
    simulated = quiet.with_faults(
        [Fault(kind=kind, component=place, start_s=310, end_s=340, magnitude=added_us)]
    )
    judge = Replay(topology=simulated.topology)
    documents: list[Incident] = []
    for second in simulated.seconds(360):
        now = judge.feed(second.pings, second.heartbeats, second.start_ns + 10**9)
        documents += now.incidents
    (incident,) = newest(documents)
    assert (place in incident.tie_set, likeliest(incident)) == (True, kind)


def test_paths_inside_a_host_that_is_slow_at_both_ends_are_not_hit_by_themselves() -> None:
    assert not hit_inside(4_300.0, 2_000.0), "twice as late, and noise"
    assert hit_inside(59.0, 17.8), "the ring inside: 1 to 0.3"
    assert hit_inside(10.0, -0.5)
