"""Sums, columns, rows and counts by segments are those of the written-out matrix."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import numpy.typing as npt
import pytest
from builders.clusters import Cluster, reply, request
from builders.incidences import incidence_of, routes_chunk
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from localizer.fabric.incidence.factored import FactoredIncidence
from localizer.fabric.incidence.segment_paths import SegmentPaths


def same_pattern(*dense: npt.NDArray[np.float64]) -> list[sparse.csr_array]:
    """Matrices in which zeros are stored too."""
    rows, columns = np.indices(dense[0].shape).reshape(2, -1)
    return [sparse.csr_array((m.ravel(), (rows, columns)), m.shape) for m in dense]


def test_the_product_of_the_docstring_is_the_row_that_it_gives() -> None:
    #             r1 t1 r2 r3 t2  s1   s2
    s = np.array([[0, 0, 0, 0, 0, 0, 0],
                  [1, 1, 0, 0, 0, 0, 0],
                  [0, 0, 1, 0, 1, 0, 0],
                  [0, 0, 0, 1, 1, 0, 0],
                  [0, 0, 0, 0, 0, 0.5, 0.5]])  # fmt: skip
    slots = np.array([[1, 1], [2, 3], [4, 4]], np.int32)
    mean, *_ = FactoredIncidence(slots, *same_pattern(s, s)).matrices()
    assert mean.toarray().tolist() == [[1, 1, 1, 0, 1, 0.5, 0.5], [1, 1, 0, 1, 1, 0.5, 0.5]]


@given(st.integers(0, 2**32), st.integers(1, 40), st.integers(1, 12))
@settings(deadline=None, max_examples=60)
def test_sums_columns_and_fingerprints_are_those_of_the_written_out_matrix(
    seed: int, paths: int, columns: int
) -> None:
    rng = np.random.default_rng(seed)
    dense = rng.integers(0, 3, (7, columns)) / 4.0
    dense[0] = 0.0
    dense[:, rng.integers(columns)] = dense[:, 0]
    forward, reverse = same_pattern(dense, dense[:, ::-1])
    factored = FactoredIncidence(
        rng.integers(0, 7, (3, paths), dtype=np.int32),
        forward,
        reverse,
    )
    mean, out, back = factored.matrices()
    assert mean.toarray() == pytest.approx((out.toarray() + back.toarray()) / 2)
    values = rng.integers(0, 5, paths)
    assert factored.pooled(values) == pytest.approx(mean.T @ values.astype(float))
    for column in range(columns):
        assert factored.column(column) == pytest.approx(mean.toarray()[:, column])
    live = rng.random(paths) < 0.7
    prints = factored.fingerprints(live)
    whole = mean.toarray()[live]
    for a in range(columns):
        for b in range(columns):
            same = bool((whole[:, a] == whole[:, b]).all())
            assert same == bool((prints[a] == prints[b]).all())
        assert bool(prints[a].any()) == bool(whole[:, a].any())


@given(st.integers(0, 2**32))
@settings(deadline=None, max_examples=60)
def test_crossing_counts_are_those_of_the_rows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    cluster = Cluster(hosts=4)
    paths = [p for p in cluster.paths if rng.random() < 0.3]
    incidence = incidence_of(paths, cluster.topology)
    traced = []
    for p in paths:
        hops = [p.src_asw, f"dsw{rng.integers(1, 3)}", p.dst_asw]
        hops = hops if p.src_asw != p.dst_asw else hops[:1]
        for five_tuple, route in ((request(p), hops), (reply(p), hops[::-1])):
            if rng.random() < 0.5:
                traced.append((five_tuple, route))
    incidence.learn_routes(routes_chunk(traced))
    kind = rng.integers(-1, 3, len(paths))
    factored = incidence.factored()
    columns = np.flatnonzero(np.arange(factored.shape[1]) % 3)
    rows = factored.rows(np.arange(len(paths)), columns)
    whole = factored.rows(np.arange(len(paths)))
    want: defaultdict[tuple[float, ...], float] = defaultdict(float)
    for reverse in (0, 1):
        assert (rows[reverse] != whole[reverse][:, columns]).nnz == 0
        for row, column, share in zip(*sparse.find(rows[reverse]), strict=True):
            if kind[row] >= 0:
                want[column, share, reverse, kind[row]] += 1
    got: defaultdict[tuple[float, ...], float] = defaultdict(float)
    *keys, counts = factored.crossing_counts(kind, columns)
    for *key, each in zip(*keys, counts, strict=True):
        for of_kind in np.flatnonzero(each).tolist():
            got[*(float(k) for k in key), of_kind] += each[of_kind]
    assert got == want


def test_forward_and_reverse_of_any_matrix_have_one_pattern() -> None:
    forward, reverse = np.array([[1.0, 0, 0.5]]), np.array([[0, 1.0, 0.25]])
    factored = FactoredIncidence.unfactored(sparse.csr_array(forward), sparse.csr_array(reverse))
    one, two = factored.rows(np.arange(1))
    assert one.indices.tolist() == two.indices.tolist()
    assert (one.toarray().tolist(), two.toarray().tolist()) == (forward.tolist(), reverse.tolist())


@given(st.integers(0, 2**32), st.integers(0, 40), st.integers(1, 5))
@settings(deadline=None, max_examples=60)
def test_the_transpose_lists_the_paths_of_each_segment_in_their_order(
    seed: int, paths: int, width: int
) -> None:
    rng = np.random.default_rng(seed)
    segments = np.arange(1, 9)
    slots = np.array([rng.permutation(segments)[:width] for _ in range(paths)], np.int32)
    slots = np.where(rng.random((paths, width)) < 0.4, 0, slots.reshape(paths, width)).T
    found = SegmentPaths(slots.astype(np.int32), 9)
    assert found.segments == 9
    assert found.edges[:2].tolist() == [0, 0]
    for segment in segments:
        here = slice(*found.edges[segment : segment + 2])
        assert found.paths[here].tolist() == np.flatnonzero((slots == segment).any(0)).tolist()
