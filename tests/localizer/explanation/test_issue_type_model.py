"""The issue type that a verdict proposes, with its probability."""

from __future__ import annotations

import pytest

from localizer.explanation.issue_types import (
    NONE,
    TYPES,
    IssueFeatures,
    likeliest_first,
    likely,
    of_members,
    stated,
)
from schemas.documents.incident import Symptom

LINK, RNIC, VSWITCH = ["link:agg:a|tor:t"], ["rnic:r", "link:rnic:r|tor:t"], ["vswitch:h"]


def test_probabilities_of_all_types_that_fit_add_up_to_one() -> None:
    assert sum(p for _, p in likely(RNIC, "unconnectivity", IssueFeatures())) == pytest.approx(1.0)


def test_loss_that_comes_and_goes_on_a_link_is_a_flapping_port() -> None:
    assert likely(LINK, "loss", IssueFeatures(flapping=True))[0][0] == "switch_port_flapping"
    assert likely(LINK, "loss", IssueFeatures(flapping=False))[0][0] == "crc_error"


def test_a_port_that_flaps_to_silence_is_still_flapping() -> None:
    assert (
        likely(LINK, "unconnectivity", IssueFeatures(flapping=True))[0][0] == "switch_port_flapping"
    )


def test_an_rnic_slow_for_the_overlay_only_fails_to_offload() -> None:
    assert likely(RNIC, "high_latency", IssueFeatures(overlay=True))[0][0] == "offloading_failure"


def test_an_rnic_slow_for_some_flows_has_a_firmware_problem() -> None:
    some = IssueFeatures(some=True, overlay=False)
    assert likely(RNIC, "high_latency", some)[0][0] == "rnic_firmware_not_responding"


def test_a_very_slow_vswitch_does_not_use_rdma() -> None:
    seen = IssueFeatures(overlay=True, slow=True, some=False)
    assert likely(VSWITCH, "high_latency", seen)[0][0] == "not_using_rdma"


def test_latency_and_loss_have_no_types_in_common() -> None:
    late = {name for name, _ in likely(RNIC, "high_latency", IssueFeatures())}
    lossy = {name for name, _ in likely(RNIC, "loss", IssueFeatures())}
    assert late & lossy == {NONE}


def test_a_type_that_probes_cannot_see_is_never_proposed() -> None:
    assert "gpu_direct_rdma_error" not in TYPES


def test_a_component_without_a_type_of_its_own_gets_none() -> None:
    assert likely(["agent:h"], "agent_down", IssueFeatures()) == []


def test_rnics_of_one_host_that_are_slow_to_each_other_only_point_to_its_board() -> None:
    assert likely(["host:h"], "high_latency", IssueFeatures(inside=True))[0][0] == "pcie_nic_error"
    assert likely(["host:h"], "high_latency", IssueFeatures(inside=False))[0][0] != "pcie_nic_error"


def test_a_switch_that_loses_some_packets_is_probably_in_no_catalogue() -> None:
    seen = IssueFeatures(flapping=False, some=False, overlay=False, inside=False)
    assert likely(["spine:s"], "loss", seen)[0][0] == NONE


@pytest.mark.parametrize(
    ("symptom", "first"),
    [("unconnectivity", "container:c"), ("loss", "vswitch:h"), ("high_latency", "vswitch:h")],
)
def test_the_symptom_decides_between_a_container_and_its_vswitch(
    symptom: Symptom, first: str
) -> None:
    assert likeliest_first(["vswitch:h", "container:c"], symptom)[0] == first


def test_components_that_the_catalogue_does_not_know_stay_in_their_order() -> None:
    assert likeliest_first(["agent:a", "agent:b"], "loss") == ["agent:a", "agent:b"]


@pytest.mark.parametrize(
    ("types", "expected"),
    [
        ([("crc_error", 0.9), (NONE, 0.1)], "crc_error"),
        ([("crc_error", 0.51), (NONE, 0.25), ("switch_port_down", 0.24)], "crc_error"),
        ([("rnic_port_down", 0.26), ("bond_error", 0.2)], None),
        ([("a", 0.391), ("b", 0.391)], None),
        ([("a", 0.55), ("b", 0.4)], None),
        ([(NONE, 0.8), ("a", 0.2)], None),
        ([], None),
    ],
)
def test_a_type_is_stated_above_a_half_and_twice_the_next(
    types: list[tuple[str, float]], expected: str | None
) -> None:
    assert stated(types) == expected


def test_members_of_a_tie_set_share_what_their_kinds_may_have() -> None:
    shares = of_members(RNIC, "unconnectivity", IssueFeatures())
    assert sum(shares.values()) == pytest.approx(1.0)
    assert shares["rnic:r"] > shares["link:rnic:r|tor:t"] > 0.1
    assert of_members(LINK, "loss", IssueFeatures()) == {LINK[0]: 1.0}
