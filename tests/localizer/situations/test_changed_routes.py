"""A lossy spine is drained, or all five-tuples move: old losses are not laid on new routes."""

from __future__ import annotations

from zlib import crc32

import pytest
from builders.clusters import Cluster, Message, Second, newest, observe, traced

from localizer.fabric.path_table import Path
from localizer.localizer import Localizer
from schemas.documents.incident import Incident

FAULT_S, MOVED_S, UPTO_S, TRACE_S = 100, 160, 340, 60
CLUSTER = Cluster(hosts=12)
SPINES = ("s0", "s1", "s2", "s3")


def draw(p: Path, *more: int) -> float:
    """A number of [0, 1) that a path has for good."""
    ends = sorted([p.src_ip, p.dst_ip])
    return crc32(f"{ends} {p.layer} {p.src_port} {more}".encode()) / 2**32


def spine(p: Path, at: int, left: tuple[str, ...], again: int) -> str:
    """The spine on the way there and back: drawn anew at MOVED_S where that leaves some spines, or
    everything moves."""
    before = SPINES[int(4 * draw(p))]
    if at < MOVED_S or not (before in left or again):
        return before
    rest = [each for each in SPINES if each not in left]
    return rest[int(len(rest) * draw(p, 1))]


def judged(
    lossy: tuple[str, str] | str, left: tuple[str, ...] = (), again: int = 0
) -> list[Incident]:
    """No document; a route is traced once a minute. A spine, or a link of it, loses a fifth."""

    def crosses(p: Path, at: int) -> bool:
        over = spine(p, at, left, again)
        if isinstance(lossy, str):
            return over == lossy
        return over == lossy[0] and lossy[1] in (p.src_asw, p.dst_asw)

    def weather(p: Path, at: int) -> Second:
        hurt = at >= FAULT_S and p.src_asw != p.dst_asw and crosses(p, at)
        return Second(1, int(hurt and draw(p, at, 2) < 0.2))

    def routes(at: int) -> Message:
        return traced(
            CLUSTER, lambda p: [spine(p, at, left, again)],
            which=lambda p: at % TRACE_S == int(TRACE_S * draw(p, 3)),
        )  # fmt: skip

    localizer, found = Localizer(), []
    for at in range(UPTO_S):
        found += observe(localizer, [routes(at), *CLUSTER.second(at, weather)]).incidents
    return newest(found)


def test_only_the_drained_spine_is_named() -> None:
    found = judged("s3", left=("s3",))
    assert found
    for incident in found:
        assert "spine:s3" in incident.component
        assert incident.state == "resolved"


@pytest.mark.parametrize("lossy", ["s3", ("s3", "asw10")])
def test_no_other_component_is_named_when_all_routes_change(lossy: tuple[str, str] | str) -> None:
    at_fault = lossy if isinstance(lossy, str) else lossy[0]
    found = judged(lossy, again=1)
    assert found
    assert all(at_fault in each.component for each in found)
