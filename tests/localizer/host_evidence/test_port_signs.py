"""What two readings of a port's counters show: differences, wraps, resets, states."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localizer.host_evidence.port_signs import gained, signs


@pytest.mark.parametrize(
    ("before", "after", "gain"),
    [
        (5, 9, 4),
        (9, 9, 0),
        (2**32 - 3, 4, 7),  # wrapped at 32 bits
        (2**64 - 1, 0, 1),
        (65_535, 65_535, 0),  # 16 bits of an InfiniBand port, which stay at their largest value
        (1_000_000, 12, 12),  # the device was reset: it counts from 0 since
        (60_000, 0, 0),
    ],
)
def test_a_counter_gains_also_where_it_wraps_or_is_reset(
    before: int, after: int, gain: int
) -> None:
    assert gained(before, after) == gain


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1))
def test_no_counter_loses(before: int, after: int) -> None:
    assert gained(before, after) >= 0


def test_what_a_counter_held_before_the_first_reading_does_not_count() -> None:
    found = signs({"rx_crc_errors_phy": 10**6}, {"rx_crc_errors_phy": 10**6})
    assert not found.damaged
    assert not signs(None, {"rx_crc_errors_phy": 10**6}).damaged


def test_one_link_that_goes_down_is_counted_once_though_several_counters_say_so() -> None:
    before = {"link_downed": 1, "carrier_down_count": 4, "carrier_changes": 8}
    after = {"link_downed": 3, "carrier_down_count": 6, "carrier_changes": 12}
    found = signs(before, after)
    assert (found.downs, found.by) == (2, "link_downed")
    only = signs({"carrier_changes": 8}, {"carrier_changes": 12})
    assert (only.downs, only.by) == (2, "carrier_changes")


def test_signs_are_kept_by_what_they_mean() -> None:
    names = ("symbol_error", "out_of_buffer", "tx_errors_phy", "np_cnp_sent", "rx_prio3_pause")
    found = signs(dict.fromkeys(names, 0), dict.fromkeys(names, 7))
    groups = (found.damaged, found.dropped, found.unsent, found.marks, found.pauses)
    assert [*groups] == [{name: 7} for name in names]


def test_states_are_those_of_the_newer_reading() -> None:
    found = signs({"carrier": 1}, {"carrier": 0, "admin_up": 1, "address_present": 0})
    assert (found.up, found.enabled, found.addressed, found.present) == (False, True, False, None)
    assert signs(None, {"port_state": 4, "carrier": 0}).up, "the RDMA port itself is active"
    assert signs(None, {"admin_up": 0}).up is False
    assert signs(None, {}).up is None
