"""A topology document that replaces another while an incident is open."""

from __future__ import annotations

import msgspec
import pytest
from builders.clusters import FINE, START_S, Cluster, Message, Second, newest, observe

from localizer.fabric.path_table import Path
from localizer.localizer import Localizer
from schemas.documents.incident import Incident
from schemas.documents.times import rfc3339
from schemas.documents.topology import Host, Topology

CLUSTER = Cluster(hosts=8)
BAD_S, CHANGE_S, END_S = 10, 25, 40
BEFORE = "link:rnic:r3.1|tor:asw11"
AFTER = "link:rnic:r3.1|tor:asw21"


def moved(at_s: float = CHANGE_S) -> Topology:
    """The cable of r3.1 leads to the rail's other ToR from then on."""

    def rewired(host: Host) -> Host:
        rnics = [
            msgspec.structs.replace(rnic, asw="asw21") if rnic.real_ip == "r3.1" else rnic
            for rnic in host.rnics
        ]
        return msgspec.structs.replace(host, rnics=rnics)

    before = CLUSTER.topology
    valid_from = rfc3339(int((START_S + at_s) * 1e9))
    hosts = [rewired(host) for host in before.hosts]
    return msgspec.structs.replace(before, hosts=hosts, valid_from=valid_from)


def weather(path: Path, at: int) -> Second:
    bad = "r3.1" in (path.src_real_ip, path.dst_real_ip)
    return Second(lost=1) if bad and at >= BAD_S else FINE


SECONDS: list[list[Message]] = [CLUSTER.second(at, weather) for at in range(END_S)]


def run(document: Topology | None, arrives_s: int = 0) -> list[Incident]:
    """Every version of every incident; the document comes before the messages of a second."""
    localizer = Localizer(topology=CLUSTER.topology)
    found: list[Incident] = []
    for at, messages in enumerate(SECONDS):
        if document is not None and at == arrives_s:
            localizer.follow([document])
        found += observe(localizer, messages).incidents
    return found + localizer.finish().incidents


def test_a_moved_cable_takes_effect_and_the_incident_keeps_its_id() -> None:
    versions = run(moved(), arrives_s=20)
    (last,) = newest(versions)
    assert {each.incident_id for each in versions} == {last.incident_id}
    assert last.opened_at == versions[0].opened_at
    assert BEFORE in versions[0].tie_set
    assert AFTER in last.tie_set
    assert BEFORE not in last.tie_set


@pytest.mark.parametrize("arrives_s", [1, 13, 24, CHANGE_S])
def test_what_is_judged_does_not_depend_on_when_the_document_comes(arrives_s: int) -> None:
    assert run(moved(), arrives_s) == run(moved())


def test_a_document_that_comes_late_holds_from_then_on() -> None:
    (late,), (never,) = newest(run(moved(CHANGE_S), arrives_s=30)), newest(run(None))
    assert AFTER in late.tie_set
    assert BEFORE in never.tie_set


def test_a_document_of_another_fabric_changes_nothing() -> None:
    other = msgspec.structs.replace(moved(), fabric="f2")
    assert run(other) == run(None)
