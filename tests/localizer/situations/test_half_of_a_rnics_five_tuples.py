"""A rnic slows half of its five-tuples, and few pairs cross it: named in half a minute.

That so few healthy paths look a bit slow in one window is too likely; that they are slow by far,
all through it, is not.
"""

from __future__ import annotations

from zlib import crc32

import pytest
from builders.clusters import Cluster, Second, newest, observe

from localizer.fabric.path_table import Path
from localizer.localizer import Localizer
from schemas.documents.incident import Incident

FAULT_S = 240
HOSTS = 16
CLUSTER = Cluster(hosts=HOSTS, rails=2)
AT_FAULT = "r3.1"


def near(p: Path) -> bool:
    """Underlay, from each host to the next three."""
    ahead = (int(p.dst_node_sn[1:]) - int(p.src_node_sn[1:])) % HOSTS
    return p.layer == "underlay" and ahead in (1, 2, 3)


def draw(p: Path, at: int) -> float:
    """A number of [0, 1) that a path and a second have for good."""
    return crc32(f"{p.src_ip} {p.dst_ip} {p.src_port} {at}".encode()) / 2**32


def judged(slower_us: float, share_of_answers: float = 1.0, seconds: int = 35) -> list[Incident]:
    """Of the five-tuples of one rnic, the first of each pair is slower, in such a share of its
    answers."""

    def weather(p: Path, at: int) -> Second | None:
        if not near(p):
            return None
        ends = (p.src_real_ip, p.dst_real_ip)
        hit = at >= FAULT_S and AT_FAULT in ends and p.src_port == 50_000
        slower = slower_us * (hit and draw(p, at) < share_of_answers)
        return Second(1, rtt_us=20.0 + draw(p, at // 5) + slower)

    localizer, found = Localizer(topology=CLUSTER.topology), []
    for at in range(FAULT_S + seconds):
        windows = [CLUSTER.window(at + 1, weather)] if at % 5 == 4 else []
        found += observe(localizer, [*windows, *CLUSTER.second(at, weather)]).incidents
    return newest(found)


def test_it_is_named_in_half_a_minute() -> None:
    (incident,) = judged(60.0)
    assert incident.component == f"rnic:{AT_FAULT}"
    assert incident.symptom == "high_latency"


@pytest.mark.parametrize(("slower_us", "share_of_answers"), [(6.0, 1.0), (60.0, 0.4)])
def test_it_waits_where_they_are_slow_by_little_or_now_and_then(
    slower_us: float, share_of_answers: float
) -> None:
    assert judged(slower_us, share_of_answers) == []
