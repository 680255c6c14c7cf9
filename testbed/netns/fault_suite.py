"""What ``fabric play`` breaks, one thing after another: issue types as faults of the real fabric.

Two tiers, 8 hosts x 2 NICs, two containers a host, each of another tenant. Delays are thousands of
times a data centre's: the round trip through namespaces is some 200 us and noisy, not 15.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from testbed.netns.faults.fault import Fault
from testbed.netns.plan.plan import Plan

PLAN: Final = Plan(
    hosts=8, nics=2, hosts_per_tor=4, spines=2, containers=2, tenants=2, fabric="play"
)


class Scene(NamedTuple):
    """A fault to play. hold_s: how long it may last before it counts as missed."""

    name: str
    fault: Fault
    hold_s: float


def _rnic(host: int, nic: int) -> str:
    return f"rnic:{PLAN.nic_address(host, nic)}"


def _link(spine: int, tor: int) -> str:
    return PLAN.link_id(PLAN.switch_cable(spine, tor))


def scenes() -> list[Scene]:
    """All of them, by turns loss and latency, for the one can be played while the other's windows
    forget; fresh faults each time."""
    network, quick, slow = "network", 25.0, 60.0

    def scene(name: str, action: str, at: str, hold_s: float, **amounts: float | str) -> Scene:
        fault = Fault(target=network, action=action, at=at, issue_type=name, **amounts)  # type: ignore[arg-type]  # amounts are Fault's own fields
        return Scene(name, fault, hold_s)

    every = [
        scene("crc_error", "loss", _link(0, 1), quick, percent=20.0),
        scene("rnic_port_down", "down", _rnic(5, 1), quick),
        scene("switch_port_down", "down", _link(1, 2), quick),
        scene("switch_port_flapping", "flap", _link(0, 0), quick, period_s=4.0),
        scene("switch_offline", "down", "spine:spine-1", quick),
        scene("rnic_hardware_failure", "drop", _rnic(2, 0), quick),
        scene("rnic_port_flapping", "flap", _rnic(6, 0), quick, period_s=4.0),
        scene("bond_error", "address", _rnic(1, 1), quick),
        scene("rnic_gid_change", "address", _rnic(4, 0), quick, address="10.1.2.200"),
        Scene(
            "container_crash",
            Fault(
                target="process",
                action="kill",
                at="container:cont-3-1",
                issue_type="container_crash",
            ),
            quick,
        ),
        Scene("agent crash", Fault(target="process", action="kill", at="agent:host-7"), quick),
        Scene(
            "agent starved",
            Fault(target="cpu", action="load", at="agent:host-0", percent=60.0, period_s=2.0),
            quick,
        ),
        scene("offloading_failure", "delay", _rnic(0, 1), slow, time_us=2000.0),
        scene("not_using_rdma", "delay", "vswitch:host-5", slow, time_us=2000.0),
        scene("congestion_control_disabled", "delay", "tor:tor-3", slow, time_us=2000.0),
        scene("pcie_nic_error", "delay", "host:host-2", slow, time_us=2000.0),
        scene("hugepage_misconfiguration", "delay", "host:host-6", slow, time_us=1000.0),
        scene(
            "rnic_firmware_not_responding", "delay", _rnic(7, 0), slow, time_us=2000.0, share=0.5
        ),
        scene(
            "suboptimal_flow_offloading", "delay", "vswitch:host-1", slow, time_us=2000.0, share=0.5
        ),
        scene(
            "repetitive_flow_offloading",
            "delay",
            "vswitch:host-3",
            slow,
            time_us=2000.0,
            percent=50.0,
        ),
    ]
    slow_ones = [each for each in every if each.hold_s == slow]
    quick_ones = [each for each in every if each.hold_s == quick]
    first = len(quick_ones) - len(slow_ones)  # the detector of latency needs a past first
    turns = zip(slow_ones, quick_ones[first:], strict=True)
    return quick_ones[:first] + [scene for pair in turns for scene in pair]


def hard_scenes() -> list[Scene]:
    """Smaller, rarer, one-way, or in the vSwitch's own tables: what may well be missed."""
    faults = [
        ("gray link, 3 %", Fault(target="network", action="loss", at=_link(1, 0), percent=3.0)),
        (
            "one-way link, 10 %",
            Fault(target="network", action="loss", at=_link(0, 3), percent=10.0, direction="a>b"),
        ),
        (
            "black hole of 1/4",
            Fault(target="network", action="blackhole", at=_link(1, 1), share=0.25),
        ),
        ("lossy ToR, 5 %", Fault(target="network", action="loss", at="tor:tor-2", percent=5.0)),
        (
            "broken frames, 10 %",
            Fault(target="network", action="corrupt", at=_rnic(3, 1), percent=10.0),
        ),
        ("missing flows", Fault(target="vswitch", action="missing-flow", at="vswitch:host-4")),
        ("loop", Fault(target="vswitch", action="loop", at="vswitch:host-6")),
        (
            "slow vSwitch, 0.3 ms",
            Fault(target="network", action="delay", at="vswitch:host-2", time_us=300.0),
        ),
        (
            "one-way delay, 1 ms",
            Fault(
                target="network", action="delay", at=_link(0, 2), time_us=1000.0, direction="b>a"
            ),
        ),
        (
            "slow spine, 1 ms",
            Fault(target="network", action="delay", at="spine:spine-0", time_us=1000.0),
        ),
    ]
    return [Scene(name, fault, 60.0 if fault.action == "delay" else 40.0) for name, fault in faults]
