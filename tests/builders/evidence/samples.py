"""Evidence from a fabric of 12 hosts x 2 rails, 2 ToRs a rail, 2 spines; the culprit is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np
from scipy import sparse

from builders.clusters import reply, request
from builders.incidences import classes_of, incidence_of, routes_chunk
from localizer.detectors.loss import excess_p_values
from localizer.evidence import Evidence, Matrices
from localizer.fabric.observability import Classes
from localizer.fabric.path_table import Path
from schemas.documents.topology import Switch, Topology

HOSTS, RAILS, PORTS = 12, 2, 2
BACKGROUND = 3e-4
SURPRISE = 0.01  # as the judge has it
SENT = 60


@cache
def fabric() -> tuple[Classes, list[Path]]:
    """Classes of everything probed, and the paths in row order."""
    tors = [f"asw{side}{rail}" for side in range(2) for rail in range(RAILS)]
    topology = Topology(
        switches=[*(Switch(t, "asw") for t in tors), Switch("dsw0", "dsw"), Switch("dsw1", "dsw")],
        links=[(t, f"dsw{n}") for t in tors for n in range(2)],
    )
    paths = []
    for a in range(HOSTS):
        for b in range(HOSTS):
            for rail in range(RAILS):
                for layer in ("underlay", "overlay"):
                    for port in range(PORTS):
                        if a != b:
                            ends = [_end(host, rail) for host in (a, b)]
                            paths.append(
                                Path(len(paths), "f1", layer, "UDP_PING", *ends[0], *ends[1],
                                     "t", "t", port, 4791)
                            )  # fmt: skip
    incidence, traced = incidence_of(paths, topology), []
    for path in paths:  # every route is known, the two five-tuples take the two spines
        spine = f"dsw{path.src_port}"
        for five_tuple, first, last in (
            (request(path), path.src_asw, path.dst_asw),
            (reply(path), path.dst_asw, path.src_asw),
        ):
            hops = [first] if first == last else [first, spine, last]
            traced.append((five_tuple, hops))
    incidence.learn_routes(routes_chunk(traced))
    return classes_of(incidence), paths


def _end(host: int, rail: int) -> tuple[str, ...]:
    asw = f"asw{host >= HOSTS // 2:d}{rail}"
    return f"c{host}", f"ip{host}.{rail}", f"r{host}.{rail}", f"h{host}", asw, "", "pod"


def column_of(component: str) -> int:
    members = fabric()[0].members
    return next(n for n, names in enumerate(members) if component in names)


def empty() -> Evidence:
    """Nothing was lost, nothing is late."""
    groups, paths = fabric()
    count = len(paths)
    return Evidence(
        Matrices(groups.incidence),
        np.full(count, SENT, np.int64),
        np.zeros(count, np.int64),
        np.zeros(count),
        np.ones(count),
        np.zeros(count, bool),
        np.array([int(p.src_node_sn[1:]) for p in paths], np.int32),
        np.array([p.layer == "overlay" for p in paths]),
        BACKGROUND,
    )


def lossy(culprits: Sequence[tuple[str, float]], seed: int) -> Evidence:
    """Each culprit loses a share of what crosses it; everybody loses the background."""
    base, rng = empty(), np.random.default_rng(seed)
    survive = np.full(len(base.sent), 1 - BACKGROUND)
    for component, share in culprits:
        survive *= (1 - share) ** _share(base, component)
    lost = rng.binomial(base.sent, 1 - survive)
    p = excess_p_values(lost.astype(float), base.sent.astype(float), BACKGROUND)
    return replace(base, lost=lost, bad=(lost > 0) & (p < SURPRISE))


def late(culprits: Sequence[tuple[str, float]], seed: int) -> Evidence:
    """Each culprit adds so many microseconds; everybody has a noise of one."""
    base, rng = empty(), np.random.default_rng(seed)
    excess = rng.normal(0, 1, len(base.sent))
    for component, added_us in culprits:
        excess += added_us * _share(base, component)
    flagged = excess > 4.0
    sent = np.ones_like(base.sent)
    return replace(
        base, sent=sent, lost=flagged.astype(np.int64), excess_us=excess, bad=flagged, latency=True
    )


def _share(base: Evidence, component: str) -> np.ndarray:
    column = base.incidence[:, [column_of(component)]]
    return np.asarray(column.todense()).ravel()


def permuted(evidence: Evidence, rows: np.ndarray, columns: np.ndarray) -> Evidence:
    """The same evidence with its paths and classes told in another order."""
    return replace(
        evidence,
        crossings=Matrices(sparse.csr_array(evidence.incidence[rows][:, columns])),
        **{
            name: getattr(evidence, name)[rows]
            for name in ("sent", "lost", "excess_us", "noise_us", "bad", "source", "overlay")
        },
    )
