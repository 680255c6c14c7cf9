"""What no probe crosses, and which links only perhaps."""

from __future__ import annotations

import msgspec
from builders.clusters import TWO_TIER

from localizer.coverage import covered
from schemas.component_ids import component, link
from schemas.documents.known_components import of_topology
from schemas.documents.topology import Host, Rnic

LINKS = {
    link(component("tor", tor), component("spine", spine))
    for tor in ("asw1", "asw2")
    for spine in ("dsw1", "dsw2")
}
POLARIZED = {each for each in LINKS if each.endswith("dsw2") or "dsw2" in each}


def test_all_that_probes_cross_on_known_routes_is_covered() -> None:
    every = of_topology(TWO_TIER)
    assert covered(TWO_TIER, every, every) == (8, [], [])


def test_switches_and_links_that_no_probe_crosses_are_uncovered() -> None:
    crossed = of_topology(TWO_TIER) - POLARIZED - {"spine:dsw2"}
    found = covered(TWO_TIER, crossed, crossed)
    assert found.uncovered == sorted([*POLARIZED, "spine:dsw2"])
    assert found.untraced == []


def test_links_that_only_unknown_routes_may_cross_are_untraced_not_uncovered() -> None:
    every = of_topology(TWO_TIER)
    found = covered(TWO_TIER, every, every - POLARIZED)
    assert (found.uncovered, found.untraced) == ([], sorted(POLARIZED))


def test_without_any_known_route_no_link_is_called_untraced() -> None:
    assert covered(TWO_TIER, of_topology(TWO_TIER), {"tor:asw1"}).untraced == []


def test_each_cable_of_a_bonded_rnic_counts() -> None:
    hosts = [Host("h1", [Rnic("r1", asws=["asw1", "asw2"])])]
    bonded = msgspec.structs.replace(TWO_TIER, hosts=hosts)
    every = of_topology(bonded)
    unused = "link:rnic:r1|tor:asw2"
    assert unused in every
    assert covered(bonded, every - {unused}, every).uncovered == [unused]
