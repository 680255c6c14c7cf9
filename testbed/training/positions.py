"""The layout of a job on its hosts: the position of each rnic, the pairs that carry traffic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from testbed.workload.layouts import ring_edges, tree_edges

I64 = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Shape:
    """A job on ``hosts`` hosts of ``rails`` rnics, every rnic serving one GPU.

    pp               pipeline stages
    stages_per_host  neighbouring stages inside a host; TP = rails / stages_per_host
    expert_hosts     hosts of an expert group, on every rail; 1 = dense
    collective       rings or double binary trees between the replicas of a position
    wraps            the last stage sends to the first: interleaved pipeline, or tied embeddings
    """

    hosts: int
    rails: int = 8
    pp: int = 1
    stages_per_host: int = 1
    expert_hosts: int = 1
    collective: Literal["ring", "tree"] = "ring"
    wraps: bool = False

    def __post_init__(self) -> None:
        kinds = self.pp // self.stages_per_host
        if self.rails % self.stages_per_host or self.pp % self.stages_per_host:
            raise ValueError(f"{self}: stages_per_host divides neither rails nor stages")
        if self.hosts % kinds or (self.hosts // kinds) % self.expert_hosts:
            raise ValueError(f"{self}: hosts do not divide into stages and expert groups")

    @property
    def tp(self) -> int:
        """Tensor-parallel degree."""
        return self.rails // self.stages_per_host

    @property
    def dp(self) -> int:
        """Data-parallel replicas: hosts with the same stages."""
        return self.hosts * self.stages_per_host // self.pp


@dataclass(frozen=True, slots=True, eq=False)
class Positions:
    """Each (H, rails), for the GPU behind the rnic of that rail on the job's h-th host.

    position  stage x TP + tensor-parallel rank: what a cluster of the inference should be
    pairs     (K, 2) rnic numbers h x rails + rail, a < b, sorted: true traffic, either direction
    """

    shape: Shape
    stage: I64
    replica: I64
    position: I64
    pairs: I64


def positions(shape: Shape) -> Positions:
    """Hosts in the order of ranks: pipeline outermost, then replicas, then stages inside a host."""
    host = np.arange(shape.hosts)
    kind, replica = host // shape.dp, host % shape.dp
    rail = np.arange(shape.rails)
    stage = kind[:, None] * shape.stages_per_host + rail // shape.tp
    position = stage * shape.tp + rail % shape.tp
    wide = np.broadcast_to(replica[:, None], stage.shape)
    return Positions(shape, stage, wide, position, _pairs(shape))


def replica_edges(shape: Shape) -> I64:
    """(K, 2) replicas of a position between which its collective moves data, a != b, each once."""
    edges = ring_edges(shape.dp) if shape.collective == "ring" else tree_edges(shape.dp)
    return np.array(sorted({(min(e), max(e)) for e in edges if e[0] != e[1]})).reshape(-1, 2)


def _pairs(shape: Shape) -> I64:
    """Rail-aligned: a rank talks to the ranks of its own place in other hosts."""
    kinds = shape.pp // shape.stages_per_host
    host = np.arange(shape.hosts).reshape(kinds, shape.dp)
    inside = replica_edges(shape)
    parts = [kind[inside] for kind in host]
    groups = np.arange(shape.dp).reshape(-1, shape.expert_hosts)
    a, b = np.triu_indices(shape.expert_hosts, 1)
    parts += [np.stack([kind[groups[:, a]].ravel(), kind[groups[:, b]].ravel()], 1)
              for kind in host]  # fmt: skip
    rail = np.arange(shape.rails)
    a, b = (end[:, None] * shape.rails + rail for end in np.concatenate(parts).T)
    same_rail = np.stack([a.ravel(), b.ravel()], axis=1)
    every = np.sort(np.concatenate([same_rail, _between(shape, host)]), axis=1)
    out: I64 = np.unique(every, axis=0)
    return out


def _between(shape: Shape, host: I64) -> I64:
    """Pairs of neighbouring stages on different hosts: same replica and tensor-parallel rank."""
    tp, last = shape.tp, shape.rails - shape.tp
    rank = np.arange(tp)
    steps = [(kind, kind + 1) for kind in range(len(host) - 1)]
    if shape.wraps and len(host) > 2:
        steps.append((len(host) - 1, 0))
    parts = [
        np.stack([
            (host[a][:, None] * shape.rails + last + rank).ravel(),
            (host[b][:, None] * shape.rails + rank).ravel(),
        ], 1)
        for a, b in steps
    ]  # fmt: skip
    return np.concatenate(parts) if parts else np.empty((0, 2), np.int64)
