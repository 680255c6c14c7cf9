"""Paths are located anew when another topology document holds; what was traced stays."""

from __future__ import annotations

import msgspec
from builders.clusters import TWO_TIER, End, path, request
from builders.incidences import directed_rows, incidence_of, learn_route, paths_of

from localizer.fabric.incidence.incidence import Incidence
from schemas.documents.topology import Host, Rnic, Switch, Topology

#  h1.r1 - asw1 - (dsw1, dsw2) - asw2 - h2.r2
A = End("c1", "h1", "r1", "asw1")
B = End("c2", "h2", "r2", "asw2")
PATHS = [path(A, B, port=50_000, number=0), path(A, B, port=50_001, number=1)]


def links(*of: tuple[str, str], **other: object) -> Topology:
    return msgspec.structs.replace(TWO_TIER, links=list(of), **other)


#: The cable asw1 - dsw1 leads to dsw3 now.
MOVED = links(
    ("asw1", "dsw3"), ("asw1", "dsw2"), ("asw2", "dsw1"), ("asw2", "dsw2"), ("asw2", "dsw3"),
    switches=[*TWO_TIER.switches, Switch("dsw3", "dsw")],
)  # fmt: skip


def crossed(incidence: Incidence, row: int = 0) -> dict[str, float]:
    """Component between the rnics -> how certainly the request or the reply crosses it."""
    return {
        name: max(shares)
        for name, shares in directed_rows(incidence)[row].items()
        if not name.startswith(("rnic:", "host:", "link:rnic:"))
    }


def test_an_untraced_path_crosses_the_switches_of_the_new_document() -> None:
    incidence = incidence_of(PATHS, TWO_TIER)
    assert crossed(incidence)["spine:dsw1"] == 0.5
    after = incidence.following(MOVED, paths_of(PATHS))
    assert crossed(after) == crossed(incidence_of(PATHS, MOVED))
    assert crossed(after)["spine:dsw3"] == 0.5
    assert after.version > incidence.version


def test_a_traced_route_over_cables_that_are_still_there_stays() -> None:
    incidence = incidence_of(PATHS, TWO_TIER)
    learn_route(incidence, request(PATHS[0]), ["asw1", "dsw2", "asw2"])
    after = incidence.following(MOVED, paths_of(PATHS))
    assert crossed(after, 0)["link:spine:dsw2|tor:asw1"] == 1.0
    assert crossed(after, 1)["link:spine:dsw2|tor:asw1"] == 0.5


def test_a_traced_route_over_a_cable_that_is_gone_is_dropped() -> None:
    incidence = incidence_of(PATHS, TWO_TIER)
    learn_route(incidence, request(PATHS[0]), ["asw1", "dsw1", "asw2"])
    after = incidence.following(MOVED, paths_of(PATHS))
    assert crossed(after) == crossed(incidence_of(PATHS, MOVED))


def test_a_route_may_cross_a_cable_that_neither_document_has() -> None:
    incidence = incidence_of(PATHS, links(("asw1", "dsw2"), ("asw2", "dsw2")))
    learn_route(incidence, request(PATHS[0]), ["asw1", "dsw1", "asw2"])
    after = incidence.following(links(("asw1", "dsw2"), ("asw2", "dsw2")), paths_of(PATHS))
    assert crossed(after)["spine:dsw1"] == 1.0, "a traceroute is better evidence than a document"


def test_a_learnt_fabric_keeps_its_routes_under_the_tiers_of_the_document() -> None:
    incidence = incidence_of(PATHS, None)
    learn_route(incidence, request(PATHS[0]), ["asw1", "dsw1", "asw2"])
    after = incidence.following(TWO_TIER, paths_of(PATHS))
    assert crossed(after)["spine:dsw1"] == 1.0


def test_a_switch_may_be_of_another_tier_in_the_new_document() -> None:
    incidence = incidence_of(PATHS, TWO_TIER)
    learn_route(incidence, request(PATHS[0]), ["asw1", "dsw1", "asw2"])
    tiers = [Switch(s.id, "psw" if s.tier == "dsw" else "asw") for s in TWO_TIER.switches]
    after = incidence.following(links(*TWO_TIER.links, switches=tiers), paths_of(PATHS))
    assert crossed(after)["agg:dsw1"] == 1.0


def test_an_rnic_whose_cable_has_moved_is_behind_the_switch_of_the_document() -> None:
    moved = links(*TWO_TIER.links, hosts=[Host("h1", [Rnic("r1", 0, "asw2")])])
    incidence = incidence_of(PATHS, TWO_TIER)
    learn_route(incidence, request(PATHS[0]), ["asw1", "dsw1", "asw2"])
    after = incidence.following(moved, paths_of(PATHS))
    assert crossed(after) == {"tor:asw2": 1.0}
    assert "link:rnic:r1|tor:asw2" in directed_rows(after)[0]


def test_the_document_names_the_access_switch_and_the_record_only_where_it_does_not() -> None:
    document = links(*TWO_TIER.links, hosts=[Host("h1", [Rnic("r1", 0, "asw2")])])
    wrong = [path(A, B), path(B, A, number=1)]
    for row in directed_rows(incidence_of(wrong, document)):
        assert "link:rnic:r1|tor:asw2" in row
        assert "link:rnic:r2|tor:asw2" in row


def test_nothing_is_lost_without_paths() -> None:
    after = Incidence(TWO_TIER).following(MOVED, paths_of([]))
    after.add(paths_of(PATHS))
    assert crossed(after)["spine:dsw3"] == 0.5
