"""The settings in which published localizers were evaluated, one trial at a time.

A trial is the evidence that a strategy receives, and the links that are really bad. All settings
are k-ary fat-trees probed with round trips; ``source`` names what a paper leaves open.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import numpy.typing as npt
from scipy import sparse

from localizer.evidence import Attribution, Evidence, Matrices
from schemas.component_ids import component, link

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]

#: Background loss that strategies are given [1]: what the product assumes of a fabric before it has
#: measured it.
ASSUMED_BACKGROUND: Final = 2e-4
_BANDS: Final = (
    ((0.2, 1.0), 11), ((0.1, 0.2), 13), ((0.05, 0.1), 9), ((0.01, 0.05), 9), ((0.001, 0.01), 10),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Setting:
    """How a trial is drawn.

    k                    ports of a switch: k pods, k^3/4 hosts
    destinations, ports  per host; packets: of a five-tuple, or (fewest, most)
    healthy_loss         (low, high) of a link in each direction [1], uniform
    failures             (fewest, most) bad links among those between switches
    loss                 (low, high) of a bad link in each direction, log-uniform; "bands": the
                         published mix of 52 directed losses on 26 links, scaled to ``failures``
    kinds                random: each packet is lost with that probability; blackhole: a share
                         0.25..0.75 of the five-tuples loses everything; full: all are lost
    unknown              share of five-tuples whose route is not known
    source               where the numbers are from, and what we chose
    """

    k: int
    destinations: int
    ports: int
    packets: tuple[int, int]
    healthy_loss: tuple[float, float]
    failures: tuple[int, int]
    loss: tuple[float, float] | Literal["bands"]
    source: str
    kinds: tuple[str, ...] = ("random",)
    unknown: float = 0.0


SETTINGS: Final[dict[str, Setting]] = {
    "fat_tree_sparse": Setting(
        8, 3, 2, (100, 100), (0.0, 1e-4), (26, 26), "bands", unknown=0.3,
        source="NetBouncer/Flock bar: 10 % of links bad in both directions; 30 % routes unknown",
    ),
    "fat_tree_noisy": Setting(
        8, 8, 4, (100, 100), (0.0, 5e-4), (26, 26), "bands",
        source="the same with more probes and a healthy loss that no strategy is given",
    ),
    "flock_silent_drop": Setting(
        8, 24, 4, (100, 100), (0.0, 1e-4), (1, 8), (0.002, 0.02),
        source="Flock, CoNEXT 2023, silent packet drops; probes per host chosen by us",
    ),
    "vote007": Setting(
        8, 30, 2, (1, 100), (0.0, 1e-6), (1, 10), (1e-4, 1e-2),
        source="007, NSDI 2018: 60 flows per host and 30 s epoch, at most 100 packets each",
    ),
    "detector": Setting(
        8, 4, 4, (30, 30), (0.0, 1e-5), (1, 10), (0.01, 0.5),
        kinds=("random", "blackhole", "full"),
        source="deTector, ATC 2017: full, partial random and partial deterministic losses",
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Trial:
    """One draw: evidence, component ids per column of its incidence, and the bad ones."""

    evidence: Evidence
    members: list[list[str]]
    bad: frozenset[str]


def trial(setting: str | Setting, seed: int) -> Trial:
    """Draw a trial; same seed, same trial. Raises KeyError for an unknown name."""
    plan = SETTINGS[setting] if isinstance(setting, str) else setting
    rng = np.random.default_rng([seed, 0x7B0])
    tree = _FatTree(plan.k)
    src, dst = _pairs(tree, plan, rng)
    paths = len(src)
    known = rng.random(paths) >= plan.unknown
    there, back = tree.way(src, dst, rng), tree.way(dst, src, rng)
    loss, hit_share, bad = _losses(tree, plan, rng)
    sent = rng.integers(plan.packets[0], plan.packets[1] + 1, paths)
    survive = np.ones(paths)
    for way in (there, back):
        hit = rng.random(way.shape) < np.append(hit_share, 1.0)[way]
        survive *= np.prod(1.0 - np.append(loss, 0.0)[way] * hit, axis=1)
    lost = rng.binomial(sent, 1.0 - survive)
    exact, open_ = np.flatnonzero(known), np.flatnonzero(~known)
    both = sparse.csr_array((paths, tree.pad))
    for way, a, b in ((there, src, dst), (back, dst, src)):
        both = both + _matrix(tree, way[exact], exact, paths)
        both = both + tree.shares(a[open_], b[open_], open_, paths)
    # Directed link 2j runs a>b of link j's id, 2j + 1 against it, whichever way the probe goes.
    along, against = both[:, 0::2].tocsr(), both[:, 1::2].tocsr()
    crossed = np.flatnonzero(np.asarray(both.sum(axis=0)).reshape(-1, 2).sum(axis=1) > 0)
    along, against = along[:, crossed], against[:, crossed]
    evidence = Evidence(
        Matrices(((along + against) / 2).tocsr(), along, against, np.ones(len(crossed), bool)),
        sent=sent, lost=lost, excess_us=np.zeros(paths), noise_us=np.ones(paths), bad=lost > 0,
        source=src.astype(np.int32), overlay=np.zeros(paths, bool), background=ASSUMED_BACKGROUND,
    )  # fmt: skip
    return Trial(
        evidence, [[tree.links[j]] for j in crossed], frozenset(tree.links[j] for j in bad)
    )


def score(drawn: Trial, blames: Iterable[Attribution]) -> tuple[float, float, float]:
    """Precision (1 when nothing is blamed), recall (1 when nothing failed) and F1 of the links."""
    blamed = {blame.column for blame in blames}
    right = [column for column in blamed if drawn.bad.intersection(drawn.members[column])]
    found = drawn.bad.intersection(name for column in blamed for name in drawn.members[column])
    precision = len(right) / len(blamed) if blamed else 1.0
    recall = len(found) / len(drawn.bad) if drawn.bad else 1.0
    total = precision + recall
    return precision, recall, 2 * precision * recall / total if total else 0.0


class _FatTree:
    """Links of a k-ary fat-tree; a way is (N, 6) directed links, padded with ``self.pad``.

    Directed link 2j goes from the end of link j that its id names first, 2j + 1 comes back.
    """

    def __init__(self, k: int) -> None:
        self.half = k // 2
        self.hosts = k * self.half**2
        half = self.half
        tors = [component("tor", f"{p}-{e}") for p in range(k) for e in range(half)]
        aggs = [component("agg", f"{p}-{a}") for p in range(k) for a in range(half)]
        spines = [component("spine", f"{a}-{c}") for a in range(half) for c in range(half)]
        rnics = [component("rnic", str(h)) for h in range(self.hosts)]
        ends = [(rnics[h], tors[h // half]) for h in range(self.hosts)]
        self.upper = len(ends)  # first link between switches
        ends += [(tors[t], aggs[t // half * half + a]) for t in range(len(tors))
                 for a in range(half)]  # fmt: skip
        self._agg_spine = len(ends)
        ends += [(aggs[g], spines[g % half * half + c]) for g in range(len(aggs))
                 for c in range(half)]  # fmt: skip
        self.links = [link(low, high) for low, high in ends]
        #: (L, 2) directed link that goes up, and the one that comes down
        first = np.array([low < high for low, high in ends])
        number = 2 * np.arange(len(ends))
        self._up = np.where(first, number, number + 1)
        self._down = np.where(first, number + 1, number)
        self.pad = 2 * len(ends)

    def way(self, src: I64, dst: I64, rng: np.random.Generator) -> I64:
        """(N, 6) one ECMP way each."""
        half = self.half
        return self._ways(src, dst, rng.integers(half, size=len(src)),
                          rng.integers(half, size=len(src)))  # fmt: skip

    def _ways(self, src: I64, dst: I64, agg: I64, spine: I64) -> I64:
        half = self.half
        tor, goal = src // half, dst // half
        out = np.full((len(src), 6), self.pad, np.int64)
        out[:, 0], out[:, 5] = self._up[src], self._down[dst]
        climbs = tor != goal
        over = tor // half != goal // half
        out[climbs, 1] = self._up[(self.upper + tor * half + agg)[climbs]]
        out[climbs, 4] = self._down[(self.upper + goal * half + agg)[climbs]]
        for column, pod, table in ((2, tor // half, self._up), (3, goal // half, self._down)):
            at = self._agg_spine + (pod * half + agg) * half + spine
            out[over, column] = table[at[over]]
        return out

    def shares(self, src: I64, dst: I64, rows: I64, paths: int) -> sparse.csr_array:
        """(paths, directed links) ECMP shares of the given rows."""
        half = self.half
        total = sparse.csr_array((paths, self.pad))
        for agg in range(half):
            for spine in range(half):
                chosen = np.full(len(src), agg), np.full(len(src), spine)
                total = total + _matrix(self, self._ways(src, dst, *chosen), rows, paths)
        return (total / half**2).tocsr()


def _matrix(tree: _FatTree, way: I64, rows: I64, paths: int) -> sparse.csr_array:
    at = np.repeat(rows, way.shape[1])
    real = way.ravel() < tree.pad
    ones = np.ones(int(real.sum()))
    return sparse.csr_array((ones, (at[real], way.ravel()[real])), shape=(paths, tree.pad))


def _pairs(tree: _FatTree, plan: Setting, rng: np.random.Generator) -> tuple[I64, I64]:
    """Source and destination host of every five-tuple."""
    src = np.repeat(np.arange(tree.hosts), plan.destinations)
    other = np.concatenate(
        [rng.choice(tree.hosts - 1, plan.destinations, replace=False) for _ in range(tree.hosts)]
    )
    dst = other + (other >= src)  # any host but the source
    return np.repeat(src, plan.ports), np.repeat(dst, plan.ports)


def _losses(tree: _FatTree, plan: Setting, rng: np.random.Generator) -> tuple[F64, F64, list[int]]:
    """Loss and share of five-tuples hit, per directed link, and the bad links."""
    loss = rng.uniform(*plan.healthy_loss, tree.pad)
    share = np.ones(tree.pad)
    count = int(rng.integers(plan.failures[0], plan.failures[1] + 1))
    between = len(tree.links) - tree.upper
    bad = tree.upper + rng.choice(between, min(count, between), replace=False)
    directed = np.stack([2 * bad, 2 * bad + 1], axis=1)
    if plan.loss == "bands":
        low, high = np.array([band for band, times in _BANDS for _ in range(times)]).T
        drawn = rng.permutation(rng.uniform(low, high))
        loss[directed.ravel()] = drawn[: directed.size]
        return loss, share, bad.tolist()
    least, most = np.log(plan.loss)
    loss[directed] = np.exp(rng.uniform(least, most, directed.shape))
    kind = rng.integers(len(plan.kinds), size=len(bad))
    for row, which in enumerate(kind.tolist()):
        if plan.kinds[which] != "random":
            loss[directed[row]] = 1.0
        if plan.kinds[which] == "blackhole":
            share[directed[row]] = rng.uniform(0.25, 0.75)
    return loss, share, bad.tolist()
