"""A component below a lossy switch gets worse, or is worse, while probes are rare."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest
from builders.clusters import Cluster, Second, newest, observe

from localizer.fabric.path_table import Path
from localizer.localizer import Localizer
from schemas.documents.incident import Incident

TOR, RNIC = "asw10", "r2.0"
EVERY_S = 5


@lru_cache
def incidents(seed: int, *, worse: float, since: int = 50) -> list[Incident]:
    """Twelve hosts, each five-tuple probed every five seconds: a ToR loses 10 % from second 50 on,
    and an rnic below it a share more from another second on."""
    few, draw = Cluster(hosts=12, rails=1), np.random.default_rng(seed)
    localizer = Localizer(topology=few.topology)
    found: list[Incident] = []

    def weather(p: Path, at: int) -> Second | None:
        if p.layer != "underlay" or (p.path_id // 2 + at) % EVERY_S:
            return None
        lossy = at >= 50 and TOR in (p.src_asw, p.dst_asw)
        bad = at >= since and RNIC in p.src_ip + p.dst_ip
        survive = (1 - 0.1 * lossy) * (1 - worse * bad)
        return Second(sent=1, lost=int(draw.random() > survive))

    for at in range(150):
        found += observe(localizer, few.second(at, weather)).incidents
    return newest(found)


@pytest.mark.parametrize("since", [50, 80])
@pytest.mark.parametrize("seed", range(3))
def test_an_rnic_that_is_worse_than_its_tor_is_named_beside_it(seed: int, since: int) -> None:
    found = incidents(seed, worse=0.3, since=since)
    assert {each.component for each in found} == {f"tor:{TOR}", f"rnic:{RNIC}"}


@pytest.mark.parametrize("seed", range(3))
def test_a_lossy_tor_is_named_alone_for_as_long_as_it_loses(seed: int) -> None:
    assert [each.component for each in incidents(seed, worse=0.0)] == [f"tor:{TOR}"]


@pytest.mark.parametrize("seed", range(3))
def test_what_one_host_alone_probes_below_a_lossy_tor_is_named_with_that_host(seed: int) -> None:
    """All of its paths cross the ToR, whose incident has them as bad already."""
    few, draw = Cluster(hosts=8, rails=1), np.random.default_rng(seed)
    localizer, found = Localizer(topology=few.topology), list[Incident]()

    def weather(p: Path, at: int) -> Second | None:
        if p.layer != "underlay" or RNIC in p.dst_ip:
            return None
        lossy, bad = at >= 20 and TOR in (p.src_asw, p.dst_asw), at >= 40 and RNIC in p.src_ip
        survive = (1 - 0.1 * lossy) * (1 - 0.5 * bad)
        return Second(sent=1, lost=int(draw.random() > survive))

    for at in range(70):
        found += observe(localizer, few.second(at, weather)).incidents
    tor, host = newest(found)
    assert (tor.component, host.component) == (f"tor:{TOR}", "host:h2")
    assert f"rnic:{RNIC}" in host.tie_set
