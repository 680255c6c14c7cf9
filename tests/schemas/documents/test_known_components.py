"""Known components: whether a document names something of the site."""

from __future__ import annotations

import json

import pytest

from schemas.documents import maintenance, placement
from schemas.documents.known_components import Known, of_topology
from schemas.documents.maintenance import Maintenance
from schemas.documents.placement import Placement
from schemas.documents.topology import Host, Rnic, Switch, Topology

WORK = {
    "component": "tor:a1", "from": "2026-01-01T00:00:00Z", "until": "2026-01-02T00:00:00Z",
    "reason": "optics",
}  # fmt: skip
READY = {"node_id": "c1", "node_sn": "h1", "state": "ready", "valid_from": "2026-01-01T00:00:00Z"}


SITE = Topology(
    fabric="f1",
    hosts=[Host("h1", [Rnic("r1", asw="a1")], pod="p1")],
    switches=[Switch("a1", "asw"), Switch("s1", "dsw")],
    links=[("a1", "s1")],
)


def work(component: str) -> Maintenance:
    return maintenance.parse(json.dumps({**WORK, "component": component}).encode())


def placed(**changes: str) -> Placement:
    return placement.parse(json.dumps({**READY, **changes}).encode())


@pytest.mark.parametrize(
    "component",
    ["fabric:f1", "pod:p1", "host:h1", "agent:h1", "vswitch:h1", "rnic:r1", "tor:a1", "spine:s1",
     "link:rnic:r1|tor:a1", "link:spine:s1|tor:a1"],
)  # fmt: skip
def test_everything_in_a_topology_is_known(component: str) -> None:
    known = Known(frozenset({"f1"}), frozenset(of_topology(SITE)), complete=True)
    assert known.unknown_component(work(component)) is None


def test_an_unknown_name_is_reported_with_the_nearest_known_one() -> None:
    known = Known(frozenset({"f1"}), frozenset(of_topology(SITE)), complete=True)
    assert "did you mean 'tor:a1'?" in str(known.unknown_component(work("tor:a11")))
    assert "no agg is known" in str(known.unknown_component(work("agg:x")))
    assert known.unknown_component(work("link:spine:s1|rnic:r1")) is not None
    assert "did you mean 'f1'?" in str(known.foreign("f11"))
    assert known.unknown_host(placed()) is None
    assert "host 'h9', which is neither in" in str(known.unknown_host(placed(node_sn="h9")))
    assert known.unknown_host(placed(node_sn="h9", state="gone")) is None


def test_without_a_topology_traced_switches_and_links_between_known_ends_are_known() -> None:
    known = Known(frozenset({"f1"}), frozenset({"tor:a1"}), hops=frozenset({"s1"}))
    assert known.has("spine:s1")
    assert known.has("link:spine:s1|tor:a1")
    assert not known.has("link:spine:s2|tor:a1")
    assert not known.has("link:spine:s1")
