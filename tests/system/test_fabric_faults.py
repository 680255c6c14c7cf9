"""Every fault of the real fabric affects real packets as it should, until it is destroyed."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from testbed.netns import Fabric, FabricError, Fault, FaultError, Plan, machine, missing
from testbed.netns.faults import actions

pytestmark = [pytest.mark.netns, pytest.mark.slow]

PLAN = Plan(hosts=4, nics=2, hosts_per_tor=2, spines=2, containers=2, tenants=2)
RNIC = f"rnic:{PLAN.nic_address(0, 0)}"
CABLE = PLAN.link_id(PLAN.nic_cable(0, 0))
UPLINK = PLAN.link_id(PLAN.switch_cable(1, 0))


class Pings(NamedTuple):
    """The summary of ping: percent lost, least and greatest round trip [ms], duplicates.

    On a busy machine replies wait, so that only the least round trip is the network's.
    """

    lost: float
    least_ms: float
    greatest_ms: float
    doubled: int


@pytest.fixture(scope="module")
def fabric() -> Iterator[Fabric]:
    """Four hosts in two groups, two tenants."""
    if lacks := missing():
        pytest.skip(f"a namespace fabric needs {', '.join(lacks)}")
    with Fabric(PLAN) as built:
        yield built


def ping(fabric: Fabric, node: str, source: str, target: str, *options: str) -> Pings:
    command = ["ping", "-q", "-c", "20", "-i", "0.02", "-W", "1", *options, "-I", source, target]
    run = fabric.popen(node, command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    said = str(run.communicate()[0])
    lost = re.search(r"([\d.]+)% packet loss", said)
    times = re.search(r"= ([\d.]+)/[\d.]+/([\d.]+)/", said)
    doubled = re.search(r"\+(\d+) duplicates", said)
    return Pings(
        float(lost[1]) if lost else 100.0,
        float(times[1]) if times else 0.0,
        float(times[2]) if times else 0.0,
        int(doubled[1]) if doubled else 0,
    )


def under(fabric: Fabric, *options: str) -> Pings:
    """Between NIC 0 of the first host and of the last, across the spines."""
    return ping(fabric, "host-0", PLAN.nic_address(0, 0), PLAN.nic_address(3, 0), *options)


def over(fabric: Fabric, box: int = 0) -> Pings:
    """Between containers of the first tenant on those hosts."""
    source, target = PLAN.container_address(0, 0, 0), PLAN.container_address(3, box, 0)
    return ping(fabric, "cont-0-0", source, target)


def fault(target: str, action: str, at: str, **amounts: Any) -> Fault:
    return Fault(target=target, action=action, at=at, **amounts)


def test_tenants_cannot_reach_each_other(fabric: Fabric) -> None:
    assert over(fabric, box=0).lost == 0
    assert over(fabric, box=1).lost == 100, "a container of another tenant, same address range"


@pytest.mark.parametrize(
    ("broken", "under_dead", "over_dead"),
    [
        (fault("network", "drop", RNIC), True, True),
        (fault("network", "drop", RNIC, destination=PLAN.nic_address(3, 0)), True, True),
        (fault("network", "drop", RNIC, destination="10.1.2.9"), False, False),
        (fault("network", "blackhole", "spine:spine-0", share=0.9999), False, True),
        (fault("network", "corrupt", RNIC, percent=100.0), True, True),
        (fault("network", "loss", CABLE, percent=100.0, direction="a>b"), True, True),
        (fault("network", "down", RNIC), True, True),
        (fault("network", "down", "tor:tor-0"), True, True),
        (fault("network", "down", "host:host-0"), True, True),
        (fault("network", "down", "container:cont-0-0"), False, True),
        (fault("network", "address", RNIC), True, True),
        (fault("network", "address", RNIC, address="10.1.0.200"), True, True),
        (fault("vswitch", "missing-flow", "vswitch:host-0"), False, True),
        (fault("vswitch", "loop", "vswitch:host-0"), False, True),
        (fault("process", "kill", "container:cont-0-0"), False, True),
    ],
    ids=str,
)
def test_a_destination_is_cut_off_while_the_fault_lasts(
    fabric: Fabric, broken: Fault, under_dead: bool, over_dead: bool
) -> None:
    if broken.action == "blackhole":  # both spines, so that it does not matter which way is taken
        fabric.create(fault("network", "blackhole", "spine:spine-1", share=0.9999))
    fabric.create(broken)
    seen = under(fabric).lost, over(fabric).lost
    fabric.heal()
    assert seen == (100.0 * under_dead, 100.0 * over_dead)
    assert (under(fabric).lost, over(fabric).lost) == (0, 0), "and nothing of it stays"


def test_loss_drops_about_its_share_of_packets(fabric: Fabric) -> None:
    fabric.create(fault("network", "loss", RNIC, percent=30.0))
    lost = under(fabric, "-c", "200", "-i", "0.005").lost
    fabric.heal()
    assert 35 < lost < 67, "30 % on the way out and 30 % on the way back: 51 %"


def test_delay_is_added_once_in_each_direction(fabric: Fabric) -> None:
    for where in (RNIC, "tor:tor-0", "host:host-0"):
        made = fabric.create(fault("network", "delay", where, time_us=5000.0))
        slow, slow_above = under(fabric).least_ms, over(fabric).least_ms
        fabric.destroy(made)
        assert 10 < slow < 20, where
        assert 10 < slow_above < 20, where
    assert under(fabric).least_ms < 5


def test_a_slow_vswitch_leaves_the_underlay_alone(fabric: Fabric) -> None:
    fabric.create(fault("network", "delay", "vswitch:host-0", time_us=5000.0))
    slow, same = over(fabric).least_ms, under(fabric).least_ms
    fabric.heal()
    assert 10 < slow < 20
    assert same < 5


@pytest.mark.parametrize("action", ["delay", "loss"])
def test_a_fault_of_tunnelled_packets_leaves_the_underlay_alone(
    fabric: Fabric, action: str
) -> None:
    amounts = {"time_us": 5000.0} if action == "delay" else {"percent": 100.0}
    fabric.create(fault("network", action, RNIC, layer="overlay", **amounts))
    above, below = over(fabric), under(fabric)
    fabric.heal()
    assert above.lost == 100 if action == "loss" else 10 < above.least_ms < 20
    assert below.lost == 0
    assert below.least_ms < 5


def test_delay_of_one_direction_is_half_of_both(fabric: Fabric) -> None:
    fabric.create(fault("network", "delay", CABLE, time_us=5000.0, direction="a>b"))
    slow = under(fabric).least_ms
    fabric.heal()
    assert 5 < slow < 10


def test_duplicates_arrive_and_nothing_is_lost(fabric: Fabric) -> None:
    fabric.create(fault("network", "duplicate", RNIC, percent=100.0))
    seen = under(fabric)
    fabric.heal()
    assert seen.lost == 0
    assert seen.doubled >= 20


def test_reordering_makes_some_packets_late(fabric: Fabric) -> None:
    fabric.create(fault("network", "reorder", CABLE, percent=30.0, time_us=20_000.0))
    seen = under(fabric)
    fabric.heal()
    assert seen.lost == 0
    assert seen.least_ms < 20 <= seen.greatest_ms


def test_tcp_survives_a_packet_shaper(fabric: Fabric) -> None:
    server = (
        "import socket; s = socket.create_server(('172.16.3.1', 900)); print('up', flush=True); "
        "c = s.accept()[0]; n = 0\nwhile d := c.recv(65536): n += len(d)\nprint(n)"
    )
    client = (
        "import socket; s = socket.create_connection(('172.16.3.1', 900), 10); "
        "s.sendall(b'x' * 300_000); s.close()"
    )
    fabric.create(fault("network", "delay", RNIC, time_us=1000.0))
    listens = fabric.popen("cont-3-0", ["python3", "-c", server], stdout=subprocess.PIPE, text=True)
    assert listens.stdout.readline() == "up\n"
    assert fabric.popen("cont-0-0", ["python3", "-c", client]).wait(300) == 0
    assert listens.communicate(timeout=600)[0] == "300000\n"
    fabric.heal()


def test_large_packets_alone_suffer_from_a_small_mtu(fabric: Fabric) -> None:
    fabric.create(fault("network", "mtu", "tor:tor-0", mtu=1000))
    small, large = under(fabric), under(fabric, "-s", "1300", "-M", "do")
    fabric.heal()
    assert (small.lost, large.lost) == (0, 100)
    assert under(fabric, "-s", "1300", "-M", "do").lost == 0


def test_a_flapping_link_is_up_and_down_in_turn(fabric: Fabric) -> None:
    """Seen from the far end: what its own host's ping could not send, it sends again."""
    ends = PLAN.nic_address(3, 0), PLAN.nic_address(0, 0)
    fabric.create(fault("network", "flap", RNIC, period_s=0.4))
    lost = ping(fabric, "host-3", *ends, "-c", "100").lost
    fabric.heal()
    assert 5 < lost < 95
    assert under(fabric).lost == 0


def test_a_flap_begins_when_it_is_reported_to_be_in_place(fabric: Fabric) -> None:
    fabric.create(fault("network", "flap", RNIC, period_s=60.0))
    seen = under(fabric).lost
    fabric.heal()
    assert seen == 100
    assert under(fabric).lost == 0


def test_frames_circle_in_a_vswitch_that_loops(fabric: Fabric) -> None:
    def passed() -> int:
        said = machine.call(
            ["ip", "-n", fabric.namespace("host-0"), "-j", "-s", "link", "show", "vx0n0"]
        )
        return int(json.loads(said)[0]["stats64"]["tx"]["packets"])

    fabric.create(fault("vswitch", "loop", "vswitch:host-0"))
    before = passed()
    over(fabric)
    circled = passed() - before
    fabric.heal()
    assert circled > 2 * 20, "each of 20 pings went round more than once"


def test_two_faults_at_once_heal_apart(fabric: Fabric) -> None:
    lossy = fabric.create(fault("network", "loss", RNIC, percent=100.0))
    slow = fabric.create(fault("network", "delay", RNIC, time_us=5000.0))
    fabric.destroy(lossy)
    assert 10 < under(fabric).least_ms < 20
    fabric.destroy(slow)
    assert under(fabric).least_ms < 5


def test_a_fault_that_stays_after_its_removal_is_an_error(
    fabric: Fabric,
) -> None:
    made = fabric.create(fault("network", "loss", UPLINK, percent=5.0))
    broken = actions.ACTIONS["network", "loss"]._replace(undo=lambda fabric, fault: None)
    with pytest.raises(FabricError, match="is still there after its removal: nft table"):
        actions.destroy(fabric, made, {("network", "loss"): broken})
    assert made.fault_id in fabric.faults, "the fabric still lists the fault"
    fabric.heal()


def test_the_same_cable_cannot_be_pulled_twice(fabric: Fabric) -> None:
    fabric.create(fault("network", "down", RNIC))
    with pytest.raises(FaultError, match="is there already; destroy that first"):
        fabric.create(fault("network", "flap", RNIC))
    fabric.heal()
    assert under(fabric).lost == 0


def test_process_kill_is_refused_where_no_agent_runs(fabric: Fabric) -> None:
    with pytest.raises(FaultError, match="no agent runs there"):
        fabric.create(fault("process", "kill", "agent:host-0"))
    assert fabric.faults == {}


def test_all_hosts_of_three_tiers_reach_each_other() -> None:
    if lacks := missing():
        pytest.skip(f"a namespace fabric needs {', '.join(lacks)}")
    plan = Plan(hosts=4, nics=1, hosts_per_tor=1, spines=2, aggs=2, pods=2, containers=1)
    with Fabric(plan) as three:
        for other in range(1, 4):
            source, target = plan.nic_address(0, 0), plan.nic_address(other, 0)
            assert ping(three, "host-0", source, target).lost == 0
            above = plan.container_address(0, 0, 0), plan.container_address(other, 0, 0)
            assert ping(three, "cont-0-0", *above).lost == 0
        lost = []
        for agg in ("agg:agg-0", "agg:agg-1"):  # which of them a pair crosses changes at each boot
            three.create(fault("network", "down", agg))
            lost.append(
                [
                    ping(three, "host-0", plan.nic_address(0, 0), plan.nic_address(other, 0)).lost
                    for other in range(1, 4)
                ]
            )
            three.heal()
        worst = [max(pair) for pair in zip(*lost, strict=True)]
        assert worst == [100] * 3, "ECMP goes on hashing pairs onto the agg that is gone"
        assert ping(three, "host-0", plan.nic_address(0, 0), plan.nic_address(3, 0)).lost == 0
