"""Bursts many seconds apart: an outage hits the bursts of some paths and misses those of others."""

from __future__ import annotations

import pytest
from builders.clusters import Cluster, Second, newest, observe

from localizer import strategies
from localizer.evidence import Attribution, Evidence
from localizer.fabric.path_table import Path
from localizer.localizer import Localizer

EVERY_S, PROBES = 25, 100
BROKEN, OUTAGE_S = "r1.0", range(110, 150)
CLUSTER = Cluster(hosts=8, rails=2)


def test_minutes_later_no_strategy_is_asked_what_explains_its_losses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No rate of any component does: the search would add one culprit after another."""
    asked_s: list[int] = []
    now_s, get = 0, strategies.get

    def asked(evidence: Evidence) -> list[Attribution]:
        asked_s.append(now_s)
        return get("hypothesis")(evidence)

    def weather(p: Path, at: int) -> Second | None:
        if (at - 3 * int(p.src_node_sn[1]) - int(p.dst_node_sn[1])) % EVERY_S:
            return None
        hit = at in OUTAGE_S and BROKEN in (p.src_real_ip, p.dst_real_ip)
        return Second(PROBES, PROBES * hit)

    monkeypatch.setattr(strategies, "get", lambda _: asked)
    localizer, found = Localizer(topology=CLUSTER.topology), []
    for now_s in range(600):
        found += observe(localizer, CLUSTER.second(now_s, weather)).incidents
    assert {each.state for each in newest(found)} == {"resolved"}
    assert len(newest(found)) == 1
    assert asked_s
    assert max(asked_s) < OUTAGE_S.stop + 2 * EVERY_S + 30
