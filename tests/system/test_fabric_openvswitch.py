"""Open vSwitch in the hosts: the same overlay, with flow tables that can be read and broken."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from dataclasses import replace

import pytest
from builders.agents.host_evidence import flow_tables

from localizer.host_evidence.collected import CollectedEvidence
from localizer.host_evidence.finding import HostFinding, Question
from probers.requests.host_facts import HostFacts
from testbed.netns import Fabric, FabricError, Fault, Plan, machine, missing, openvswitch
from testbed.netns.faults import actions

pytestmark = [pytest.mark.netns, pytest.mark.slow]

PLAN = Plan(hosts=3, nics=1, hosts_per_tor=1, spines=1, containers=2, tenants=2, vswitch="ovs")


@pytest.fixture(scope="module", params=[False, True], ids=["ipv4", "ipv6"])
def fabric(request: pytest.FixtureRequest) -> Iterator[Fabric]:
    if lacks := missing() + openvswitch.missing():
        pytest.skip(f"a fabric with Open vSwitch needs {', '.join(lacks)}")
    with Fabric(replace(PLAN, ipv6=request.param)) as built:
        yield built
        directories = [openvswitch.run_directory(built.namespace(f"host-{h}")) for h in range(3)]
    assert not any(each.exists() for each in directories)


def lost_and_mean(fabric: Fabric, target: str) -> tuple[float, float]:
    command = ["ping", "-q", "-c", "20", "-i", "0.02", "-W", "1", target]
    run = fabric.popen("cont-0-0", command, stdout=subprocess.PIPE, text=True)
    said = str(run.communicate()[0])
    lost, mean = re.search(r"([\d.]+)% packet loss", said), re.search(r"= [\d.]+/([\d.]+)/", said)
    return float(lost[1]) if lost else 100.0, float(mean[1]) if mean else 0.0


def over(fabric: Fabric) -> float:
    return lost_and_mean(fabric, fabric.plan.container_address(2, 0, 0))[0]


def passed(fabric: Fabric) -> int:
    said = machine.call(
        ["ip", "-n", fabric.namespace("host-0"), "-j", "-s", "link", "show", "vx0n0"]
    )
    return int(json.loads(said)[0]["stats64"]["tx"]["packets"])


def test_containers_reach_the_containers_of_their_tenant_only(fabric: Fabric) -> None:
    assert over(fabric) == 0
    assert lost_and_mean(fabric, fabric.plan.container_address(2, 1, 0))[0] == 100
    assert lost_and_mean(fabric, fabric.plan.container_address(0, 1, 0))[0] == 100


def test_flow_tables_can_be_read(fabric: Fabric) -> None:
    over(fabric)
    at = openvswitch.run_directory(fabric.namespace("host-0"))
    table = machine.call(["ovs-ofctl", "dump-flows", f"unix:{at}/br0n0.mgmt"])
    assert f"dl_dst={PLAN.container_mac(2, 0, 0)}" in table
    assert PLAN.container_mac(2, 1, 0) not in table, "of another tenant"
    control = next(at.glob("ovs-vswitchd.*.ctl"))
    cached = machine.call(["ovs-appctl", "-t", str(control), "dpctl/dump-flows", "-m"])
    assert PLAN.container_mac(2, 0, 0) in cached


def test_a_missing_flow_cuts_the_overlay_off_until_it_is_back(fabric: Fabric) -> None:
    fabric.create(Fault(target="vswitch", action="missing-flow", at="vswitch:host-0"))
    lost = over(fabric)
    fabric.heal()
    assert (lost, over(fabric)) == (100, 0)


def test_a_flow_that_is_missing_is_listed_while_the_fault_lasts(fabric: Fabric) -> None:
    made = fabric.create(Fault(target="vswitch", action="missing-flow", at="vswitch:host-0"))
    assert any("flows are not the plan's" in line for line in actions.in_kernel(fabric, made))
    fabric.heal()
    assert actions.in_kernel(fabric, made) == []


def test_frames_circle_while_the_table_sends_them_back(fabric: Fabric) -> None:
    fabric.create(Fault(target="vswitch", action="loop", at="vswitch:host-0"))
    before = passed(fabric)
    lost = over(fabric)
    circled = passed(fabric) - before
    fabric.heal()
    assert lost == 100
    assert circled > 2 * 20
    assert over(fabric) == 0


def decided(fabric: Fabric, *hosts: int) -> HostFinding | None:
    """What the flow tables of hosts, as their agents read them, say of host-0's dead overlay."""
    known = CollectedEvidence()
    for host in hosts:
        at = openvswitch.run_directory(fabric.namespace(f"host-{host}"))
        facts = HostFacts([
            ("/usr/bin/ovs-ofctl", "--names", "dump-flows", f"unix:{at}/br{tenant}n0.mgmt")
            for tenant in (0, 1)
        ])  # fmt: skip
        text, cut = facts.flow_table()
        assert not cut
        for each in flow_tables(f"host-{host}", text):
            known.add(each)
    tie = ("container:cont-0-0", "vswitch:host-0")
    return known.answer("I1", Question(tie[0], tie, "unconnectivity"), "f1", {})


def test_walks_through_real_tables_name_the_vswitch_the_table_and_the_rule(fabric: Fabric) -> None:
    assert decided(fabric, 0, 1, 2) is None
    fabric.create(Fault(target="vswitch", action="missing-flow", at="vswitch:host-0"))
    missing = decided(fabric, 0, 2)
    fabric.heal()
    fabric.create(Fault(target="vswitch", action="loop", at="vswitch:host-0"))
    looped = decided(fabric, 0)
    fabric.heal()
    assert missing is not None
    assert looped is not None
    assert missing.component == looped.component == "vswitch:host-0"
    mac = PLAN.container_mac(2, 0, 0)
    assert f"vswitch host-0, bridge br0n0, table 0: no rule for dl_dst={mac}" in missing.text
    assert "in_port=vx0n0" in looped.text
    assert "sends packets back in a loop" in looped.text
    assert decided(fabric, 0, 1, 2) is None, "healed"


def test_loss_and_delay_at_the_vswitch_hit_its_packets(fabric: Fabric) -> None:
    for where in ("vswitch:host-0", "container:cont-0-0"):
        lossy = fabric.create(Fault(target="network", action="loss", at=where, percent=100.0))
        assert over(fabric) == 100, where
        fabric.destroy(lossy)
        if fabric.plan.ipv6:  # the packet shaper knows IPv4 only
            continue
        slow = fabric.create(Fault(target="network", action="delay", at=where, time_us=10_000.0))
        _, mean_ms = lost_and_mean(fabric, fabric.plan.container_address(2, 0, 0))
        fabric.destroy(slow)
        assert mean_ms > 20, where
    assert over(fabric) == 0


def test_a_machine_without_open_vswitch_is_refused_with_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(machine, "missing", list[str])
    monkeypatch.setattr(openvswitch.shutil, "which", lambda tool: None)
    with pytest.raises(FabricError, match=r"ovs-vsctl \(apt install openvswitch-switch\)"):
        Fabric(PLAN).build()
