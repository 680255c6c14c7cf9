"""k-ary fat-trees: the counts of the published setting, and shortest routes through them."""

from __future__ import annotations

from collections import Counter

import msgspec
import numpy as np
import pytest

from schemas.documents import topology as topology_document
from testbed.simulator import network
from testbed.topologies import fat_tree
from testbed.topologies.fat_tree import FatTreeSpec
from testbed.workload import skeleton

K8 = fat_tree.build(FatTreeSpec(k=8), seed=1)


def test_eight_ports_make_80_switches_128_hosts_and_256_links() -> None:
    assert topology_document.parse(msgspec.json.encode(K8)) == K8
    tiers = Counter(switch.tier for switch in K8.switches)
    assert tiers == {"asw": 32, "psw": 32, "dsw": 16}
    assert (len(K8.hosts), len(K8.links)) == (128, 256)
    ports = Counter(end for link in K8.links for end in link)
    hosts = Counter(rnic.asw for host in K8.hosts for rnic in host.rnics)
    assert {ports[name] + hosts[name] for name in ports} == {8}


def test_the_seed_shuffles_names_so_that_they_reveal_no_position() -> None:
    other = fat_tree.build(FatTreeSpec(k=8), seed=2)
    assert fat_tree.build(FatTreeSpec(k=8), seed=1) == K8
    assert set(other.links) != set(K8.links)


def test_routes_cross_one_three_or_five_switches() -> None:
    fabric = network.build(K8)
    drawn = skeleton.paths(fabric, targets=6, ports_per_pair=2, seed=1)
    lengths = (drawn.forward_switches >= 0).sum(axis=1)
    assert set(np.unique(lengths)) <= {1, 3, 5}
    cores = {fabric.topology.switches[s].tier for s in drawn.forward_switches[lengths == 5][:, 2]}
    assert cores == {"dsw"}


def test_only_the_underlay_is_probed_when_the_plan_says_so() -> None:
    fabric = network.build(K8)
    drawn = skeleton.paths(fabric, targets=3, ports_per_pair=2, seed=1, layers=("underlay",))
    assert len(drawn) == 128 * 3 * 2
    assert set(drawn.layer) == {skeleton.UNDERLAY}


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [({"k": 7}, "even number"), ({"hosts_per_job": -1}, "counts"), ({"tenants": 0}, "at least 1")],
)
def test_an_invalid_fat_tree_is_refused(wrong: dict[str, int], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        FatTreeSpec(**wrong)  # type: ignore[arg-type]  # one wrong count at a time
