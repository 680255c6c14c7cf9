"""What may be asked of the real fabric's faults, and what each means: no root needed."""

from __future__ import annotations

import pytest

from testbed.netns import Fabric, Fault, FaultError, Plan, UnknownComponent
from testbed.netns.fault_suite import PLAN, hard_suite, suite
from testbed.netns.faults import actions, issues
from testbed.netns.faults.packet_shaper import corrupted, is_late, within

LINK = "link:spine:spine-0|tor:tor-1"


@pytest.fixture(scope="module")
def fabric() -> Fabric:
    return Fabric(Plan(containers=1))  # on paper: never built


@pytest.mark.parametrize(
    ("fault", "complaint"),
    [
        (Fault(target="network", action="melt", at=LINK), "no fault 'network melt'; there are"),
        (Fault(target="network", action="loss", at=LINK), "say how much by --percent"),
        (Fault(target="network", action="loss", at=LINK, percent=101), "at most 100"),
        (Fault(target="network", action="loss", at=LINK, percent=0), "more than 0"),
        (Fault(target="network", action="down", at=LINK, percent=5), "takes no --percent"),
        (Fault(target="network", action="delay", at=LINK), "--time or --time-us"),
        (Fault(target="network", action="delay", at=LINK, time_us=1, offset_us=2), "offset"),
        (Fault(target="network", action="blackhole", at=LINK, share=1.5), "at most 1"),
        (Fault(target="network", action="mtu", at=LINK, mtu=20), "68 up to 65535"),
        (Fault(target="network", action="flap", at=LINK, period_s=0.01), "0.2 up to 3600"),
        (Fault(target="network", action="loss", at="agent:host-0", percent=5), "can be put on"),
        (Fault(target="vswitch", action="loop", at="tor:tor-0"), "can be put on vswitch: only"),
        (Fault(target="network", action="drop", at=LINK, destination="x"), "not an IP address"),
        (
            Fault(target="network", action="drop", at=LINK, destination="2001:db8::1"),
            "the fabric has no IPv6 addresses",
        ),
        (
            Fault(target="network", action="drop", at="tor:tor-0", direction="a>b"),
            "only packets on a link have a direction",
        ),
        (
            Fault(target="network", action="drop", at=LINK, layer="underlay"),
            "layer 'underlay'; give overlay, or nothing",
        ),
        (
            Fault(target="network", action="drop", at="vswitch:host-0", layer="overlay"),
            "packets are tunnelled in the underlay only",
        ),
        (Fault(target="network", action="down", at=LINK, layer="overlay"), "takes no --layer"),
    ],
)
def test_an_invalid_fault_is_refused_in_one_line(
    fabric: Fabric, fault: Fault, complaint: str
) -> None:
    with pytest.raises(FaultError, match=complaint) as refused:
        actions.check(fabric, fault)
    assert "\n" not in str(refused.value)


def test_a_fault_at_a_component_that_is_not_there_is_refused(fabric: Fabric) -> None:
    with pytest.raises(UnknownComponent, match="no component 'spine:spine-7' here"):
        actions.check(fabric, Fault(target="network", action="down", at="spine:spine-7"))


@pytest.mark.parametrize(
    ("fault", "issue"),
    [
        (Fault(target="network", action="loss", at=LINK, percent=5), "crc_error"),
        (Fault(target="network", action="down", at="tor:tor-0"), "switch_offline"),
        (Fault(target="network", action="delay", at="vswitch:host-0", time_us=9), "not_using_rdma"),
        (
            Fault(target="network", action="delay", at="vswitch:host-0", time_us=9, share=0.5),
            "suboptimal_flow_offloading",
        ),
        (Fault(target="network", action="address", at="rnic:10.1.0.0"), "rnic_gid_change"),
        (Fault(target="process", action="kill", at="agent:host-0"), None),
        (Fault(target="network", action="down", at=LINK, issue_type="my own"), "my own"),
    ],
)
def test_a_fault_has_the_catalogue_s_name(fault: Fault, issue: str | None) -> None:
    assert issues.issue_type(fault) == issue


def test_a_fault_that_probes_cannot_see_has_no_truth() -> None:
    assert issues.truth(Fault(target="network", action="mtu", at=LINK, mtu=1400), "f") is None


def test_the_suite_has_seventeen_issue_types_that_can_all_be_made() -> None:
    fabric = Fabric(PLAN)
    for each in (*suite(), *hard_suite()):
        actions.check(fabric, each.fault)
    names = {issues.issue_type(each.fault) for each in suite()} - {None}
    assert len(names) == 17, "all of the catalogue but bond_error and gpu_direct_rdma_error"


def test_a_broken_frame_differs_in_one_bit_of_its_payload_and_claims_no_good_checksum() -> None:
    frame = bytes([1] * 10) + bytes(range(90))
    broken = corrupted(frame, lambda below: below - 1)
    assert broken[:10] == bytes(10)
    assert broken[10:44] == frame[10:44], "addresses stay as they are"
    changed = [a ^ b for a, b in zip(frame[44:], broken[44:], strict=True) if a != b]
    assert [bits.bit_count() for bits in changed] == [1]


def test_a_delay_with_a_period_is_there_in_the_first_half_of_each() -> None:
    assert [is_late(passed_s, 6.0) for passed_s in (0.0, 2.9, 3.1, 5.9, 6.1, 9.1)] == [
        True, True, False, False, True, False
    ]  # fmt: skip
    assert is_late(3.1, 0.0), "without a period always"


def test_only_a_host_delays_packets_of_its_own_nics_more() -> None:
    fabric = Fabric(PLAN)
    host = Fault(target="network", action="delay", at="host:host-2", time_us=9.0, others=0.3)
    actions.check(fabric, host)
    for at, others in (("vswitch:host-2", 0.3), ("host:host-2", 1.5)):
        wrong = Fault(target="network", action="delay", at=at, time_us=9.0, others=others)
        with pytest.raises(FaultError, match=r"others|NICs"):
            actions.check(fabric, wrong)


def test_a_frame_is_within_a_host_when_both_of_its_addresses_are_the_host_s() -> None:
    own = frozenset((b"\x0a\x01\x02\x00", b"\x0a\x01\x02\x02"))
    other = b"\x0a\x01\x03\x00"
    head = bytes(10 + 14 + 12)
    one, two = sorted(own)
    assert within(head + one + two + bytes(30), own)
    assert not within(head + one + other + bytes(30), own)
    assert not within(head + other + two + bytes(30), own)
    assert not within(bytes(12), own)
