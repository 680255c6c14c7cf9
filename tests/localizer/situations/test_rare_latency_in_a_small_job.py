"""Each pair of eight hosts is probed once in ten seconds: few others are answered at any time."""

from __future__ import annotations

from zlib import crc32

import pytest
from builders.clusters import Cluster, Second, newest, observe

from localizer.fabric.path_table import Path
from localizer.localizer import Localizer
from schemas.documents.incident import Incident

EVERY_S, FAULT_S, UPTO_S = 20, 400, 560  # a pair has two five-tuples, which take turns
CLUSTER = Cluster(hosts=8, rails=2)
AT_FAULT = "r3.1"


def probed(p: Path) -> bool:
    """Underlay, and two peers of each host."""
    apart = (int(p.dst_node_sn[1:]) - int(p.src_node_sn[1:])) % 8
    return p.layer == "underlay" and apart in (1, 3)


PHASE = {p: 7 * n % EVERY_S for n, p in enumerate(filter(probed, CLUSTER.paths))}


def draw(p: Path, at: int) -> float:
    """A number of [0, 1) that a path and a second have for good."""
    return crc32(f"{p.src_ip} {p.dst_ip} {p.src_port} {at}".encode()) / 2**32


def judged(slower_us: float, burst_s: int = 0) -> list[Incident]:
    """Probes of one rnic are so much slower from FAULT_S on, and all are in the first ``burst_s``
    of each half minute."""

    def weather(p: Path, at: int) -> Second | None:
        if PHASE.get(p) != at % EVERY_S:
            return None
        slower = slower_us * (at >= FAULT_S and AT_FAULT in (p.src_real_ip, p.dst_real_ip))
        rush = 40.0 * draw(p, at + 1) * (at % 30 < burst_s)
        return Second(1, rtt_us=20.0 + draw(p, at) + slower + rush)

    localizer, found = Localizer(topology=CLUSTER.topology), []
    for at in range(UPTO_S):
        windows = [CLUSTER.window(at + 1, weather)] if at % 5 == 4 else []
        second = CLUSTER.second(at, weather, beats=())
        found += observe(localizer, [*windows, *second]).incidents
    return found


@pytest.mark.parametrize("burst_s", [0, 3])
def test_a_slow_rnic_with_four_pairs_is_named(burst_s: int) -> None:
    found = newest(judged(40.0, burst_s))
    assert {each.component for each in found} == {f"rnic:{AT_FAULT}"}


def test_nothing_is_named_when_all_are_slow_at_times() -> None:
    assert judged(0.0, burst_s=6) == []
