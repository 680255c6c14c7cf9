"""Which components a path crosses, with what share, and what that leaves indistinguishable."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from drawings import TWO_TIER, End, path

from localizer.fabric.incidence import Incidence
from localizer.fabric.observability import Classes, classes
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


def incidence_of(paths: list[Path], topology: Topology | None = TWO_TIER) -> Incidence:
    incidence = Incidence(topology)
    incidence.add(paths)
    return incidence


def rows_of(incidence: Incidence) -> list[dict[str, float]]:
    dense = incidence.matrix().toarray()
    return [
        {
            name: float(v)
            for name, v in zip(incidence.components, row, strict=True)
            if v and kind_of(name) != "host"  # what lies within the hosts is told here
        }
        for row in dense
    ]


def tie_sets(
    paths: list[Path], live: list[bool] | None = None, topology: Topology | None = TWO_TIER
) -> list[set[str]]:
    incidence = incidence_of(paths, topology)
    mask = np.ones(len(paths), bool) if live is None else np.array(live)
    return [{*m} for m in without_hosts(classes(incidence.woven(), incidence.components, mask))]


def without_hosts(groups: Classes) -> list[list[str]]:
    """Members of each class; with one rnic a host, the host itself is one of its class."""
    return [[name for name in m if kind_of(name) != "host"] for m in groups.members]


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
    incidence = incidence_of([path(A, B), path(A, B, "overlay")])
    dense = incidence.matrix().toarray()
    for host in ("host:h1", "host:h2"):
        assert dense[:, incidence.components.index(host)].tolist() == [1.0, 1.0]


def test_neighbours_behind_one_tor_cross_nothing_above_it() -> None:
    (row,) = shares([path(A, C)])
    assert {*row} == {
        "rnic:r1", "rnic:r3", "tor:asw1", "link:rnic:r1|tor:asw1", "link:rnic:r3|tor:asw1",
    }  # fmt: skip


def test_what_an_rnic_sends_to_itself_never_leaves_it() -> None:
    other = End("c9", "h1", "r1", "asw1")
    (row,) = shares([path(A, other, "overlay")])
    assert {*row} == {"rnic:r1", "vswitch:h1", "container:c1", "container:c9"}


def test_a_traceroute_makes_one_direction_exact_and_the_other_stays_shared() -> None:
    there = path(A, B)
    incidence = incidence_of([there])
    incidence.learn_route(there.flow, ["asw1", "dsw1", "asw2"])
    (row,) = rows_of(incidence)
    assert (row["spine:dsw1"], row["spine:dsw2"]) == (0.75, 0.25)
    incidence.learn_route(there.reply, ["asw2", "dsw1", "asw1"])
    (row,) = rows_of(incidence)
    assert row["spine:dsw1"] == row["link:spine:dsw1|tor:asw2"] == row["tor:asw1"] == 1.0
    assert "spine:dsw2" not in row


def test_the_reply_of_one_path_is_the_request_of_the_path_back() -> None:
    there = path(A, B)
    back = there._replace(
        src_ip=there.dst_ip, dst_ip=there.src_ip, src_port=there.dst_port, dst_port=there.src_port,
        src_asw="asw2", dst_asw="asw1", src_real_ip="r2", dst_real_ip="r1",
    )  # fmt: skip
    incidence = incidence_of([there, back])
    incidence.learn_route(there.flow, ["asw1", "dsw1", "asw2"])
    assert [row["spine:dsw1"] for row in rows_of(incidence)] == [0.75, 0.75]


def test_a_route_heard_before_its_path_counts_when_the_path_comes() -> None:
    there = path(A, B)
    incidence = Incidence(TWO_TIER)
    incidence.learn_route(there.flow, ["asw1", "dsw1", "asw2"])
    incidence.add([there])
    assert rows_of(incidence)[0]["spine:dsw1"] == 0.75


def test_in_an_unknown_fabric_a_route_waits_for_the_path_that_knows_its_tors() -> None:
    there = path(A, B)
    incidence = Incidence(None)
    incidence.learn_route(there.flow, ["asw1", "x", "asw2"])
    incidence.add([there])
    (row,) = rows_of(incidence)
    assert row["spine:x"] == row["tor:asw1"] == 1.0
    assert not [name for name in incidence.components if name.startswith(("agg:asw", "spine:asw"))]


def test_routes_of_others_teach_the_links_of_an_unknown_fabric() -> None:
    traced, other = path(A, B), path(C, D)
    incidence = incidence_of([traced, other], topology=None)
    assert "spine:x" not in rows_of(incidence)[1]
    incidence.learn_route(traced.flow, ["asw1", "x", "asw2"])
    assert rows_of(incidence)[1]["link:spine:x|tor:asw1"] == 1.0


def test_a_switch_that_records_call_a_spine_is_a_spine_in_their_routes_too() -> None:
    traced = path(A._replace(dsw="dsw1"), B._replace(dsw="dsw1"))
    incidence = incidence_of([traced], topology=None)
    incidence.learn_route(traced.flow, ["asw1", "dsw1", "asw2"])
    assert {name for name in rows_of(incidence)[0] if "dsw1" in name} == {
        "spine:dsw1", "link:spine:dsw1|tor:asw1", "link:spine:dsw1|tor:asw2",
    }  # fmt: skip


def test_rows_that_are_kept_stay_what_they_were() -> None:
    paths = everyone([A, B, C])
    incidence = incidence_of(paths)
    incidence.learn_route(paths[0].flow, ["asw1", "dsw1", "asw2"])
    before = rows_of(incidence)
    mask = np.arange(len(paths)) % 2 == 0
    incidence.keep(mask)
    assert rows_of(incidence) == before[::2]
    incidence.learn_route(paths[0].reply, ["asw2", "dsw1", "asw1"])
    assert rows_of(incidence)[0]["spine:dsw1"] == 1.0, "and learn as before"


# --- observability classes --------------------------------------------------------------------


def test_an_rnic_cannot_be_told_from_its_link() -> None:
    found = tie_sets(everyone([A, B, C, D]))
    for number, tor in ((1, 1), (2, 2), (3, 1), (4, 2)):
        assert {f"rnic:r{number}", f"link:rnic:r{number}|tor:asw{tor}"} in found


def test_a_vswitch_cannot_be_told_from_the_only_container_behind_it() -> None:
    found = tie_sets(everyone([A, B, C, D]))
    assert {"vswitch:h1", "container:c1"} in found


def test_two_containers_on_a_host_are_told_apart_and_from_the_vswitch() -> None:
    second = End("c1b", "h1", "r1", "asw1")
    found = tie_sets(everyone([A, second, B, C, D]))
    assert {"vswitch:h1"} in found
    assert {"container:c1"} in found
    assert {"container:c1b"} in found


def test_with_one_layer_only_the_host_melts_into_one_class() -> None:
    found = tie_sets(everyone([A, B, C, D], layers=("overlay",)))
    assert {"rnic:r1", "link:rnic:r1|tor:asw1", "vswitch:h1", "container:c1"} in found


def test_two_rnics_a_host_tell_the_vswitch_from_them_even_in_one_layer() -> None:
    second = End("c1", "h1", "r1b", "asw1")
    found = tie_sets(everyone([A, second, B, C, D], layers=("overlay",)))
    assert {"vswitch:h1", "container:c1"} in found
    assert {"rnic:r1", "link:rnic:r1|tor:asw1"} in found


def test_a_host_is_told_from_its_rnics_when_it_has_two() -> None:
    second = End("c1", "h1", "r1b", "asw1")
    incidence = incidence_of(everyone([A, second, B, C, D]))
    found = classes(incidence.woven(), incidence.components, np.ones(40, bool)).members
    assert ["host:h1"] in found
    assert ["rnic:r2", "link:rnic:r2|tor:asw2", "host:h2"] in found, "and not when it has one"


def test_a_tor_with_one_rnic_is_one_with_it() -> None:
    found = tie_sets(everyone([A, B, D]))
    assert {"tor:asw1", "rnic:r1", "link:rnic:r1|tor:asw1"} in found


def test_a_spine_that_only_ecmp_shares_speak_of_is_told_apart_once_routes_are_known() -> None:
    paths = [path(a, b, port=p) for a, b in ((A, B), (C, D), (B, A)) for p in (1, 2)]
    assert {"spine:dsw1", "spine:dsw2"} <= set().union(
        *(m for m in tie_sets(paths) if "spine:dsw1" in m)
    )
    incidence = incidence_of(paths)
    for p in paths:
        dsw = f"dsw{p.src_port}"
        incidence.learn_route(p.flow, [p.src_asw, dsw, p.dst_asw])
        incidence.learn_route(p.reply, [p.dst_asw, dsw, p.src_asw])
    found = classes(incidence.woven(), incidence.components, np.ones(6, bool)).members
    assert not any("spine:dsw1" in m and "spine:dsw2" in m for m in found)


def test_only_paths_that_are_probed_now_count() -> None:
    second = End("c1b", "h1", "r1", "asw1")
    paths = everyone([A, second, B, C])
    gone = [second.box not in (p.src_node_id, p.dst_node_id) for p in paths]
    assert {"vswitch:h1", "container:c1"} in tie_sets(paths, gone)
    assert not any("container:c1b" in m for m in tie_sets(paths, gone)), "nobody probes it"


def test_the_likelier_cause_is_named_first() -> None:
    incidence = incidence_of(everyone([A, B, C, D]))
    found = without_hosts(classes(incidence.woven(), incidence.components, np.ones(24, bool)))
    assert ["rnic:r1", "link:rnic:r1|tor:asw1"] in found
    assert ["vswitch:h1", "container:c1"] in found


def test_one_column_a_class_and_it_is_the_members_own() -> None:
    incidence = incidence_of(everyone([A, B, C, D]))
    whole = incidence.matrix().toarray()
    groups = classes(incidence.woven(), incidence.components, np.ones(24, bool))
    for column, members in enumerate(groups.members):
        for name in members:
            own = whole[:, incidence.components.index(name)]
            assert groups.incidence.toarray()[:, column] == pytest.approx(own)
