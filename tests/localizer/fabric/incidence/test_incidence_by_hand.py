"""The incidence by arrays is the one computed path by path; properties over random changes."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

import numpy as np
import pytest
from builders.clusters import THREE_TIER, TWO_TIER, End, path, reply, request
from builders.incidences import directed_rows, ecmp_shares, learn_route, paths_of, routes_chunk
from hypothesis import given, settings
from hypothesis import strategies as st

from localizer.fabric.ecmp import EcmpPaths
from localizer.fabric.incidence.incidence import Incidence
from localizer.fabric.path_table import Path
from localizer.fabric.switch_graph import SwitchGraph
from schemas.component_ids import component, link
from schemas.documents.topology import Topology

#  h1.r1 - asw1 - (dsw1, dsw2) - asw2 - h2.r2
A = End("c1", "h1", "r1", "asw1")
B = End("c2", "h2", "r2", "asw2")


def by_hand(
    topology: Topology, paths: list[Path], known: dict[tuple[object, ...], list[str]]
) -> list[dict[str, tuple[float, float]]]:
    """The rows of an incidence, one path after another; known: five-tuple -> its switches."""
    graph = SwitchGraph(topology)
    ecmp = EcmpPaths(graph)
    rows = []
    for p in paths:
        row: defaultdict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
        within = p.src_real_ip == p.dst_real_ip
        names = set()
        for rnic, asw, host, box in (
            (p.src_real_ip, p.src_asw, p.src_node_sn, p.src_node_id),
            (p.dst_real_ip, p.dst_asw, p.dst_node_sn, p.dst_node_id),
        ):
            names |= {component("rnic", rnic), component("host", host)}
            if asw and not within:
                names.add(link(component("rnic", rnic), component("tor", asw)))
            if p.layer == "overlay":
                names |= {component("vswitch", host), component("container", box)}
        for name in names:
            row[name] = [1.0, 1.0]
        for side, (flow, a, b) in enumerate(
            ((request(p), p.src_asw, p.dst_asw), (reply(p), p.dst_asw, p.src_asw))
        ):
            if within:
                continue
            if route := known.get(flow):
                for switch in route:
                    row[switch][side] += 1.0
                for u, v in pairwise(route):
                    row[link(u, v)][0 if u < v else 1] += 1.0
                continue
            one, two = graph.tor(a), graph.tor(b)
            for switch, share in ecmp_shares(graph, a, b).items():
                if not switch.startswith("link:"):
                    row[switch][side] += share
            ecmp_path = ecmp.between(one, two, "", "")
            travelled = {(one, n): s for n, s in ecmp_path.up.items()} | ecmp_path.links
            travelled |= {(n, two): s for n, s in ecmp_path.down.items()}
            for (i, j), share in travelled.items():
                u, v = graph.switches[i], graph.switches[j]
                row[link(u, v)][0 if u < v else 1] += share
        rows.append({name: (out, back) for name, (out, back) in row.items()})
    return rows


TRACES: dict[tuple[str, str], list[list[str]]] = {
    ("asw1", "asw2"): [
        ["asw1", f"psw{up}", f"dsw{top}", f"psw{down}", "asw2"]
        for up in (1, 2) for top in (1, 2) for down in (3, 4)
    ],
    ("asw1", "asw1"): [["asw1"]],
    ("asw2", "asw2"): [["asw2"]],
}  # fmt: skip
KIND = {"a": "tor", "p": "agg", "d": "spine"}


def trace(p: Path, number: int) -> list[str | None]:
    if (p.src_asw, p.dst_asw) in TRACES:
        found = TRACES[p.src_asw, p.dst_asw]
        return list(found[number % len(found)])
    found = TRACES[p.dst_asw, p.src_asw]
    return list(found[number % len(found)][::-1])


@st.composite
def changes(draw: st.DrawFn) -> tuple[list[Path], list[tuple[str, int, int]]]:
    """Paths, and in which order they are added, traced, written and dropped."""
    ends = [
        End(f"c{draw(st.integers(0, 3))}", f"h{h}", f"r{h}.{r}", f"asw{draw(st.integers(1, 2))}")
        for h in range(3) for r in range(2)
    ]  # fmt: skip
    pairs = st.tuples(
        st.sampled_from(ends), st.sampled_from(ends), st.sampled_from(["overlay", "underlay"]),
        st.integers(1, 3),
    )  # fmt: skip
    paths = [
        path(a, b, layer, port, n)
        for n, (a, b, layer, port) in enumerate(draw(st.lists(pairs, min_size=1, max_size=12)))
    ]
    steps = st.tuples(
        st.sampled_from(["add", "request", "reply", "both", "write", "retain"]),
        st.integers(0, 11), st.integers(0, 7),
    )  # fmt: skip
    return paths, draw(st.lists(steps, max_size=25))


@given(changes())
@settings(deadline=None, max_examples=150)
def test_rows_after_any_changes_are_those_computed_path_by_path(
    case: tuple[list[Path], list[tuple[str, int, int]]],
) -> None:
    paths, steps = case
    incidence = Incidence(THREE_TIER)
    known: dict[tuple[object, ...], list[str]] = {}
    rows: list[Path] = []
    waiting = list(paths)
    for what, which, number in steps:
        if what == "add" and waiting:
            some, waiting = waiting[: number + 1], waiting[number + 1 :]
            incidence.add(paths_of(some))
            rows += some
        elif what in ("request", "reply", "both") and rows:
            p = rows[which % len(rows)]
            hops = trace(p, number) if what != "reply" else trace(p, number)[::-1]
            flow = request(p) if what != "reply" else reply(p)
            if what == "both":
                incidence.learn_routes(routes_chunk([(flow, hops), (reply(p), hops[::-1])]))
                traced = [(flow, hops), (reply(p), hops[::-1])]
            else:
                learn_route(incidence, flow, hops)
                traced = [(flow, hops)]
            known |= {f: [f"{KIND[str(h)[0]]}:{h}" for h in route] for f, route in traced}
        elif what == "write":
            incidence.factored()
        elif what == "retain" and rows:
            mask = np.array([(n + which) % 3 > 0 for n in range(len(rows))])
            incidence.retain(mask)
            rows = [p for p, kept in zip(rows, mask.tolist(), strict=True) if kept]
            flows = {f for p in rows for f in (request(p), reply(p))}
            known = {f: route for f, route in known.items() if f in flows}
    want = by_hand(THREE_TIER, rows, known)
    got = directed_rows(incidence)
    assert [set(row) for row in got] == [set(row) for row in want]
    for mine, theirs in zip(got, want, strict=True):
        for name, shares in theirs.items():
            assert mine[name] == pytest.approx(shares), name
    mean, forward, reverse = (m.toarray() for m in incidence.factored().matrices())
    assert mean == pytest.approx((forward + reverse) / 2)
    assert mean.max(initial=0.0) <= 1 + 1e-12


def test_paths_that_come_after_all_others_are_gone_cross_their_own_components() -> None:
    c = End("c3", "h3", "r3", "asw1")
    gone = [path(B, A, "overlay", 1, 1), path(A, B, "overlay", 2, 2)]
    left = path(A, c, "overlay", 3, 3)
    incidence = Incidence(THREE_TIER)
    incidence.add(paths_of(gone))
    incidence.retain(np.zeros(2, bool))
    incidence.add(paths_of([left]))
    assert directed_rows(incidence) == by_hand(THREE_TIER, [left], {})


def test_a_chunk_of_traceroutes_has_the_effect_of_its_rows_one_by_one() -> None:
    paths = [path(A, B, port=n) for n in range(6)]
    hops: list[list[str | None]] = [
        ["asw1", "dsw1", "asw2"],
        ["10.9.1.1", "10.9.3.2", "10.9.2.1"],
        ["asw1", None, "asw2"],
        ["asw1", "dsw2"],
        [],
        ["asw1", "elsewhere", "asw2"],
    ]
    traced = [(request(p), h) for p, h in zip(paths, hops, strict=True)]
    one, all_at_once = Incidence(TWO_TIER), Incidence(TWO_TIER)
    for incidence in (one, all_at_once):
        incidence.add(paths_of(paths))
    for flow, route in traced:
        learn_route(one, flow, route)
    all_at_once.learn_routes(routes_chunk(traced))
    assert directed_rows(all_at_once) == directed_rows(one)


def test_the_table_of_routes_widens_for_a_longer_route() -> None:
    names = [f"t{n}" for n in range(9)]
    line = Topology(
        switches=[TWO_TIER.switches[0].__class__(name, "asw") for name in names],
        links=list(pairwise(names)),
    )
    far = path(A._replace(asw="t0"), B._replace(asw="t8"))
    near = path(A._replace(asw="t0"), B._replace(box="c9", host="h9", rnic="r9", asw="t1"))
    incidence = Incidence(line)
    incidence.add(paths_of([near, far]))
    incidence.factored()
    learn_route(incidence, request(far), list(names))
    (_, row) = directed_rows(incidence)
    assert row["tor:t4"] == (1.0, 1.0)
    assert row["link:tor:t3|tor:t4"] == (1.0, 1.0)
