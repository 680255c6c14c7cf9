"""Which components a path crosses, with what share, in which direction."""

from __future__ import annotations

from itertools import permutations

import numpy as np
from builders.clusters import TWO_TIER, End, path, reply, request
from builders.incidences import directed_rows, incidence_of, learn_route, paths_of

from localizer.fabric.incidence.incidence import Incidence
from localizer.fabric.path_table import Path
from schemas.component_ids import kind_of
from schemas.documents.topology import Topology

#  h1.r1 - asw1 - (dsw1, dsw2) - asw2 - h2.r2
A = End("c1", "h1", "r1", "asw1")
B = End("c2", "h2", "r2", "asw2")
C = End("c3", "h3", "r3", "asw1")
D = End("c4", "h4", "r4", "asw2")


def shares(paths: list[Path], topology: Topology | None = TWO_TIER) -> list[dict[str, float]]:
    return rows_of(incidence_of(paths, topology))


def rows_of(incidence: Incidence) -> list[dict[str, float]]:
    """Per path: component -> mean share, without hosts."""
    dense = incidence.factored().matrices()[0].toarray()
    return [
        {
            name: float(v)
            for name, v in zip(incidence.components, row, strict=True)
            if v and kind_of(name) != "host"
        }
        for row in dense
    ]


def everyone(ends: list[End], layers: tuple[str, ...] = ("underlay", "overlay")) -> list[Path]:
    return [path(a, b, layer) for a, b in permutations(ends, 2) for layer in layers]


# --- shares -----------------------------------------------------------------------------------


def test_an_underlay_path_crosses_both_rnics_their_links_and_the_ecmp_alternatives() -> None:
    assert shares([path(A, B)]) == [
        {
            "rnic:r1": 1.0, "rnic:r2": 1.0,
            "link:rnic:r1|tor:asw1": 1.0, "link:rnic:r2|tor:asw2": 1.0,
            "tor:asw1": 1.0, "tor:asw2": 1.0, "spine:dsw1": 0.5, "spine:dsw2": 0.5,
            "link:spine:dsw1|tor:asw1": 0.5, "link:spine:dsw1|tor:asw2": 0.5,
            "link:spine:dsw2|tor:asw1": 0.5, "link:spine:dsw2|tor:asw2": 0.5,
        }
    ]  # fmt: skip


def test_an_overlay_path_crosses_both_vswitches_and_containers_besides() -> None:
    under, over = shares([path(A, B), path(A, B, "overlay")])
    assert over.keys() - under.keys() == {
        "vswitch:h1", "vswitch:h2", "container:c1", "container:c2",
    }  # fmt: skip
    assert {over[name] for name in over.keys() - under.keys()} == {1.0}


def test_every_path_crosses_both_hosts() -> None:
    incidence = incidence_of([path(A, B), path(A, B, "overlay")], TWO_TIER)
    dense = incidence.factored().matrices()[0].toarray()
    for host in ("host:h1", "host:h2"):
        assert dense[:, incidence.components.index(host)].tolist() == [1.0, 1.0]


def test_neighbours_behind_one_tor_cross_nothing_above_it() -> None:
    (row,) = shares([path(A, C)])
    assert {*row} == {
        "rnic:r1", "rnic:r3", "tor:asw1", "link:rnic:r1|tor:asw1", "link:rnic:r3|tor:asw1",
    }  # fmt: skip


def test_a_path_from_an_rnic_to_itself_crosses_no_link() -> None:
    other = End("c9", "h1", "r1", "asw1")
    (row,) = shares([path(A, other, "overlay")])
    assert {*row} == {"rnic:r1", "vswitch:h1", "container:c1", "container:c9"}


def test_a_traceroute_makes_one_direction_exact_and_the_other_stays_shared() -> None:
    there = path(A, B)
    incidence = incidence_of([there], TWO_TIER)
    learn_route(incidence, request(there), ["asw1", "dsw1", "asw2"])
    (row,) = rows_of(incidence)
    assert (row["spine:dsw1"], row["spine:dsw2"]) == (0.75, 0.25)
    learn_route(incidence, reply(there), ["asw2", "dsw1", "asw1"])
    (row,) = rows_of(incidence)
    assert row["spine:dsw1"] == row["link:spine:dsw1|tor:asw2"] == row["tor:asw1"] == 1.0
    assert "spine:dsw2" not in row


def test_the_reply_of_one_path_is_the_request_of_the_path_back() -> None:
    there = path(A, B)
    back = there._replace(
        src_ip=there.dst_ip, dst_ip=there.src_ip, src_port=there.dst_port, dst_port=there.src_port,
        src_asw="asw2", dst_asw="asw1", src_real_ip="r2", dst_real_ip="r1",
    )  # fmt: skip
    incidence = incidence_of([there, back], TWO_TIER)
    learn_route(incidence, request(there), ["asw1", "dsw1", "asw2"])
    assert [row["spine:dsw1"] for row in rows_of(incidence)] == [0.75, 0.75]


def test_a_route_that_arrives_before_its_path_counts_once_the_path_arrives() -> None:
    there = path(A, B)
    incidence = Incidence(TWO_TIER)
    learn_route(incidence, request(there), ["asw1", "dsw1", "asw2"])
    incidence.add(paths_of([there]))
    assert rows_of(incidence)[0]["spine:dsw1"] == 0.75


def test_without_a_topology_a_route_waits_for_the_path_that_names_its_tors() -> None:
    there = path(A, B)
    incidence = Incidence(None)
    learn_route(incidence, request(there), ["asw1", "x", "asw2"])
    incidence.add(paths_of([there]))
    (row,) = rows_of(incidence)
    assert row["spine:x"] == row["tor:asw1"] == 1.0
    assert not [name for name in incidence.components if name.startswith(("agg:asw", "spine:asw"))]


def test_without_a_topology_links_are_learnt_from_routes_of_other_paths() -> None:
    traced, other = path(A, B), path(C, D)
    incidence = incidence_of([traced, other], topology=None)
    assert "spine:x" not in rows_of(incidence)[1]
    learn_route(incidence, request(traced), ["asw1", "x", "asw2"])
    assert rows_of(incidence)[1]["link:spine:x|tor:asw1"] == 1.0


def test_a_switch_that_records_call_a_spine_is_a_spine_in_their_routes_too() -> None:
    traced = path(A._replace(dsw="dsw1"), B._replace(dsw="dsw1"))
    incidence = incidence_of([traced], topology=None)
    learn_route(incidence, request(traced), ["asw1", "dsw1", "asw2"])
    assert {name for name in rows_of(incidence)[0] if "dsw1" in name} == {
        "spine:dsw1", "link:spine:dsw1|tor:asw1", "link:spine:dsw1|tor:asw2",
    }  # fmt: skip


def test_retained_rows_do_not_change_and_learn_routes_as_before() -> None:
    paths = everyone([A, B, C])
    incidence = incidence_of(paths, TWO_TIER)
    learn_route(incidence, request(paths[0]), ["asw1", "dsw1", "asw2"])
    before = rows_of(incidence)
    mask = np.arange(len(paths)) % 2 == 0
    incidence.retain(mask)
    assert rows_of(incidence) == before[::2]
    learn_route(incidence, reply(paths[0]), ["asw2", "dsw1", "asw1"])
    assert rows_of(incidence)[0]["spine:dsw1"] == 1.0, "and learn as before"


# --- directions -------------------------------------------------------------------------------


def test_request_and_reply_cross_a_link_in_opposite_directions() -> None:
    there = path(A, B)
    incidence = Incidence(TWO_TIER)
    incidence.add(paths_of([there]))
    learn_route(incidence, request(there), ["asw1", "dsw1", "asw2"])
    learn_route(incidence, reply(there), ["asw2", "dsw2", "asw1"])
    (row,) = directed_rows(incidence)
    assert row["link:spine:dsw1|tor:asw1"] == (0.0, 1.0), "tor -> spine is b>a"
    assert row["link:spine:dsw1|tor:asw2"] == (1.0, 0.0), "spine -> tor is a>b"
    assert row["link:spine:dsw2|tor:asw2"] == (0.0, 1.0)
    assert row["link:spine:dsw2|tor:asw1"] == (1.0, 0.0)
    assert (row["spine:dsw1"], row["spine:dsw2"]) == ((1.0, 0.0), (0.0, 1.0)), "out and back"


def test_components_of_an_endpoint_are_crossed_in_both_directions() -> None:
    incidence = Incidence(TWO_TIER)
    incidence.add(paths_of([path(A, B, "overlay")]))
    (row,) = directed_rows(incidence)
    for name in ("rnic:r1", "link:rnic:r1|tor:asw1", "tor:asw2", "vswitch:h2", "container:c2"):
        assert row[name] == (1.0, 1.0)


def test_untraced_requests_and_replies_have_ecmp_shares() -> None:
    incidence = Incidence(TWO_TIER)
    incidence.add(paths_of([path(A, B)]))
    (row,) = directed_rows(incidence)
    assert row["link:spine:dsw1|tor:asw1"] == row["spine:dsw1"] == (0.5, 0.5)
