"""Drift through the localizer: slow growth of latency is named, a growth of all paths is not."""

from __future__ import annotations

import pytest
from builders.clusters import START_S, Cluster, Message, Second, newest
from builders.clusters import observe as tell

from localizer.baselines import drift as baselines
from localizer.fabric.path_table import Path
from localizer.localizer import Localizer
from schemas.documents.incident import Incident

BLOCK_S = baselines.DEFAULT.block_s
CLUSTER = Cluster(hosts=8)
FIRST_S = -START_S % BLOCK_S


def unprobed(p: Path, at: int) -> None:
    """Only heartbeats."""


def said(hours: float, factor: dict[str, float]) -> list[Message]:
    """Probes every 10 s, windows every 30 s; paths through a ToR, or from a host, grow by its
    factor an hour."""
    out: list[Message] = []

    def weather(p: Path, at: int) -> Second:
        passed = (at - FIRST_S) / 3600
        growth = 1.05 if at % 7200 > 3600 else 1.0  # everyone's
        for name in {p.src_asw, p.dst_asw, p.src_node_sn}:
            growth *= 1 + factor.get(name, 0.0) * passed
        return Second(rtt_us=20.0 * growth)

    for at in range(FIRST_S, FIRST_S + int(3600 * hours) + 31, 30):
        for second in range(at - 29, at):
            out += CLUSTER.second(second - 1, weather if (at - second) % 10 == 0 else unprobed)
        *pane, punctuation = CLUSTER.second(at - 1, weather)
        out += [*pane, CLUSTER.window(at, weather), punctuation]
    return out


def drifted(hours: float, **factor: float) -> list[Incident]:
    localizer = Localizer(topology=CLUSTER.topology)
    found = tell(localizer, said(hours, factor)).incidents
    return newest(found + localizer.finish().incidents)


def test_a_tor_whose_paths_slow_down_by_three_per_cent_an_hour_is_named() -> None:
    (incident,) = drifted(2.6, asw10=0.03)
    assert (incident.component, incident.symptom) == ("tor:asw10", "high_latency")
    assert incident.evidence["drift"]["percent"] == pytest.approx(3.0, abs=1.6)  # type: ignore[index]
    assert "while the others did not" in str(incident.evidence["text"])


def test_a_fabric_that_slows_down_as_a_whole_is_no_incident() -> None:
    assert drifted(2.6, asw10=0.03, asw11=0.03, asw20=0.03, asw21=0.03) == []


def test_one_host_that_reports_ever_longer_times_convicts_nothing_else() -> None:
    assert drifted(2.1, h1=0.5) == []
