"""What each kind of fault does to round trips, by the arrays that records are drawn from."""

from __future__ import annotations

import numpy as np
import pytest

from schemas.component_ids import link_ends
from testbed.faults.kinds import Direction, Fault, FaultError, check
from testbed.simulator.baseline import Noise, job_burst, queue_level
from testbed.simulator.counter_rng import F64
from testbed.simulator.fault_effects import FaultEffects, candidates, effects_of
from testbed.simulator.simulator import Simulation
from testbed.topologies import clos
from testbed.topologies.clos import ClosSpec
from testbed.workload.skeleton import OVERLAY

SPEC = ClosSpec(
    name="t", hosts=16, rails=2, hosts_per_segment=4, aggs=2, pods=2, spines=2, hosts_per_job=16
)
WELL = Simulation(clos.build(SPEC, 1), seed=1, start_ns=0, noise=Noise(link_loss=(0.0, 0.0)))
NETWORK, PATHS = WELL.network, WELL.paths
EVERY = np.arange(len(PATHS))
BELOW = PATHS.layer != OVERLAY
ENDS = NETWORK.rnic_host[np.stack([PATHS.src_rnic, PATHS.dst_rnic])]


def some(selector: str) -> str:
    return candidates(NETWORK, PATHS, selector)[0]


def under(kind: str, component: str, **more: object) -> FaultEffects:
    fault = Fault(kind=kind, component=component, start_s=0, **more)  # type: ignore[arg-type]  # one test's own magnitude or direction
    check(fault, NETWORK)
    return effects_of(NETWORK, PATHS, np.zeros(len(PATHS)), [fault])


def added(now: FaultEffects, second: int = 0, queues: float = 1.0) -> F64:
    """(P,) extra round trip of every path on top of 20 us."""
    return now.slowed(np.full(len(PATHS), 20.0), EVERY, second, queues) - 20.0


def crosses(component: str) -> np.ndarray:
    return PATHS.visits(NETWORK.index[component])


def host_of(component: str) -> int:
    return NETWORK.hosts.index(component.partition(":")[2])


def test_a_failure_to_offload_slows_the_tunnels_of_one_rnic_and_nothing_else() -> None:
    rnic = some("any rnic")
    slow = added(under("offloading_failure", rnic, magnitude=40.0))
    assert np.array_equal(slow > 0, crosses(rnic) & ~BELOW)
    assert set(slow[slow > 0]) == {40.0}


def test_stuck_firmware_slows_some_five_tuples_of_an_rnic_in_both_layers() -> None:
    rnic = some("any rnic")
    slow = added(under("rnic_firmware_not_responding", rnic)) > 0
    assert not slow[~crosses(rnic)].any()
    for layer in (BELOW, ~BELOW):
        assert 0.1 < slow[crosses(rnic) & layer].mean() < 0.95


@pytest.mark.parametrize("kind", ["not_using_rdma", "suboptimal_flow_offloading"])
def test_a_vswitch_without_offload_slows_the_overlay_of_its_host(kind: str) -> None:
    vswitch = some("any vswitch")
    slow = added(under(kind, vswitch)) > 0
    mine = crosses(vswitch)
    assert not slow[~mine].any()
    share = slow[mine].mean()
    assert share == 1 if kind == "not_using_rdma" else 0.2 < share < 0.9


def test_repeated_offloading_comes_and_goes() -> None:
    fault = Fault(kind="repetitive_flow_offloading", component=some("any vswitch"), start_s=10)
    assert [fault.active(second) for second in range(9, 17)] == [
        False, True, True, True, False, False, False, True,
    ]  # fmt: skip


def test_wrong_huge_pages_slow_both_layers_of_one_host_alike() -> None:
    host = some("any host")
    slow = added(under("hugepage_misconfiguration", host, magnitude=20.0))
    ends = (host_of(host) == ENDS).any(axis=0)
    assert set(slow[ends]) == {20.0}
    assert not slow[~ends].any()


def test_a_broken_pcie_switch_is_worst_between_the_rnics_of_its_host() -> None:
    host = some("any host")
    slow = added(under("pcie_nic_error", host, magnitude=60.0))
    inside = (host_of(host) == ENDS).all(axis=0)
    outside = (host_of(host) == ENDS).any(axis=0) & ~inside
    assert set(slow[inside]) == {60.0}
    assert 0 < slow[outside].max() < 30.0
    assert not slow[~inside & ~outside].any()


def test_gpu_direct_rdma_leaves_no_trace_in_probes() -> None:
    now = under("gpu_direct_rdma_error", some("any host"))
    assert not added(now).any()
    assert now.keep.all()
    assert not now.silent.any()


def test_queues_without_congestion_control_follow_the_bursts_of_jobs() -> None:
    switch = some("any spine")
    now = under("congestion_control_disabled", switch, magnitude=60.0)
    full, empty = added(now), added(now, queues=0.0)
    assert np.array_equal(full > 0, crosses(switch))
    assert full.max() == 60.0
    assert not empty.any()
    noise = Noise()
    levels = [queue_level(noise, 1, 1, second) for second in range(60)]
    bursts = [bool(job_burst(noise, 1, 1, second).any()) for second in range(60)]
    assert all(level == 1 for level, burst in zip(levels, bursts, strict=True) if burst)
    assert min(levels) == 0


def test_a_drift_grows_from_its_start_by_its_share_of_the_round_trip_an_hour() -> None:
    rnic = some("any rnic")
    fault = Fault(kind="latency_drift", component=rnic, start_s=600, magnitude=0.03)
    now = effects_of(NETWORK, PATHS, np.zeros(len(PATHS)), [fault])
    assert added(now, second=600) == pytest.approx(0.0)
    after_an_hour = added(now, second=4200)
    assert after_an_hour[crosses(rnic)] == pytest.approx(0.03 * 20.0)
    assert not after_an_hour[~crosses(rnic)].any()


@pytest.mark.parametrize("direction", ["a>b", "b>a"])
def test_a_link_can_lose_differently_in_each_direction(direction: Direction) -> None:
    link = some("any tor-agg link")
    both = under("crc_error", link, magnitude=0.2, magnitude_back=0.01).keep
    ways = [under("crc_error", link, magnitude=m, direction=d).keep
            for m, d in ((0.2, "a>b"), (0.01, "b>a"))]  # fmt: skip
    assert both == pytest.approx(ways[0] * ways[1])
    alone = under("crc_error", link, magnitude=0.2, direction=direction).keep
    assert 0 < (alone < 1).sum() < crosses(link).sum()


def test_faults_at_once_add_up() -> None:
    rnic, vswitch = some("any rnic"), some("any vswitch")
    faults = [
        Fault(kind="rnic_latency", component=rnic, start_s=0),
        Fault(kind="not_using_rdma", component=vswitch, start_s=0),
    ]
    now = effects_of(NETWORK, PATHS, np.zeros(len(PATHS)), faults)
    alone = [added(effects_of(NETWORK, PATHS, np.zeros(len(PATHS)), [f])) for f in faults]
    assert added(now) == pytest.approx(alone[0] + alone[1])


@pytest.mark.parametrize(
    ("kind", "selector", "more", "reason"),
    [
        ("tor_loss", "any tor", {"magnitude_back": 0.1}, "needs a link"),
        ("crc_error", "any link", {"magnitude_back": 1.5}, "is a share"),
        ("crc_error", "any link", {"magnitude_back": 0.1, "direction": "a>b"}, "needs direction"),
        ("latency_drift", "any rnic", {"magnitude": -0.1}, "more than 0"),
    ],
)
def test_an_invalid_direction_or_share_of_a_fault_is_refused(
    kind: str, selector: str, more: dict[str, object], reason: str
) -> None:
    with pytest.raises(FaultError, match=reason):
        under(kind, some(selector), **more)


def test_the_ends_of_any_switch_and_any_link_are_of_every_tier() -> None:
    kinds = {name.partition(":")[0] for name in candidates(NETWORK, PATHS, "any switch")}
    assert kinds == {"tor", "agg", "spine"}
    ends = {
        end.partition(":")[0]
        for name in candidates(NETWORK, PATHS, "any link")
        for end in link_ends(name)
    }
    assert ends == {"rnic", "tor", "agg", "spine"}
