"""An incidence from paths and traceroutes that a test writes down one by one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from builders.clusters import FiveTuple
from localizer.fabric.ecmp import EcmpPaths
from localizer.fabric.incidence.incidence import Incidence
from localizer.fabric.observability import Classes, classes
from localizer.fabric.path_table import Path, Paths, StringTables, new_tables, table_name
from localizer.fabric.switch_graph import SwitchGraph
from schemas.component_ids import link
from schemas.documents.topology import Topology
from schemas.wire.window_chunks import PATH_STRINGS, ROUTES

Hops = Sequence[str | None]


def paths_of(rows: Sequence[Path], tables: StringTables | None = None) -> Paths:
    """The columns of some paths."""
    tables = new_tables() if tables is None else tables
    ids, *columns = zip(*rows, strict=True) if rows else [()] * len(Path._fields)
    codes = [
        tables[table_name(field)].codes(texts)
        for field, texts in zip(PATH_STRINGS, columns, strict=False)
    ]
    ports = np.array(columns[-2:], np.int32).reshape(2, len(rows))
    return Paths(np.array(ids, np.uint64), np.vstack(codes), ports, tables)


def routes_chunk(traced: Iterable[tuple[FiveTuple, Hops]]) -> pa.RecordBatch:
    """Some traceroutes, columns as in window_chunks.ROUTES."""
    rows = [
        dict(zip(ROUTES.names, ("f1", *five_tuple, list(hops)), strict=True))
        for five_tuple, hops in traced
    ]
    return pa.RecordBatch.from_pylist(rows, schema=ROUTES)


def learn_route(incidence: Incidence, five_tuple: FiveTuple, hops: Hops) -> None:
    """One traceroute."""
    incidence.learn_routes(routes_chunk([(five_tuple, hops)]))


def incidence_of(paths: Sequence[Path], topology: Topology | None) -> Incidence:
    """The incidence of some paths, none of them traced."""
    incidence = Incidence(topology)
    incidence.add(paths_of(paths))
    return incidence


def classes_of(incidence: Incidence, live: npt.NDArray[np.bool_] | None = None) -> Classes:
    """Observability classes of all paths, or of those that are live."""
    factored = incidence.factored()
    live = np.ones(len(incidence), bool) if live is None else live
    return classes(factored, incidence.components, live, incidence.kinds)


def ecmp_shares(
    graph: SwitchGraph, src_asw: str, dst_asw: str, src_dsw: str = "", dst_dsw: str = ""
) -> dict[str, float]:
    """Component -> share of one traversal between two ToRs, the ToRs included."""
    a, b = graph.tor(src_asw), graph.tor(dst_asw)
    path = EcmpPaths(graph).between(a, b, src_dsw, dst_dsw)
    links = {(a, n): s for n, s in path.up.items()} | {(n, b): s for n, s in path.down.items()}
    shares = {graph.switches[n]: s for n, s in path.nodes.items()}
    shares |= {graph.switches[n]: 1.0 for n in (a, b) if n >= 0}
    for (u, v), share in (links | path.links).items():
        shares[link(graph.switches[u], graph.switches[v])] = share
    return shares


def directed_rows(incidence: Incidence) -> list[dict[str, tuple[float, float]]]:
    """Per path: component -> (forward, reverse), for all that it crosses."""
    _, forward, reverse = incidence.factored().matrices()
    return [
        {
            name: (float(a), float(b))
            for name, a, b in zip(incidence.components, there, back, strict=True)
            if a or b
        }
        for there, back in zip(forward.toarray(), reverse.toarray(), strict=True)
    ]
