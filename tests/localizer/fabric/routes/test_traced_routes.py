"""Traceroutes by the chunk: what they teach a graph, and which route of a five-tuple is kept."""

from __future__ import annotations

import numpy as np
from builders.clusters import End, FiveTuple, path, reply, request
from builders.incidences import Hops, directed_rows, incidence_of, paths_of, routes_chunk
from hypothesis import given, settings
from hypothesis import strategies as st

from localizer.fabric.routes.traced_routes import TracedRoutes
from localizer.fabric.switch_graph import Route, SwitchGraph
from schemas.component_ids import kind_of

#  without a topology: asw1 and asw2 are known from the records, all else from the traceroutes
A = End("c1", "h1", "r1", "asw1")
B = End("c2", "h2", "r2", "asw2")
PATHS = [path(A, B, port=n) for n in range(3)]
SIDES = [(request(p), "asw1", "asw2") for p in PATHS] + [
    (reply(p), "asw2", "asw1") for p in PATHS
]  # fmt: skip
BETWEEN: list[list[str | None]] = [
    ["s1"], ["s2"], ["a1", "s1", "a2"], ["a1", None, "a2"], ["s1", "s1"], [None], [],
]  # fmt: skip
CHUNKS = st.lists(
    st.lists(
        st.tuples(st.sampled_from(SIDES), st.sampled_from(BETWEEN), st.booleans()), max_size=6
    ),
    min_size=1, max_size=5,
)  # fmt: skip


@given(CHUNKS, st.booleans())
@settings(deadline=None, max_examples=200)
def test_a_graph_learns_from_chunks_what_it_learns_from_their_rows_in_turn(
    chunks: list[list[tuple[tuple[FiveTuple, str, str], list[str | None], bool]]], again: bool
) -> None:
    incidence = incidence_of(PATHS, topology=None)
    graph = SwitchGraph(None)
    assert (graph.tor("asw1"), graph.tor("asw2")) == (0, 1)
    known: dict[FiveTuple, Route] = {}
    for chunk in [each for each in chunks for _ in range(1 + again)]:
        rows: list[tuple[FiveTuple, Hops]] = []
        for (flow, first, last), between, cut in chunk:
            hops = [first, *between, *([] if cut else [last])]
            rows.append((flow, hops))
            if (route := graph.resolve(hops, first, last)) is not None:
                known[flow] = route
        incidence.learn_routes(routes_chunk(rows))
    assert incidence.graph.switches == graph.switches
    assert incidence.graph.links == graph.links
    for p, row in zip(PATHS, directed_rows(incidence), strict=True):
        for side, flow in enumerate((request(p), reply(p))):
            if flow in known:
                crossed = {n for n, each in row.items() if each[side] == 1.0}
                assert {n for n in crossed if kind_of(n) in ("agg", "spine")} == {
                    graph.switches[number] for number in known[flow][1:-1]
                }


def test_routes_hold_switches_whose_numbers_need_more_than_16_bits() -> None:
    traced = TracedRoutes(SwitchGraph(None))
    ends = np.zeros(len(PATHS), np.int32), np.ones(len(PATHS), np.int32)
    requests, _ = traced.add_paths(paths_of(PATHS), *ends)
    for at, spine in enumerate((32_767, 40_000)):
        traced.adopt(requests[at : at + 1], np.array([[0], [spine], [1]], np.int32))
    assert traced.routes(requests).T.tolist() == [
        [0, 32_767, 1, -1, -1], [0, 40_000, 1, -1, -1], [-1] * 5,
    ]  # fmt: skip


def test_a_route_that_is_traced_again_changes_nothing() -> None:
    incidence = incidence_of(PATHS, topology=None)
    chunk = routes_chunk([(request(p), ["asw1", "s1", "asw2"]) for p in PATHS])
    incidence.learn_routes(chunk)
    incidence.factored()
    before = incidence.version
    incidence.learn_routes(chunk)
    assert incidence.version == before


def test_the_last_traceroute_of_a_chunk_counts_also_if_its_route_was_known() -> None:
    incidence = incidence_of(PATHS[:1], topology=None)
    flow = request(PATHS[0])
    one: Hops = ["asw1", "s1", "asw2"]
    other: Hops = ["asw1", "s2", "asw2"]
    incidence.learn_routes(routes_chunk([(flow, one)]))
    incidence.learn_routes(routes_chunk([(flow, other), (flow, one)]))
    (row,) = directed_rows(incidence)
    assert row["spine:s1"][0] == 1.0
    assert "spine:s2" not in row or row["spine:s2"][0] == 0.0


class CountedRoutes(TracedRoutes):
    """Counts how often it is asked how many five-tuples wait, which takes a look at all of them."""

    asked = 0

    @property
    def waiting(self) -> int:
        """See ``TracedRoutes``."""
        self.asked += 1
        return super().waiting


def test_traceroutes_without_a_new_name_do_not_ask_who_waits() -> None:
    graph = SwitchGraph(None)
    routes, paths = CountedRoutes(graph), paths_of(PATHS)
    tors = np.full((2, len(PATHS)), 1, np.int32) * np.array([[graph.tor("asw1")], [1]], np.int32)
    assert graph.tor("asw2") == 1
    routes.add_paths(paths, *tors)
    chunk = routes_chunk([(request(p), ["asw1", "s1", "asw2"]) for p in PATHS])
    assert routes.learn(paths.tables, chunk, 1)
    assert routes.asked == 0
    assert (routes.routes(np.array([0]))[:3, 0] >= 0).all()
    other = path(End("c3", "h3", "r3", "asw1"), B, port=9)
    routes.learn(paths.tables, routes_chunk([(request(other), ["asw1", "s1", "asw2"])]), 2)
    assert routes.asked > 0
    assert routes.waiting == 1
