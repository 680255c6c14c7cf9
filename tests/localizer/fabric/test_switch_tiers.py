"""One device, one id, whether a document, a record or only routes tell its tier."""

from __future__ import annotations

import random

import numpy as np
import pytest
from builders.clusters import (
    THREE_TIER,
    TWO_TIER,
    Cluster,
    End,
    Second,
    newest,
    observe,
    path,
    reply,
    request,
    traced,
)
from builders.incidences import learn_route, paths_of

from localizer.fabric.incidence.incidence import Incidence
from localizer.fabric.path_table import Path
from localizer.localizer import Localizer
from schemas.component_ids import device
from schemas.documents.incident import Incident
from schemas.documents.topology import Topology

Hops = tuple[str, ...]

TWO_TIER_ROUTES: list[Hops] = [("asw1", "dsw1", "asw2"), ("asw2", "dsw2", "asw1")]
THREE_TIER_ROUTES: list[Hops] = [
    ("asw1", "psw1", "asw3"),  # within a pod: as long as a route of two tiers
    ("asw1", "psw1", "dsw1", "psw3", "asw2"),
    ("asw2", "psw4", "dsw2", "psw2", "asw1"),
]
#: The third ToR is in the pod of the first.
THREE_TIER_AND_POD = Topology(
    fabric="f1",
    switches=[*THREE_TIER.switches, type(THREE_TIER.switches[0])("asw3", "asw")],
    links=[*THREE_TIER.links, ("asw3", "psw1"), ("asw3", "psw2")],
)


def switches_and_links(topology: Topology | None, dsw: str, routes: list[Hops]) -> set[str]:
    """Ids of all switches, and of links between them, that some traced paths cross."""
    incidence = Incidence(topology)
    for number, hops in enumerate(routes):
        src = End(f"c{number}", f"h{number}", f"r{number}", hops[0], dsw)
        dst = End(f"d{number}", f"g{number}", f"q{number}", hops[-1], dsw)
        traced_path = path(src, dst, number=number)
        incidence.add(paths_of([traced_path]))
        learn_route(incidence, request(traced_path), list(hops))
        learn_route(incidence, reply(traced_path), list(reversed(hops)))
    crossed = incidence.factored().pooled(np.ones(len(routes)))
    names = [n for n, weight in zip(incidence.components, crossed, strict=True) if weight > 0]
    return {n for n in names if "rnic" not in n and n.partition(":")[0] in KINDS}


KINDS = ("tor", "agg", "spine", "link")


@pytest.mark.parametrize("dsw", ["", "dsw1"])
@pytest.mark.parametrize(
    ("document", "routes"),
    [(TWO_TIER, TWO_TIER_ROUTES), (THREE_TIER_AND_POD, THREE_TIER_ROUTES)],
    ids=["two tiers", "three tiers"],
)
def test_a_device_has_the_same_id_with_and_without_a_document_and_a_dsw_column(
    document: Topology, routes: list[Hops], dsw: str
) -> None:
    expected = switches_and_links(document, "", routes)
    assert switches_and_links(None, dsw, routes) == expected
    assert switches_and_links(document, dsw, routes) == expected


@pytest.mark.parametrize("seed", range(6))
def test_ids_do_not_depend_on_the_order_in_which_routes_are_learnt(seed: int) -> None:
    routes = list(THREE_TIER_ROUTES)
    random.Random(seed).shuffle(routes)
    expected = switches_and_links(THREE_TIER_AND_POD, "", routes)
    for dsw in ("", "dsw1"):
        assert switches_and_links(None, dsw, routes) == expected


def test_a_switch_above_a_tor_is_a_spine_until_a_route_shows_three_tiers() -> None:
    two, three = (switches_and_links(None, "", THREE_TIER_ROUTES[:n]) for n in (1, 3))
    assert {"spine:psw1", "link:spine:psw1|tor:asw1"} <= two
    assert {"agg:psw1", "link:agg:psw1|tor:asw1", "spine:dsw1"} <= three
    assert not {name for name in three if "spine:psw1" in name}


def test_a_switch_that_a_record_calls_a_tor_is_none_of_the_upper_tiers() -> None:
    incidence = Incidence(None)
    upper = path(End("c1", "h1", "r1", "asw1"), End("c2", "h2", "r2", "asw2"))
    incidence.add(paths_of([upper]))
    learn_route(incidence, request(upper), ["asw1", "x", "asw2"])
    assert incidence.factored() is not None
    assert "spine:x" in incidence.components
    incidence.add(
        paths_of([path(End("c3", "h3", "r3", "x"), End("c4", "h4", "r4", "asw2"), number=1)])
    )
    incidence.factored()
    assert "tor:x" in incidence.components
    assert not [name for name in incidence.components if "spine:x" in name or "agg:x" in name]


def test_ids_of_one_device_in_two_tiers_are_one_device() -> None:
    assert device("agg:x") == device("spine:x") == device("tor:x") != device("spine:y")
    assert device("link:agg:x|tor:t") == device("link:spine:x|tor:t")
    assert device("rnic:x") == "rnic:x"


def _odd(p: Path) -> bool:
    return p.src_port % 2 == 1


@pytest.mark.parametrize("late", [14, 25, 31])
def test_an_open_incident_keeps_its_id_when_its_switch_turns_out_to_be_of_another_tier(
    late: int,
) -> None:
    cluster = Cluster(hosts=8)
    localizer = Localizer()

    def weather(p: Path, at: int) -> Second:
        crosses = p.src_port % 2 and p.src_asw != p.dst_asw and "asw10" in (p.src_asw, p.dst_asw)
        return Second(lost=4 if at >= 10 and crosses else 0)

    found: list[Incident] = []
    for at in range(45):
        messages = cluster.second(at, weather)
        if at == 2:
            messages = [
                traced(cluster, lambda p: ("psw1" if p.src_port % 2 else "psw2",)),
                *messages,
            ]
        if at == late:  # somebody's route shows three tiers
            messages = [
                traced(cluster, lambda p: ("psw1", "dsw9", "psw8"), _odd, some=1),
                *messages,
            ]
        found += observe(localizer, messages).incidents
    names: dict[str, list[str]] = {doc.incident_id: [] for doc in found}
    for doc in found:
        names[doc.incident_id].append(doc.component)
    assert len(names) == 1, "one cause, one incident"
    ((first, *_, last),) = names.values()
    assert (device(first), first != last) == (device(last), True)
    assert last == "link:agg:psw1|tor:asw10"
    assert newest(found)[0].component == last
