"""What counters and states of an rnic's port decide of an incident."""

from __future__ import annotations

import pytest

from localizer.host_evidence.finding import UNCHANGED, Question
from localizer.host_evidence.port_rules import about_port
from localizer.host_evidence.port_signs import signs
from schemas.documents.incident import Symptom

RNIC, CABLE = "rnic:10.0.0.1", "link:rnic:10.0.0.1|tor:t1"
WELL = {"device_present": 1, "address_present": 1, "admin_up": 1, "carrier": 1}


def decided(
    symptom: Symptom, *tie: str, gains: dict[str, int] | None = None, of: str = "10.0.0.1"
) -> tuple[str, str | None, bool] | None:
    after = WELL | (gains or {})
    before = {name: 0 if name not in WELL else value for name, value in after.items()}
    found = about_port(Question(tie[0], tie, symptom), of, signs(before, after))
    return None if found is None else (found.component, found.issue_type, found.decides)


@pytest.mark.parametrize(
    "counter", ["symbol_error", "rx_crc_errors_phy", "rx_crc_errors", "rx_symbol_err_phy"]
)
def test_damaged_frames_are_the_cable_s(counter: str) -> None:
    for tie in ((RNIC, CABLE), (CABLE, RNIC), (CABLE,)):
        assert decided("loss", *tie, gains={counter: 812}) == (CABLE, "crc_error", True)
    assert decided("loss", RNIC, gains={counter: 812}) == (RNIC, "crc_error", False)


def test_one_damaged_frame_decides_nothing() -> None:
    assert decided("loss", RNIC, CABLE, gains={"symbol_error": 1}) is None


def test_packets_that_came_well_and_were_dropped_are_the_host_s_side() -> None:
    assert decided("loss", CABLE, RNIC, gains={"out_of_buffer": 500}) == (RNIC, None, True)


def test_packets_that_were_not_sent_are_the_rnic_s_and_name_no_type() -> None:
    assert decided("loss", CABLE, RNIC, gains={"tx_errors_phy": 500}) == (RNIC, UNCHANGED, True)


def test_a_link_that_goes_down_names_the_type_and_not_the_component() -> None:
    assert decided("loss", RNIC, CABLE, gains={"link_down_events_phy": 5}) == (
        RNIC, "rnic_port_flapping", False
    )  # fmt: skip
    assert decided("loss", CABLE, RNIC, gains={"link_down_events_phy": 5}) == (
        CABLE, "switch_port_flapping", False
    )  # fmt: skip


def test_frames_that_are_damaged_while_a_link_comes_up_are_no_sign_of_their_own() -> None:
    found = decided("loss", RNIC, CABLE, gains={"link_downed": 3, "symbol_error": 900})
    assert found == (RNIC, "rnic_port_flapping", False)


@pytest.mark.parametrize(
    ("states", "issue_type", "decides"),
    [
        ({"device_present": 0}, "rnic_hardware_failure", True),
        ({"bond_ports_up": 0}, "bond_error", True),
        ({"admin_up": 0, "carrier": 0}, "rnic_port_down", True),
        ({"carrier": 0}, "rnic_port_down", False),
        ({"port_state": 1}, "rnic_port_down", False),
        ({"address_present": 0}, "rnic_gid_change", True),
        ({"address_present": 0, "carrier": 0}, "rnic_port_down", False),
        ({"carrier": 0, "link_downed": 1}, "rnic_port_down", False),
        ({"carrier": 0, "link_downed": 2}, "rnic_port_flapping", False),
        ({"carrier": 0, "address_present": 0, "carrier_changes": 9}, "rnic_port_flapping", False),
    ],
)
def test_the_states_of_a_dead_rnic_say_how_it_died(
    states: dict[str, int], issue_type: str, *, decides: bool
) -> None:
    assert decided("unconnectivity", RNIC, CABLE, gains=states) == (RNIC, issue_type, decides)


def test_a_dead_cable_s_port_is_down() -> None:
    found = decided("unconnectivity", CABLE, RNIC, gains={"carrier": 0})
    assert found == (CABLE, "switch_port_down", False)


def test_a_dead_rnic_whose_port_looks_well_is_left_as_it_is() -> None:
    assert decided("unconnectivity", RNIC, CABLE) is None


def test_the_port_of_another_rnic_decides_nothing() -> None:
    assert decided("loss", RNIC, CABLE, of="10.0.0.2", gains={"symbol_error": 812}) is None


def test_congestion_is_no_fault_of_the_rnic() -> None:
    assert (
        decided("loss", RNIC, CABLE, gains={"rx_prio3_pause": 10**6, "np_cnp_sent": 10**6}) is None
    )


def test_pauses_without_a_mark_say_that_congestion_control_is_off_at_the_switch() -> None:
    found = decided("high_latency", "tor:t1", gains={"rx_prio3_pause": 10_000})
    assert found == ("tor:t1", "congestion_control_disabled", False)
    assert (
        decided("high_latency", "tor:t1", gains={"rx_prio3_pause": 10_000, "np_cnp_sent": 3})
        is None
    )
    assert decided("loss", "tor:t1", gains={"rx_prio3_pause": 10_000}) is None
