"""Incidence by arrays is what one would write down path by path; directions; sums through parts."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from drawings import THREE_TIER, TWO_TIER, Cluster, End, Second, pane, path
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from localizer.fabric.factored_incidence import FactoredIncidence
from localizer.fabric.incidence import Incidence
from localizer.fabric.key_index import KeyIndex
from localizer.fabric.observability import classes
from localizer.fabric.path_table import Path, PathIndex, Paths
from localizer.fabric.switch_graph import SwitchGraph
from schemas.component_ids import component, link
from schemas.documents.topology import Topology
from schemas.wire import window_chunks

A = End("c1", "h1", "r1", "asw1")
B = End("c2", "h2", "r2", "asw2")


def directed(incidence: Incidence) -> list[dict[str, tuple[float, float]]]:
    """Per path: component -> (along, against), for all that it crosses."""
    along, against = (matrix.toarray() for matrix in incidence.directed())
    return [
        {
            name: (float(a), float(b))
            for name, a, b in zip(incidence.components, out, back, strict=True)
            if a or b
        }
        for out, back in zip(along, against, strict=True)
    ]


# --- directions -------------------------------------------------------------------------------


def test_a_link_is_entered_from_one_end_on_the_way_out_and_from_the_other_on_the_way_back() -> None:
    there = path(A, B)
    incidence = Incidence(TWO_TIER)
    incidence.add([there])
    incidence.learn_route(there.flow, ["asw1", "dsw1", "asw2"])
    incidence.learn_route(there.reply, ["asw2", "dsw2", "asw1"])
    (row,) = directed(incidence)
    assert row["link:spine:dsw1|tor:asw1"] == (0.0, 1.0), "tor -> spine is b>a"
    assert row["link:spine:dsw1|tor:asw2"] == (1.0, 0.0), "spine -> tor is a>b"
    assert row["link:spine:dsw2|tor:asw2"] == (0.0, 1.0)
    assert row["link:spine:dsw2|tor:asw1"] == (1.0, 0.0)
    assert (row["spine:dsw1"], row["spine:dsw2"]) == ((1.0, 0.0), (0.0, 1.0)), "out and back"


def test_what_lies_at_an_end_is_crossed_both_ways() -> None:
    incidence = Incidence(TWO_TIER)
    incidence.add([path(A, B, "overlay")])
    (row,) = directed(incidence)
    for name in ("rnic:r1", "link:rnic:r1|tor:asw1", "tor:asw2", "vswitch:h2", "container:c2"):
        assert row[name] == (1.0, 1.0)


def test_where_routes_are_unknown_both_directions_have_their_ecmp_shares() -> None:
    incidence = Incidence(TWO_TIER)
    incidence.add([path(A, B)])
    (row,) = directed(incidence)
    assert row["link:spine:dsw1|tor:asw1"] == row["spine:dsw1"] == (0.5, 0.5)


def test_a_class_of_links_has_the_directions_of_the_member_that_names_it() -> None:
    there = path(A, B)
    incidence = Incidence(TWO_TIER)
    incidence.add([there])
    incidence.learn_route(there.flow, ["asw1", "dsw1", "asw2"])
    groups = classes(incidence.woven(), incidence.components, np.ones(1, bool))
    assert not groups.directed.any(), "one path: links and spines are one class"
    other = path(A, End("c3", "h3", "r3", "asw3"))
    incidence = Incidence(
        Topology(
            switches=[*TWO_TIER.switches, TWO_TIER.switches[0].__class__("asw3", "asw")],
            links=[*TWO_TIER.links, ("asw3", "dsw1"), ("asw3", "dsw2")],
        )
    )
    incidence.add([there, other])
    for each, last in ((there, "asw2"), (other, "asw3")):
        incidence.learn_route(each.flow, ["asw1", "dsw1", last])
        incidence.learn_route(each.reply, [last, "dsw2", "asw1"])
    groups = classes(incidence.woven(), incidence.components, np.ones(2, bool))
    (column,) = (k for k, m in enumerate(groups.members) if "link:spine:dsw1|tor:asw2" in m)
    assert groups.members[column] == ["link:spine:dsw1|tor:asw2", "link:spine:dsw2|tor:asw2"]
    assert groups.directed[column]
    assert groups.along.toarray()[:, column].tolist() == [1.0, 0.0]
    assert groups.against.toarray()[:, column].tolist() == [0.0, 0.0]


def test_an_rnic_and_its_link_stay_one_class_that_has_no_direction() -> None:
    cluster = Cluster()
    incidence = Incidence(cluster.topology)
    incidence.add(cluster.paths)
    groups = classes(incidence.woven(), incidence.components, np.ones(len(incidence), bool))
    (column,) = (k for k, m in enumerate(groups.members) if "rnic:r3.1" in m)
    assert groups.members[column] == ["rnic:r3.1", "link:rnic:r3.1|tor:asw11"]
    assert not groups.directed[column]


# --- the same as by hand ----------------------------------------------------------------------


def by_hand(
    topology: Topology, paths: list[Path], known: dict[tuple[object, ...], list[str]]
) -> list[dict[str, tuple[float, float]]]:
    """The rows of an incidence, one path after another; known: request -> its switches."""
    routes = SwitchGraph(topology)
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
            ((p.flow, p.src_asw, p.dst_asw), (p.reply, p.dst_asw, p.src_asw))
        ):
            if within:
                continue
            if route := known.get(flow):
                for switch in route:
                    row[switch][side] += 1.0
                for u, v in pairwise(route):
                    row[link(u, v)][0 if u < v else 1] += 1.0
                continue
            one, two = routes.tor(a), routes.tor(b)
            for switch, share in routes.between(a, b, "", "").items():
                if not switch.startswith("link:"):
                    row[switch][side] += share
            way = routes.way(one, two, "", "")
            travelled = {(one, n): s for n, s in way.up.items()} | way.links
            travelled |= {(n, two): s for n, s in way.down.items()}
            for (i, j), share in travelled.items():
                u, v = routes.switches[i], routes.switches[j]
                row[link(u, v)][0 if u < v else 1] += share
        rows.append({name: (out, back) for name, (out, back) in row.items()})
    return rows


BIG = Topology(
    switches=THREE_TIER.switches,
    links=[*THREE_TIER.links],
)
TRACES = {
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
def stories(draw: st.DrawFn) -> tuple[list[Path], list[tuple[str, int, int]]]:
    """Paths, and in which order they come, are traced out and back, and are forgotten."""
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
        st.sampled_from(["add", "out", "back", "batch", "look", "keep"]),
        st.integers(0, 11), st.integers(0, 7),
    )  # fmt: skip
    return paths, draw(st.lists(steps, max_size=25))


@given(stories())
@settings(deadline=None, max_examples=150)
def test_any_story_gives_the_rows_that_one_writes_down_by_hand(
    story: tuple[list[Path], list[tuple[str, int, int]]],
) -> None:
    paths, steps = story
    incidence = Incidence(BIG)
    known: dict[tuple[object, ...], list[str]] = {}
    rows: list[Path] = []
    waiting = list(paths)
    for what, which, number in steps:
        if what == "add" and waiting:
            some, waiting = waiting[: number + 1], waiting[number + 1 :]
            incidence.add(some)
            rows += some
        elif what in ("out", "back", "batch") and rows:
            p = rows[which % len(rows)]
            hops = trace(p, number) if what != "back" else trace(p, number)[::-1]
            flow = p.flow if what != "back" else p.reply
            if what == "batch":
                incidence.learn_routes(chunk([(flow, hops), (p.reply, hops[::-1])]))
                told = [(flow, hops), (p.reply, hops[::-1])]
            else:
                incidence.learn_route(flow, hops)
                told = [(flow, hops)]
            known |= {f: [f"{KIND[str(h)[0]]}:{h}" for h in route] for f, route in told}
        elif what == "look":
            incidence.matrix()
        elif what == "keep" and rows:
            mask = np.array([(n + which) % 3 > 0 for n in range(len(rows))])
            incidence.keep(mask)
            rows = [p for p, kept in zip(rows, mask.tolist(), strict=True) if kept]
            flows = {f for p in rows for f in (p.flow, p.reply)}
            known = {f: route for f, route in known.items() if f in flows}
    want = by_hand(BIG, rows, known)
    got = directed(incidence)
    assert [set(row) for row in got] == [set(row) for row in want]
    for mine, theirs in zip(got, want, strict=True):
        for name, shares in theirs.items():
            assert mine[name] == pytest.approx(shares), name
    mean = incidence.matrix().toarray()
    assert mean == pytest.approx(sum(m.toarray() for m in incidence.directed()) / 2)
    assert mean.max(initial=0.0) <= 1 + 1e-12


def chunk(told: list[tuple[tuple[object, ...], list[str | None]]]) -> pa.RecordBatch:
    rows = [
        dict(zip(window_chunks.ROUTES.names, ("f1", *flow, hops), strict=True))
        for flow, hops in told
    ]
    return pa.RecordBatch.from_pylist(rows, schema=window_chunks.ROUTES)


def test_a_chunk_of_traceroutes_is_as_good_as_one_after_another() -> None:
    paths = [path(A, B, port=n) for n in range(6)]
    hops: list[list[str | None]] = [
        ["asw1", "dsw1", "asw2"],
        ["10.9.1.1", "10.9.3.2", "10.9.2.1"],
        ["asw1", None, "asw2"],
        ["asw1", "dsw2"],
        [],
        ["asw1", "elsewhere", "asw2"],
    ]
    told = [(p.flow, h) for p, h in zip(paths, hops, strict=True)]
    one, all_at_once = Incidence(TWO_TIER), Incidence(TWO_TIER)
    for incidence in (one, all_at_once):
        incidence.add(paths)
    for flow, route in told:
        one.learn_route(flow, route)
    all_at_once.learn_routes(chunk(told))
    assert directed(all_at_once) == directed(one)


def test_routes_longer_than_any_before_find_room() -> None:
    names = [f"t{n}" for n in range(9)]
    line = Topology(
        switches=[TWO_TIER.switches[0].__class__(name, "asw") for name in names],
        links=list(pairwise(names)),
    )
    far = path(A._replace(asw="t0"), B._replace(asw="t8"))
    incidence = Incidence(line)
    incidence.add([path(A._replace(asw="t0"), B._replace(asw="t1")), far])
    incidence.matrix()
    incidence.learn_route(far.flow, list(names))
    (_, row) = directed(incidence)
    assert row["tor:t4"] == (1.0, 1.0)
    assert row["link:tor:t3|tor:t4"] == (1.0, 1.0)


# --- through parts ----------------------------------------------------------------------------


@given(st.integers(0, 2**32), st.integers(1, 40), st.integers(1, 12))
@settings(deadline=None, max_examples=60)
def test_sums_columns_and_fingerprints_through_parts_are_those_of_the_matrix(
    seed: int, paths: int, columns: int
) -> None:
    rng = np.random.default_rng(seed)
    dense = rng.integers(0, 3, (7, columns)) / 4.0
    dense[0] = 0.0
    dense[:, rng.integers(columns)] = dense[:, 0]
    woven = FactoredIncidence(
        rng.integers(0, 7, (3, paths), dtype=np.int32),
        sparse.csr_array(dense + 1j * dense[:, ::-1]),
    )
    mean, along, against = woven.matrices()
    assert mean.toarray() == pytest.approx((along.toarray() + against.toarray()) / 2)
    values = rng.integers(0, 5, paths)
    assert woven.pooled(values) == pytest.approx(mean.T @ values.astype(float))
    for column in range(columns):
        assert woven.column(column) == pytest.approx(mean.toarray()[:, column])
    live = rng.random(paths) < 0.7
    prints = woven.prints(live)
    whole = mean.toarray()[live]
    for a in range(columns):
        for b in range(columns):
            same = bool((whole[:, a] == whole[:, b]).all())
            assert same == bool((prints[a] == prints[b]).all())
        assert bool(prints[a].any()) == bool(whole[:, a].any())


@given(stories(), st.integers(0, 2**32))
@settings(deadline=None, max_examples=60)
def test_a_tally_counts_what_the_rows_say(
    story: tuple[list[Path], list[tuple[str, int, int]]], seed: int
) -> None:
    paths, steps = story
    incidence = Incidence(BIG)
    incidence.add(paths)
    for what, which, number in steps:
        p = paths[which % len(paths)]
        if what == "out":
            incidence.learn_route(p.flow, trace(p, number))
        elif what == "back":
            incidence.learn_route(p.reply, trace(p, number)[::-1])
    kind = np.random.default_rng(seed).integers(-1, 3, len(paths))
    woven = incidence.woven()
    columns = np.flatnonzero(np.arange(woven.shape[1]) % 3)
    rows = woven.rows(np.arange(len(paths)), columns)
    assert (rows != woven.rows(np.arange(len(paths)))[:, columns]).nnz == 0
    want: defaultdict[tuple[float, ...], float] = defaultdict(float)
    for row, column, value in zip(*sparse.find(rows), strict=True):
        for against, share in enumerate((value.real, value.imag)):
            if kind[row] >= 0 and share > 0:
                want[column, share, against, kind[row]] += 1
    got: defaultdict[tuple[float, ...], float] = defaultdict(float)
    *keys, counts = woven.tally(kind, columns)
    for *key, each in zip(*keys, counts, strict=True):
        for of_kind in np.flatnonzero(each).tolist():
            got[*(float(k) for k in key), of_kind] += each[of_kind]
    assert got == want


# --- indexes ----------------------------------------------------------------------------------


@given(st.lists(st.lists(st.integers(0, 50), max_size=30), max_size=8), st.integers(0, 3))
@settings(deadline=None)
def test_keys_are_numbered_in_order_of_arrival(batches: list[list[int]], drop: int) -> None:
    index, known = KeyIndex(), dict[int, int]()
    for batch in batches:
        codes, new = index.code(np.array(batch, np.uint64))
        fresh = [k for k in dict.fromkeys(batch) if k not in known]
        known |= {key: len(known) + n for n, key in enumerate(fresh)}
        assert codes.tolist() == [known[key] for key in batch]
        assert [batch[at] for at in new.tolist()] == fresh
    kept = np.arange(len(known)) % 4 != drop
    index.keep(kept)
    left = [key for key, code in known.items() if kept[code]]
    found = index.find(np.array(list(known), np.uint64))
    assert found.tolist() == [left.index(k) if k in left else -1 for k in known]


def test_paths_by_columns_are_the_paths_that_were_described() -> None:
    cluster = Cluster()
    index = PathIndex()
    (rows,), new = index.rows([pane([(p, Second()) for p in cluster.paths[:50]])])
    assert list(new) == cluster.paths[:50]
    assert rows.tolist() == list(range(50))
    both = [pane([(p, Second()) for p in cluster.paths[a:b]]) for a, b in ((40, 60), (55, 70))]
    again, new = index.rows(both)
    assert list(new) == cluster.paths[50:70]
    assert [rows.tolist() for rows in again] == [list(range(40, 60)), list(range(55, 70))]
    assert list(index.paths) == cluster.paths[:70]
    index.keep(np.arange(70) >= 10)
    assert list(index.paths) == cluster.paths[10:70]
    (rows,), _ = index.rows([pane([(p, Second()) for p in cluster.paths[5:15]])])
    assert rows.tolist() == [60, 61, 62, 63, 64, 0, 1, 2, 3, 4]


def test_columns_of_paths_can_be_read_under_other_tables() -> None:
    cluster = Cluster()
    first = Paths.of(cluster.paths)
    assert list(Paths.of(cluster.paths[::-1]).under(first.tables)) == cluster.paths[::-1]
