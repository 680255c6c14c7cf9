"""The layout of a training job: the rank of every GPU, and the pairs of hosts that communicate.

Ranks are assigned as in Megatron: tensor parallel fastest, then data parallel, then pipeline.
Every rnic serves one GPU. Tensor-parallel groups stay inside a host; a pipeline stage is a run of
consecutive hosts; expert-parallel groups are runs of consecutive data-parallel ranks. With
``tp`` = rnics of a host, the rnics of a position (pp, tp) are one per host of its stage.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

I64 = NDArray[np.int64]

#: Reasons for traffic between two hosts of a job: codes of ``pairs``.
KINDS: Final = ("pp", "dp", "ep")


class Layout(NamedTuple):
    """Degrees of parallelism; ``rails`` rnics per host, tp x pp x dp GPUs in all."""

    rails: int
    tp: int
    pp: int
    dp: int
    ep: int

    @property
    def hosts(self) -> int:
        """Hosts of the job."""
        return self.tp * self.pp * self.dp // self.rails

    @property
    def stage_hosts(self) -> int:
        """Hosts of one pipeline stage."""
        return self.hosts // self.pp


class Ranks(NamedTuple):
    """Each (H, rails): data-, pipeline-, tensor- and expert-parallel rank of the GPU behind
    the rnic of that rail on the job's h-th host."""

    dp: I64
    pp: I64
    tp: I64
    ep: I64


def fit(hosts: int, rails: int, *, tp: int = 0, pp: int = 1, ep: int = 1) -> Layout:
    """The layout nearest to the requested one: each degree is the largest that divides evenly.

    tp  0 = all rnics of a host
    """
    tp = _divisor(rails, tp or rails)
    pp = _divisor(hosts, pp)
    dp = hosts // pp * (rails // tp)
    return Layout(rails, tp, pp, dp, _divisor(dp, ep))


def ranks(layout: Layout) -> Ranks:
    """Position of every GPU."""
    gpu = np.arange(layout.hosts * layout.rails).reshape(layout.hosts, layout.rails)
    tp = gpu % layout.tp
    dp = gpu // layout.tp % layout.dp
    return Ranks(dp, gpu // (layout.tp * layout.dp), tp, dp % layout.ep)


def pairs(layout: Layout) -> I64:
    """(K, 3) host index from, host index to, KINDS code; no pair twice, the same on every rail.

    Neighbouring stages; the ring and both trees of the collectives of a stage; all of an expert
    group. Collectives keep to their rail between hosts, also all-to-all (hosts hand over to the
    right rail inside, over NVLink).
    Source  Sanders, Speck, Traeff (2009), Two-tree algorithms for full bandwidth broadcast
    """
    size = layout.stage_hosts
    host = np.arange(layout.hosts).reshape(layout.pp, size)
    parts = [_coded(host[:-1].ravel(), host[1:].ravel(), 0)]
    inner = np.array(sorted(ring_edges(size) | tree_edges(size)), np.int64).reshape(-1, 2)
    parts += [_coded(stage[inner[:, 0]], stage[inner[:, 1]], 1) for stage in host]
    group = layout.ep * layout.tp  # GPUs; it may begin and end within a host
    for first in range(0, layout.hosts * layout.rails, group):
        members = np.arange(first // layout.rails, (first + group - 1) // layout.rails + 1)
        a, b = np.meshgrid(members, members, indexing="ij")
        parts.append(_coded(a[a < b], b[a < b], 2))
    half = np.concatenate(parts)
    every = np.concatenate([half, half[:, [1, 0, 2]]])
    _, first_seen = np.unique(every[:, 0] * layout.hosts + every[:, 1], return_index=True)
    return every[first_seen]


def _coded(a: I64, b: I64, code: int) -> I64:
    return np.stack([a, b, np.full_like(a, code)], axis=1)


def ring_edges(size: int) -> set[tuple[int, int]]:
    """Edges of a ring over 0 .. size - 1."""
    return {(i, (i + 1) % size) for i in range(size) if size > 1}


def tree_edges(size: int) -> set[tuple[int, int]]:
    """Edges of a binary tree over 0 .. size - 1 and of its mirror or shift, so that inner nodes
    of one are leaves of the other."""
    edges = {(i, _parent(i, size)) for i in range(1, size)}
    if size % 2:
        return edges | {((a + 1) % size, (b + 1) % size) for a, b in edges}
    return edges | {(size - 1 - a, size - 1 - b) for a, b in edges}


def _parent(node: int, size: int) -> int:
    """Parent in the tree in which node 0 is the root and odd nodes are leaves."""
    low = node & -node
    up = (node ^ low) | (low << 1)
    return up if up < size else node ^ low


def _divisor(whole: int, wanted: int) -> int:
    """Largest divisor of ``whole`` that is at most ``wanted``."""
    return next(d for d in range(min(whole, max(1, wanted)), 0, -1) if whole % d == 0)
