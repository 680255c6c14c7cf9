"""Bursts many seconds apart: the hosts that have not probed lately are observers, too."""

from __future__ import annotations

from collections.abc import Callable

from builders.clusters import START_S, Cluster, Second, newest, observe

from localizer.fabric.path_table import Path
from localizer.localizer import Localizer
from schemas.documents.incident import Incident
from schemas.documents.times import rfc3339

EVERY_S, PROBES, FAULT_S = 25, 20, 103
CLUSTER = Cluster(hosts=8, rails=2)


def judged_bursts(fails: Callable[[Path], bool], upto_s: int) -> list[Incident]:
    """Each host probes all others once in EVERY_S, h1 first, h8 last; overlay probes of
    which ``fails`` says so are lost from FAULT_S on."""

    def weather(p: Path, at: int) -> Second | None:
        if at % EVERY_S != 3 * int(p.src_node_sn[1]) or (at >= FAULT_S and p.src_node_id == "c2"):
            return None
        return Second(PROBES, PROBES * (at >= FAULT_S and p.layer == "overlay" and fails(p)))

    localizer, found = Localizer(topology=CLUSTER.topology), []
    for at in range(upto_s):
        found += observe(localizer, CLUSTER.second(at, weather)).incidents
    return found


def to_c2(p: Path) -> bool:
    return p.dst_node_id == "c2"


def test_the_first_host_that_loses_probes_is_not_blamed_while_the_others_have_sent_none() -> None:
    found = judged_bursts(to_c2, upto_s=FAULT_S + 60)
    assert not [name for each in found for name in each.tie_set if name.startswith("host:")]
    (incident,) = newest(found)
    assert incident.component == "container:c2"


def test_the_only_host_that_loses_probes_is_blamed_when_the_others_have_sent_theirs() -> None:
    found = judged_bursts(lambda p: to_c2(p) and p.src_node_sn == "h1", upto_s=FAULT_S + 60)
    assert {each.component for each in found} == {"host:h1"}
    others_probed_s = START_S + FAULT_S + EVERY_S - 4  # h8 is the last one
    assert found[0].detected_at > rfc3339(others_probed_s * 10**9)
