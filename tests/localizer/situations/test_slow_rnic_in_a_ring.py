"""In a plain ring two pairs cross each rnic: too few for one window, but not for three in a row."""

from __future__ import annotations

from zlib import crc32

import pytest
from builders.clusters import Cluster, Second, newest, observe

from localizer.fabric.path_table import Path
from localizer.localizer import Localizer
from schemas.documents.incident import Incident

FAULT_S = 240
CLUSTER = Cluster(hosts=16, rails=2)
AT_FAULT = "r3.1"


def in_ring(p: Path) -> bool:
    """Underlay, from each host to the next one."""
    return p.layer == "underlay" and (int(p.dst_node_sn[1:]) - int(p.src_node_sn[1:])) % 16 == 1


def draw(p: Path, at: int) -> float:
    """A number of [0, 1) that a path and a second have for good."""
    return crc32(f"{p.src_ip} {p.dst_ip} {p.src_port} {at}".encode()) / 2**32


def judged(slower_us: float, length_s: int, rush_us: float = 0.0) -> list[Incident]:
    """Probes of one rnic are slower for so long; two pairs of another one are so for 50 s of each
    four minutes, by ``rush_us``."""

    def weather(p: Path, at: int) -> Second | None:
        if not in_ring(p):
            return None
        ends = (p.src_real_ip, p.dst_real_ip)
        slower = slower_us * (FAULT_S <= at < FAULT_S + length_s and AT_FAULT in ends)
        rush = rush_us * (at % 240 >= 190 and "r9.0" in ends)
        return Second(1, rtt_us=20.0 + draw(p, at // 5) + slower + rush)

    localizer, found = Localizer(topology=CLUSTER.topology), []
    for at in range(FAULT_S + length_s):
        windows = [CLUSTER.window(at + 1, weather)] if at % 5 == 4 else []
        found += observe(localizer, [*windows, *CLUSTER.second(at, weather)]).incidents
    return newest(found)


def test_it_is_named_within_a_hundred_seconds() -> None:
    (incident,) = judged(30.0, 110)
    assert incident.component == f"rnic:{AT_FAULT}"
    assert incident.symptom == "high_latency"


@pytest.mark.parametrize("rush_us", [0.0, 30.0])
def test_what_slows_two_pairs_for_less_than_a_minute_is_no_incident(rush_us: float) -> None:
    assert judged(30.0, 50, rush_us) == []
