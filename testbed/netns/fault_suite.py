"""The faults that ``fabric play`` injects: issue types as faults of the real fabric.

The fabric has two tiers, 8 hosts x 2 NICs and two containers per host, one for each of two tenants.
Delays are far larger than a data centre's: a round trip through the namespaces takes about 200 us
and is noisy, where a data centre's takes 15 us.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from testbed.netns.faults.fault import Fault
from testbed.netns.plan.plan import Plan

PLAN: Final = Plan(
    hosts=8, nics=2, hosts_per_tor=4, spines=2, containers=2, tenants=2, fabric="play"
)


class SuiteFault(NamedTuple):
    """A named fault; it counts as missed when no incident names it within ``timeout_s``."""

    name: str
    fault: Fault
    timeout_s: float


def _rnic(host: int, nic: int) -> str:
    return f"rnic:{PLAN.nic_address(host, nic)}"


def _link(spine: int, tor: int) -> str:
    return PLAN.link_id(PLAN.switch_cable(spine, tor))


def suite() -> list[SuiteFault]:
    """All faults, newly made, in the order to play them.

    Loss and latency alternate: while the latency windows of one fault pass, a loss can be played.
    """
    network, loss_s, latency_s = "network", 25.0, 60.0

    def fault(
        name: str, action: str, at: str, timeout_s: float, **amounts: float | str
    ) -> SuiteFault:
        made = Fault(target=network, action=action, at=at, issue_type=name, **amounts)  # type: ignore[arg-type]  # amounts are Fault's own fields
        return SuiteFault(name, made, timeout_s)

    every = [
        fault("crc_error", "loss", _link(0, 1), loss_s, percent=20.0),
        fault("rnic_port_down", "down", _rnic(5, 1), loss_s),
        fault("switch_port_down", "down", _link(1, 2), loss_s),
        fault("switch_port_flapping", "flap", _link(0, 0), loss_s, period_s=4.0),
        fault("switch_offline", "down", "spine:spine-1", loss_s),
        fault("rnic_hardware_failure", "drop", _rnic(2, 0), loss_s),
        fault("rnic_port_flapping", "flap", _rnic(6, 0), loss_s, period_s=4.0),
        # An rnic here is no bond: a port that is up and has lost its address has lost its gid.
        fault("rnic_gid_change", "address", _rnic(1, 1), loss_s)._replace(name="address removed"),
        fault("rnic_gid_change", "address", _rnic(4, 0), loss_s, address="10.1.2.200"),
        SuiteFault(
            "container_crash",
            Fault(
                target="process",
                action="kill",
                at="container:cont-3-1",
                issue_type="container_crash",
            ),
            loss_s,
        ),
        SuiteFault(
            "agent crash", Fault(target="process", action="kill", at="agent:host-7"), loss_s
        ),
        SuiteFault(
            "agent starved",
            Fault(target="cpu", action="load", at="agent:host-0", percent=60.0, period_s=2.0),
            loss_s,
        ),
        fault(
            "offloading_failure",
            "delay",
            _rnic(0, 1),
            latency_s,
            time_us=2000.0,
            layer="overlay",
        ),
        fault("not_using_rdma", "delay", "vswitch:host-5", latency_s, time_us=2000.0),
        fault("congestion_control_disabled", "delay", "tor:tor-3", latency_s, time_us=2000.0),
        fault("pcie_nic_error", "delay", "host:host-2", latency_s, time_us=3000.0, others=0.3),
        fault("hugepage_misconfiguration", "delay", "host:host-6", latency_s, time_us=1000.0),
        fault(
            "rnic_firmware_not_responding",
            "delay",
            _rnic(7, 0),
            latency_s,
            time_us=2000.0,
            share=0.5,
        ),
        fault(
            "suboptimal_flow_offloading",
            "delay",
            "vswitch:host-1",
            latency_s,
            time_us=2000.0,
            share=0.5,
        ),
        # The shaper itself adds 1 to 2 ms to a round trip, also while it delays nothing.
        fault(
            "repetitive_flow_offloading",
            "delay",
            "vswitch:host-3",
            latency_s,
            time_us=8000.0,
            period_s=6.0,
        ),
    ]
    latencies = [each for each in every if each.timeout_s == latency_s]
    losses = [each for each in every if each.timeout_s == loss_s]
    first = len(losses) - len(latencies)  # the latency detector needs 70 s of input
    turns = zip(latencies, losses[first:], strict=True)
    return losses[:first] + [each for pair in turns for each in pair]


def hard_suite() -> list[SuiteFault]:
    """Faults that may well be missed: small, rare, one-way, or in the vSwitch's own tables."""
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
    return [
        SuiteFault(name, fault, 60.0 if fault.action == "delay" else 40.0) for name, fault in faults
    ]
