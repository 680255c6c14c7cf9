"""Where rnics are whose access switches no record names: traced routes say it."""

from __future__ import annotations

import pytest
from builders.clusters import End, path, reply, request
from builders.incidences import incidence_of, learn_route, paths_of

from localizer.fabric.incidence.incidence import Incidence
from localizer.fabric.parameters import ROUTES
from localizer.fabric.switch_graph import SwitchGraph
from schemas.component_ids import kind_of
from schemas.documents.topology import Switch, Topology

#  h1.r1 - (t1, t2) - (s1, s2) - t3 - h2.r2, and records name none of it
A, B = End("c1", "h1", "r1", ""), End("c2", "h2", "r2", "")
UNDER, OVER = path(A, B, number=1), path(A, B, "overlay", number=2)
OTHER = path(A, B, port=50_009, number=9)
SWITCHES = {"tor", "agg", "spine"}


def crossed(incidence: Incidence, way: int, number: int = 1) -> dict[str, float]:
    """Switch -> probability that the overlay path's request (1) or answer (2) crosses it."""
    row = incidence.factored().matrices()[way].toarray()[number]
    shares = zip(incidence.components, row.tolist(), strict=True)
    return {name.split(":")[1]: v for name, v in shares if v and kind_of(name) in SWITCHES}


def test_an_overlay_path_takes_the_tors_that_traces_of_the_underlay_begin_and_end_at() -> None:
    incidence = incidence_of([UNDER, OVER], None)
    assert crossed(incidence, 1) == {}
    learn_route(incidence, request(UNDER), ["t1", "s1", "t3"])
    learn_route(incidence, reply(UNDER), ["t3", "s1", "t1"])
    for way in (1, 2):
        assert crossed(incidence, way) == {"t1": 1.0, "s1": 1.0, "t3": 1.0}


def test_a_bonded_rnic_takes_each_of_its_tors_as_probably() -> None:
    incidence = incidence_of([UNDER, OVER, OTHER], None)
    learn_route(incidence, request(UNDER), ["t1", "s1", "t3"])
    learn_route(incidence, reply(UNDER), ["t3", "s1", "t1"])
    learn_route(incidence, request(OTHER), ["t2", "s2", "t3"])
    for way in (1, 2):
        assert crossed(incidence, way) == {"t1": 0.5, "t2": 0.5, "s1": 0.5, "s2": 0.5, "t3": 1.0}


def test_a_later_path_between_known_rnics_takes_their_tors_from_the_start() -> None:
    incidence = incidence_of([UNDER], None)
    learn_route(incidence, request(UNDER), ["t1", "s1", "t3"])
    learn_route(incidence, reply(UNDER), ["t3", "s1", "t1"])
    incidence.factored()
    incidence.add(paths_of([OVER]))
    assert crossed(incidence, 1) == {"t1": 1.0, "s1": 1.0, "t3": 1.0}


def test_a_route_that_was_cut_short_puts_no_rnic_behind_a_spine() -> None:
    incidence = incidence_of([UNDER, OVER], None)
    learn_route(incidence, request(UNDER), ["t1", "s1"])
    assert crossed(incidence, 1) == {"t1": 1.0}


def test_a_document_says_which_ends_of_routes_are_tors() -> None:
    switches = [*(Switch(f"t{n}", "asw") for n in (1, 3)), Switch("s1", "dsw")]
    topology = Topology(fabric="f1", switches=switches, links=[("t1", "s1"), ("s1", "t3")])
    incidence = incidence_of([UNDER, OVER], topology)
    learn_route(incidence, request(UNDER), ["t1", "s1", "t3"])
    assert crossed(incidence, 1) == {"t1": 1.0, "s1": 1.0, "t3": 1.0}


def test_a_request_takes_the_tor_that_its_record_names_and_the_answer_any() -> None:
    named = path(A._replace(asw="t1"), B._replace(asw="t3"), "overlay", 50_001, number=3)
    other = path(A._replace(asw="t2"), B._replace(asw="t3"), "overlay", 50_002, number=4)
    incidence = incidence_of([named, other, UNDER], None)
    assert crossed(incidence, 1, 0) == {"t1": 1.0, "t3": 1.0}
    assert crossed(incidence, 2, 0) == {"t1": 0.5, "t2": 0.5, "t3": 1.0}
    assert crossed(incidence, 1, 2) == {"t1": 0.5, "t2": 0.5, "t3": 1.0}


def test_one_of_several_tors_is_not_known_to_be_crossed() -> None:
    incidence = incidence_of([UNDER, OVER, OTHER], None)
    learn_route(incidence, request(UNDER), ["t1", "s1", "t3"])
    learn_route(incidence, reply(UNDER), ["t3", "s1", "t1"])
    learn_route(incidence, request(OTHER), ["t2", "s2", "t3"])
    incidence.factored()
    src, dst = incidence.traces().tors[:, 1].tolist()
    assert src == -1
    assert incidence.graph.switches[dst] == "tor:t3"


def test_routes_survive_when_the_incidence_is_built_anew() -> None:
    paths = [UNDER, OVER, OTHER]
    incidence = incidence_of(paths, None)
    learn_route(incidence, request(UNDER), ["t1", "s1", "t3"])
    learn_route(incidence, request(OTHER), ["t2", "s2", "t3"])
    before = crossed(incidence, 1)
    assert crossed(incidence.rebuilt(paths_of(paths)), 1) == before


@pytest.mark.parametrize("many", [ROUTES.most_homes, ROUTES.most_homes + 1])
def test_records_cannot_put_an_rnic_behind_ever_more_tors(many: int) -> None:
    graph = SwitchGraph(None)
    first, *more = (graph.tor(f"t{n}") for n in range(many))
    for tor in more:
        graph.join((first, tor))
    assert len(graph.homes(first)) == ROUTES.most_homes
