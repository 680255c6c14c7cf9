"""What probes cannot tell apart: components whose columns of the incidence are equal."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from builders.clusters import TWO_TIER, Cluster, End, path, reply, request
from builders.incidences import classes_of, incidence_of, learn_route, paths_of

from localizer.fabric.incidence.incidence import Incidence
from localizer.fabric.observability import Classes
from localizer.fabric.path_table import Path
from schemas.component_ids import kind_of
from schemas.documents.topology import Topology

#  h1.r1 - asw1 - (dsw1, dsw2) - asw2 - h2.r2
A = End("c1", "h1", "r1", "asw1")
B = End("c2", "h2", "r2", "asw2")
C = End("c3", "h3", "r3", "asw1")
D = End("c4", "h4", "r4", "asw2")


def tie_sets(paths: list[Path], live: list[bool] | None = None) -> list[set[str]]:
    mask = np.ones(len(paths), bool) if live is None else np.array(live)
    return [{*m} for m in without_hosts(classes_of(incidence_of(paths, TWO_TIER), mask))]


def without_hosts(groups: Classes) -> list[list[str]]:
    """Members of each class; with one rnic a host, the host itself is one of its class."""
    return [[name for name in m if kind_of(name) != "host"] for m in groups.members]


def everyone(ends: list[End], layers: tuple[str, ...] = ("underlay", "overlay")) -> list[Path]:
    return [path(a, b, layer) for a, b in permutations(ends, 2) for layer in layers]


def test_an_rnic_and_its_link_are_one_class() -> None:
    found = tie_sets(everyone([A, B, C, D]))
    for number, tor in ((1, 1), (2, 2), (3, 1), (4, 2)):
        assert {f"rnic:r{number}", f"link:rnic:r{number}|tor:asw{tor}"} in found


def test_a_vswitch_and_the_only_container_behind_it_are_one_class() -> None:
    found = tie_sets(everyone([A, B, C, D]))
    assert {"vswitch:h1", "container:c1"} in found


def test_two_containers_of_a_host_and_its_vswitch_are_three_classes() -> None:
    second = End("c1b", "h1", "r1", "asw1")
    found = tie_sets(everyone([A, second, B, C, D]))
    assert {"vswitch:h1"} in found
    assert {"container:c1"} in found
    assert {"container:c1b"} in found


def test_with_overlay_paths_only_rnic_vswitch_and_container_are_one_class() -> None:
    found = tie_sets(everyone([A, B, C, D], layers=("overlay",)))
    assert {"rnic:r1", "link:rnic:r1|tor:asw1", "vswitch:h1", "container:c1"} in found


def test_two_rnics_of_a_host_and_its_vswitch_are_three_classes_even_in_one_layer() -> None:
    second = End("c1", "h1", "r1b", "asw1")
    found = tie_sets(everyone([A, second, B, C, D], layers=("overlay",)))
    assert {"vswitch:h1", "container:c1"} in found
    assert {"rnic:r1", "link:rnic:r1|tor:asw1"} in found


def test_a_host_with_two_rnics_is_a_class_of_its_own() -> None:
    second = End("c1", "h1", "r1b", "asw1")
    incidence = incidence_of(everyone([A, second, B, C, D]), TWO_TIER)
    found = classes_of(incidence).members
    assert ["host:h1"] in found
    assert ["rnic:r2", "link:rnic:r2|tor:asw2", "host:h2"] in found, "and not when it has one"


def test_a_tor_with_one_rnic_is_in_one_class_with_it() -> None:
    found = tie_sets(everyone([A, B, D]))
    assert {"tor:asw1", "rnic:r1", "link:rnic:r1|tor:asw1"} in found


def test_spines_are_one_class_until_routes_are_traced() -> None:
    paths = [path(a, b, port=p) for a, b in ((A, B), (C, D), (B, A)) for p in (1, 2)]
    assert {"spine:dsw1", "spine:dsw2"} <= set().union(
        *(m for m in tie_sets(paths) if "spine:dsw1" in m)
    )
    incidence = incidence_of(paths, TWO_TIER)
    for p in paths:
        dsw = f"dsw{p.src_port}"
        learn_route(incidence, request(p), [p.src_asw, dsw, p.dst_asw])
        learn_route(incidence, reply(p), [p.dst_asw, dsw, p.src_asw])
    found = classes_of(incidence).members
    assert not any("spine:dsw1" in m and "spine:dsw2" in m for m in found)


def test_classes_are_those_of_live_paths_only() -> None:
    second = End("c1b", "h1", "r1", "asw1")
    paths = everyone([A, second, B, C])
    gone = [second.box not in (p.src_node_id, p.dst_node_id) for p in paths]
    assert {"vswitch:h1", "container:c1"} in tie_sets(paths, gone)
    assert not any("container:c1b" in m for m in tie_sets(paths, gone)), "no live path crosses it"


def test_the_likelier_cause_is_the_first_member() -> None:
    incidence = incidence_of(everyone([A, B, C, D]), TWO_TIER)
    found = without_hosts(classes_of(incidence))
    assert ["rnic:r1", "link:rnic:r1|tor:asw1"] in found
    assert ["vswitch:h1", "container:c1"] in found


def test_the_column_of_a_class_is_that_of_each_member() -> None:
    incidence = incidence_of(everyone([A, B, C, D]), TWO_TIER)
    whole = incidence.factored().matrices()[0].toarray()
    groups = classes_of(incidence)
    for column, members in enumerate(groups.members):
        for name in members:
            own = whole[:, incidence.components.index(name)]
            assert groups.incidence.toarray()[:, column] == pytest.approx(own)


def test_a_class_of_links_has_the_directions_of_its_first_member() -> None:
    there = path(A, B)
    incidence = Incidence(TWO_TIER)
    incidence.add(paths_of([there]))
    learn_route(incidence, request(there), ["asw1", "dsw1", "asw2"])
    groups = classes_of(incidence)
    assert not groups.directed.any(), "one path: links and spines are one class"
    other = path(A, End("c3", "h3", "r3", "asw3"))
    incidence = Incidence(
        Topology(
            switches=[*TWO_TIER.switches, TWO_TIER.switches[0].__class__("asw3", "asw")],
            links=[*TWO_TIER.links, ("asw3", "dsw1"), ("asw3", "dsw2")],
        )
    )
    incidence.add(paths_of([there, other]))
    for each, last in ((there, "asw2"), (other, "asw3")):
        learn_route(incidence, request(each), ["asw1", "dsw1", last])
        learn_route(incidence, reply(each), [last, "dsw2", "asw1"])
    groups = classes_of(incidence)
    (column,) = (k for k, m in enumerate(groups.members) if "link:spine:dsw1|tor:asw2" in m)
    assert groups.members[column] == ["link:spine:dsw1|tor:asw2", "link:spine:dsw2|tor:asw2"]
    assert groups.directed[column]
    assert groups.forward.toarray()[:, column].tolist() == [1.0, 0.0]
    assert groups.reverse.toarray()[:, column].tolist() == [0.0, 0.0]


def test_a_class_of_an_rnic_and_its_link_has_no_direction() -> None:
    cluster = Cluster()
    incidence = Incidence(cluster.topology)
    incidence.add(paths_of(cluster.paths))
    groups = classes_of(incidence)
    (column,) = (k for k, m in enumerate(groups.members) if "rnic:r3.1" in m)
    assert groups.members[column] == ["rnic:r3.1", "link:rnic:r3.1|tor:asw11"]
    assert not groups.directed[column]
