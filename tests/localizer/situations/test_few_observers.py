"""Small jobs: components that two hosts probe, or one, and no other."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from builders.clusters import FINE, Cluster, Second, newest, observe

from localizer.fabric.path_table import Path
from localizer.localizer import Localizer
from schemas.documents.incident import Incident

DEAD = Second(lost=4)
SLOW = Second(rtt_us=60.0)


@pytest.mark.parametrize("hosts", [3, 4])
def test_a_container_that_only_two_hosts_probe_is_named_when_both_see_it(hosts: int) -> None:
    """A small job, or one whose other containers are not ready: no third host will ever tell."""
    few = Cluster(hosts=hosts)

    def crashed(p: Path, at: int) -> Second | None:
        if p.layer == "underlay" or at < 12:
            return FINE
        quiet = {"c2", "c4"}  # one crashed, one is not there
        return (
            None
            if p.src_node_id in quiet or p.dst_node_id == "c4"
            else (DEAD if p.dst_node_id == "c2" else FINE)
        )

    localizer, found = Localizer(topology=few.topology), []
    for at in range(30):
        found += observe(localizer, few.second(at, crashed)).incidents
    (incident,) = newest(found)
    assert incident.component == "container:c2"


def test_of_two_hosts_of_which_one_probes_the_other_both_may_be_at_fault() -> None:
    pair = Cluster(hosts=2)

    def crashed(p: Path, at: int) -> Second | None:
        if p.layer == "underlay" or at < 12:
            return FINE
        return None if p.src_node_id == "c2" else (DEAD if p.dst_node_id == "c2" else FINE)

    localizer, found = Localizer(topology=pair.topology), []
    for at in range(30):
        found += observe(localizer, pair.second(at, crashed)).incidents
    (incident,) = newest(found)
    assert {"host:h1", "container:c2"} <= set(incident.tie_set)
    assert "only h1 probes" in str(incident.evidence["text"])


def test_an_rnic_that_only_its_own_host_probes_is_named_beside_another_culprit() -> None:
    """No other host will ever tell, so to wait until the other trouble is over gains nothing."""
    few = Cluster(hosts=8)

    def weather(p: Path, at: int) -> Second | None:
        if "r2.0" in p.dst_ip:
            return None
        bad = at >= 12 and ("r2.0" in p.src_ip or "r6.0" in p.src_ip + p.dst_ip)
        return Second(lost=1) if bad and p.layer == "underlay" else FINE

    localizer, found = Localizer(topology=few.topology), []
    for at in range(30):
        found += observe(localizer, few.second(at, weather)).incidents
    first, second = newest(found)
    assert first.component == "rnic:r6.0"
    assert (second.component, second.parent) == ("host:h2", None)
    assert "rnic:r2.0" in second.tie_set
    assert "only h2 probes rnic:r2.0, so either may be at fault" in str(second.evidence["text"])


def two_probe_c2(slow: Callable[[Path], bool]) -> list[Incident]:
    """Six hosts with four rails; only h3 and h6 probe the overlay of c2, which itself is silent."""
    few = Cluster(hosts=6, rails=4)

    def weather(p: Path, at: int) -> Second | None:
        if p.layer == "underlay":
            return FINE
        if p.src_node_id == "c2" or (p.dst_node_id == "c2" and p.src_node_sn not in ("h3", "h6")):
            return None
        return SLOW if at >= 60 and slow(p) else FINE

    localizer, found = Localizer(topology=few.topology), []
    for at in range(100):
        *said, punctuation = few.second(at, weather)
        if (at + 1) % 5 == 0:
            said.append(few.window(at + 1, weather))
        found += observe(localizer, [*said, punctuation]).incidents
    return newest(found)


def test_latency_that_both_of_two_hosts_see_is_named() -> None:
    (incident,) = two_probe_c2(lambda p: p.dst_node_id == "c2")
    assert set(incident.tie_set) == {"vswitch:h2", "container:c2"}
    assert incident.symptom == "high_latency"


@pytest.mark.parametrize("other", [0, 1])
def test_of_two_hosts_one_alone_convicts_nothing_by_latency(other: int) -> None:
    """Not even if one five-tuple of the other is slow by chance."""

    def lies(p: Path) -> bool:
        mine = p.src_node_sn == "h3" or (
            bool(other) and (p.src_node_sn, p.src_ip[-1], p.src_port) == ("h6", "0", 50_000)
        )
        return p.dst_node_id == "c2" and mine

    assert [i.component for i in two_probe_c2(lies) if i.kind != "host"] == []
