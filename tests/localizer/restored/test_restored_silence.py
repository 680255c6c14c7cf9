"""A worker that starts goes on with hosts that were silent before all that it reads again."""

from __future__ import annotations

import msgspec
import pytest
from builders.clusters import FINE, Cluster, Second, newest, observe

from localizer.fabric.path_table import Path
from localizer.localizer import Localizer
from schemas.documents.incident import Incident

CLUSTER = Cluster(hosts=8, rails=1)
TOPOLOGY = msgspec.structs.replace(
    CLUSTER.topology,
    hosts=[
        msgspec.structs.replace(host, pod="east" if host.node_sn < "h5" else "west")
        for host in CLUSTER.topology.hosts
    ],
)
HOST, EAST = {"h2"}, {"h1", "h2", "h3", "h4"}
REFUSED, DEAD = Second(refused=4), Second(lost=4)
LATER_S = 900  # longer than what a worker reads again


def judged(localizer: Localizer, seconds: range, off: set[str], meets: Second) -> list[Incident]:
    """The incidents while these hosts send neither heartbeats nor probes."""

    def weather(p: Path, _: int) -> Second | None:
        if p.src_node_sn in off:
            return None
        return meets if p.dst_node_sn in off else FINE

    said = [{"node_sn": f"h{n}"} for n in range(1, 9) if f"h{n}" not in off]
    return [
        incident
        for at in seconds
        for incident in observe(localizer, CLUSTER.second(at, weather, beats=said)).incidents
    ]


def open_incident(off: set[str], meets: Second) -> Incident:
    localizer = Localizer(topology=TOPOLOGY)
    judged(localizer, range(12), set(), FINE)
    (incident,) = newest(judged(localizer, range(12, 40), off, meets))
    assert incident.state != "resolved"
    return incident


@pytest.mark.parametrize(
    ("off", "meets", "component"),
    [
        (HOST, REFUSED, "agent:h2"), (HOST, DEAD, "host:h2"),
        (EAST, REFUSED, "pod:east"), (EAST, DEAD, "pod:east"),
    ],
)  # fmt: skip
def test_an_incident_about_silence_outlasts_the_start_of_a_worker(
    off: set[str], meets: Second, component: str
) -> None:
    before = open_incident(off, meets)
    assert before.component == component
    localizer = Localizer(topology=TOPOLOGY)
    localizer.restore([before])
    found = newest(judged(localizer, range(LATER_S, LATER_S + 90), off, meets))
    assert {(i.incident_id, i.component) for i in found} <= {(before.incident_id, component)}
    assert localizer.open_incidents == 1
    found = newest(judged(localizer, range(LATER_S + 90, LATER_S + 180), set(), FINE))
    (over,) = found
    assert (over.incident_id, over.state) == (before.incident_id, "resolved")


def test_hosts_of_a_pod_are_known_from_a_topology_document_of_the_topic() -> None:
    before = open_incident(EAST, DEAD)
    localizer = Localizer()
    localizer.restore([before])
    localizer.follow([TOPOLOGY])
    found = newest(judged(localizer, range(LATER_S, LATER_S + 90), EAST, DEAD))
    assert {i.incident_id for i in found} <= {before.incident_id}
    assert localizer.open_incidents == 1


def test_a_host_that_came_back_while_no_worker_judged_is_not_silent() -> None:
    before = open_incident(HOST, DEAD)
    localizer = Localizer(topology=TOPOLOGY)
    localizer.restore([before])
    (over,) = newest(judged(localizer, range(LATER_S, LATER_S + 90), set(), FINE))
    assert (over.incident_id, over.state) == (before.incident_id, "resolved")


def test_seconds_before_the_incident_are_judged_as_they_were() -> None:
    """The messages that are read again begin before the incident."""
    before = open_incident(HOST, REFUSED)
    localizer = Localizer(topology=TOPOLOGY)
    localizer.restore([before])
    assert judged(localizer, range(12), set(), FINE) == []
    again = newest(judged(localizer, range(12, 60), HOST, REFUSED))
    assert {(i.incident_id, i.opened_at) for i in again} <= {(before.incident_id, before.opened_at)}
    assert localizer.open_incidents == 1
