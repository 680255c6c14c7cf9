"""Each pair is probed once in ten seconds, and no host sends heartbeats, as in files."""

from __future__ import annotations

from collections.abc import Callable
from zlib import crc32

import pytest
from builders.clusters import Cluster, Second, newest, observe

from localizer.fabric.path_table import Path
from localizer.localizer import Localizer
from schemas.documents.incident import Incident

EVERY_S, FAULT_S = 10, 120
CLUSTER = Cluster(hosts=8, rails=2)


def draw(p: Path, at: int) -> float:
    """A number of [0, 1) that a path and a second have for good."""
    return crc32(f"{p.src_ip} {p.dst_ip} {p.layer} {at}".encode()) / 2**32


def judged(share: Callable[[Path], float | None], upto_s: int) -> list[Incident]:
    """Underlay probes to two peers of each host, of which a share is lost from FAULT_S on; None:
    they are not even sent."""

    def weather(p: Path, at: int) -> Second | None:
        apart = (int(p.dst_node_sn[1:]) - int(p.src_node_sn[1:])) % 8
        phase = int(EVERY_S * draw(p, -1))
        if p.layer != "underlay" or apart not in (1, 3) or at % EVERY_S != phase:
            return None
        lost = share(p) if at >= FAULT_S else 0.0
        return None if lost is None else Second(1, int(draw(p, at) < lost))

    localizer, found = Localizer(topology=CLUSTER.topology), []
    for at in range(upto_s):
        found += observe(localizer, CLUSTER.second(at, weather, beats=())).incidents
    return found


@pytest.mark.parametrize("lost", [0.4, 0.7, 1.0])
def test_a_lossy_rnic_is_named_and_no_host_is_taken_for_silent(lost: float) -> None:
    at_fault = CLUSTER.topology.hosts[2].rnics[1].real_ip
    found = judged(lambda p: lost * (at_fault in (p.src_real_ip, p.dst_real_ip)), FAULT_S + 120)
    assert {each.component for each in newest(found)} == {f"rnic:{at_fault}"}


def test_nothing_is_named_while_nothing_is_lost() -> None:
    assert judged(lambda _: 0.0, FAULT_S + 120) == []


def test_a_dead_host_is_named_within_three_rounds() -> None:
    def share(p: Path) -> float | None:
        return None if p.src_node_sn == "h3" else float(p.dst_node_sn == "h3")

    assert {each.component for each in judged(share, FAULT_S + 3 * EVERY_S)} == {"host:h3"}
