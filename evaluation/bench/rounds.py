"""Probes in a round by plan: each endpoint probes each of its targets once.

``python -m evaluation.bench.rounds`` prints the table. Ours are counted in the lists of one job
over all hosts, whose layout is known; the others follow from their definitions.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from controller.ping_lists.endpoints import Document
from controller.ping_lists.lists import PingLists
from controller.ping_lists.same_rail import make_ready
from evaluation.bench.method.figure import figure
from schemas.documents.topology import Topology
from testbed.topologies.clos import ClosSpec, build
from testbed.workload import layouts

_RAILS: Final = 8
_SIZES: Final = (512, 1024, 2048)  # rnics
_STAGES: Final = 8
_EXPERTS: Final = 8
#: Seconds of a round, a second a target of each endpoint; SkeletonHunter (SIGCOMM 2025).
_PUBLISHED: Final = {
    512: {"full mesh": 560.0, "same rail": 65.0, "skeleton": 8.2},
    1024: {"full mesh": 1123.0, "same rail": 123.0, "skeleton": 16.9},
    2048: {"full mesh": 2034.0, "same rail": 241.0, "skeleton": 25.1},
}
#: Probes of its skeleton, of its full mesh, at 2,048 rnics; it does not say per what.
_PUBLISHED_PROBES: Final = (2593, 60_430)


class Round(NamedTuple):
    """One plan at one size.

    probes      (endpoint, target) pairs [count]
    host_pairs  pairs of hosts that probe each other [count]
    published   targets an endpoint, from the published time of a round
    """

    rnics: int
    plan: str
    probes: int
    host_pairs: int
    published: float | None

    @property
    def targets(self) -> float:
        """Mean targets of an endpoint: its seconds of a round at a probe a second."""
        return self.probes / self.rnics

    @property
    def share(self) -> float:
        """Of the full mesh between hosts."""
        return self.probes / (self.rnics * (self.rnics - _RAILS))


def rounds(rnics: int) -> list[Round]:
    """Every plan at one size."""
    hosts, published = rnics // _RAILS, _PUBLISHED[rnics]
    all_pairs = hosts * (hosts - 1) // 2
    spec = ClosSpec(
        name="bench", hosts=hosts, rails=_RAILS, hosts_per_segment=16, aggs=8, pods=4,
        spines=16, hosts_per_job=hosts,
    )  # fmt: skip
    topology = build(spec, 1)
    lists = PingLists(topology)
    make_ready(lists, topology)
    found = [
        Round(rnics, "full mesh", rnics * (rnics - _RAILS), all_pairs, published["full mesh"]),
        Round(rnics, "same rail", rnics * (hosts - 1), all_pairs, published["same rail"]),
        Round(rnics, "ours, preload", *_counted(lists), None),
    ]
    for plan, experts in (("ours, skeleton, dense", 1), ("ours, skeleton, MoE", _EXPERTS)):
        layout = layouts.fit(hosts, _RAILS, pp=_STAGES, ep=experts)
        known = [(a, b) for a, b, _ in layouts.pairs(layout).tolist()]
        found.append(_skeleton(lists, topology, plan, known))
    layout = layouts.fit(hosts, _RAILS, pp=_STAGES)
    found.append(_skeleton(lists, topology, "ours, skeleton, inferred", _inferred(layout)))
    return found


def _skeleton(
    lists: PingLists, topology: Topology, plan: str, hosts: list[tuple[int, int]]
) -> Round:
    """The lists of a skeleton: pairs of hosts, numbered in order, on every rail."""
    pairs = [
        (topology.hosts[a].rnics[rail].real_ip, topology.hosts[b].rnics[rail].real_ip)
        for a, b in hosts
        for rail in range(_RAILS)
    ]
    lists.use_skeleton(topology.containers[0].job, pairs)
    rnics = len(topology.hosts) * _RAILS
    return Round(rnics, plan, *_counted(lists), _PUBLISHED[rnics]["skeleton"])


def _inferred(layout: layouts.Layout) -> list[tuple[int, int]]:
    """Pairs of hosts that a right inference gives: all of a stage, since throughput does not tell
    a ring from a tree, and replicas of neighbouring stages."""
    size = layout.stage_hosts
    return [
        (a, b)
        for a in range(layout.hosts)
        for b in range(a + 1, layout.hosts)
        if a // size == b // size or b - a == size
    ]


def _counted(lists: PingLists) -> tuple[int, int]:
    """Probes in a round of the overlay, and pairs of hosts."""
    probes, hosts = 0, set()
    for node_sn in lists.hosts:
        for target in _targets(lists.document(node_sn)):
            if target["layer"] == "overlay":
                probes += 1
                hosts.add(frozenset((node_sn, target["node_sn"])))
    return probes, len(hosts)


def _targets(document: Document) -> list[dict[str, Any]]:
    targets = document["targets"]
    return targets if isinstance(targets, list) else []


def probes_in_a_round() -> dict[str, Any]:
    """The row of the largest size, for ``bench``."""
    largest = rounds(_SIZES[-1])
    allowed = _PUBLISHED_PROBES[0] / _PUBLISHED_PROBES[1]
    skeletons = [each for each in largest if "skeleton" in each.plan]
    said = "; ".join(
        f"{each.plan} {each.probes:,} ({each.targets:.1f} targets an endpoint, "
        f"{each.share:.2%} of the full mesh)"
        for each in largest
    )
    return {
        **figure("{rnics:,} rnics: {said}", rnics=_SIZES[-1], said=said),
        "goal": f"skeleton <= {allowed:.1%} of the full mesh (published)",
        "missed": any(each.share > allowed for each in skeletons),
    }


def table() -> str:
    """Markdown, all sizes."""
    lines = [
        "| rnics | plan | probes in a round | pairs of hosts | targets an endpoint | published | "
        "of the full mesh |",
        "|---|---|---|---|---|---|---|",
    ]
    for size in _SIZES:
        for each in rounds(size):
            published = "" if each.published is None else f"{each.published:g}"
            lines.append(
                f"| {each.rnics:,} | {each.plan} | {each.probes:,} | {each.host_pairs:,} | "
                f"{each.targets:.1f} | {published} | {each.share:.2%} |"
            )
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
