"""Two readings of a port's counters -> what they show of the port and its cable. Pure.

Only what a counter gained between the two readings counts: what it held before may be years old.
States are those of the newer reading.

Source  names: Linux, Documentation/ABI/testing/sysfs-class-net-statistics; NVIDIA, "Understanding
        mlx5 ethtool counters" and "InfiniBand port counters"; InfiniBand specification,
        PortCounters.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from localizer.host_evidence.parameters import DEFAULT, HostEvidenceParameters

#: Frames that arrived damaged: what is between the last port and this one has damaged them.
DAMAGED: Final = (
    "symbol_error", "rx_crc_errors", "rx_crc_errors_phy", "rx_symbol_err_phy", "rx_frame_errors",
    "rx_fcs_errors", "rx_align_errors", "rx_pcs_symbol_err_phy", "rx_err_lane_0_phy",
    "rx_err_lane_1_phy", "rx_err_lane_2_phy", "rx_err_lane_3_phy",
)  # fmt: skip
#: Times that the link went down, by one counter each: the first that is there counts.
DOWNS: Final = ("link_down_events_phy", "link_downed", "carrier_down_count")
#: Packets that arrived well, and that the host did not take in time.
DROPPED: Final = (
    "out_of_buffer", "rx_out_of_buffer", "rx_missed_errors", "rx_fifo_errors", "rx_over_errors",
    "rx_no_buffer_count", "rx_discards_phy",
)  # fmt: skip
#: Packets that the own rnic failed to send.
UNSENT: Final = ("tx_errors", "tx_errors_phy", "tx_aborted_errors", "tx_fifo_errors",
                 "tx_carrier_errors", "port_xmit_discards", "tx_discards_phy")  # fmt: skip
#: Marks of congestion control: ECN of RoCE, and the notifications that follow.
MARKS: Final = ("np_ecn_marked_roce_packets", "np_cnp_sent", "rp_cnp_handled")
#: Pauses that the next switch asked for.
_PAUSES: Final = re.compile(r"rx_(prio\d_pause|pause_ctrl_phy|pause|prio\d_pause_duration)")
_RANGES: Final = (2**32, 2**64)  # counters of fewer bits stay at their largest value
_ACTIVE: Final = 4  # of an RDMA port


@dataclass(frozen=True, slots=True)
class PortSigns:
    """What a port shows.

    damaged, dropped, unsent, marks, pauses   counter -> what it gained [count]
    downs     times that its link went down
    by        counter that says so
    present   its device is there; addressed: with the rnic's address; None: not known
    enabled   the host wants it up; up: it is
    bond_up   ports of the bond that are up; None: it is no bond
    """

    damaged: Mapping[str, int] = field(default_factory=dict)
    dropped: Mapping[str, int] = field(default_factory=dict)
    unsent: Mapping[str, int] = field(default_factory=dict)
    marks: Mapping[str, int] = field(default_factory=dict)
    pauses: Mapping[str, int] = field(default_factory=dict)
    downs: int = 0
    by: str = ""
    present: bool | None = None
    addressed: bool | None = None
    enabled: bool | None = None
    up: bool | None = None
    bond_up: int | None = None


def gained(before: int, after: int, parameters: HostEvidenceParameters = DEFAULT) -> int:
    """What a counter gained between two readings; of one that was reset, what it shows now.

    A counter that fell has wrapped at 32 or 64 bits, unless it would have gained too much: then its
    device was reset, and has counted from 0 since.
    """
    if after >= before:
        return after - before
    size = next((each for each in _RANGES if before < each), 2**64)
    wrapped = after + size - before
    return wrapped if 0 <= wrapped <= parameters.reset_share * size else max(after, 0)


def signs(
    before: Mapping[str, int] | None,
    after: Mapping[str, int],
    parameters: HostEvidenceParameters = DEFAULT,
) -> PortSigns:
    """What two readings of one rnic's counters show.

    before, after  counter or state -> value; before: None where there is one reading only, which
                   shows states and no counts
    """
    rose = {
        name: rise
        for name, value in after.items()
        if before is not None and name in before
        and (rise := gained(before[name], value, parameters)) > 0
    }  # fmt: skip
    by = next((name for name in DOWNS if name in after), "")
    downs = rose.get(by, 0)
    if not downs and rose.get("carrier_changes", 0) > 1:
        by, downs = "carrier_changes", rose["carrier_changes"] // 2
    return PortSigns(
        _of(rose, DAMAGED), _of(rose, DROPPED), _of(rose, UNSENT), _of(rose, MARKS),
        {name: rise for name, rise in rose.items() if _PAUSES.fullmatch(name)},
        downs, by,
        present=_state(after, "device_present"), addressed=_state(after, "address_present"),
        enabled=_state(after, "admin_up"), up=_is_up(after), bond_up=after.get("bond_ports_up"),
    )  # fmt: skip


def _of(rose: Mapping[str, int], names: tuple[str, ...]) -> dict[str, int]:
    return {name: rose[name] for name in names if name in rose}


def _state(values: Mapping[str, int], name: str) -> bool | None:
    return None if name not in values else values[name] != 0


def _is_up(values: Mapping[str, int]) -> bool | None:
    """Whether the port is up; an interface that is not wanted up says nothing of its carrier."""
    if "port_state" in values:
        return values["port_state"] == _ACTIVE
    if "carrier" in values:
        return values["carrier"] != 0
    return False if values.get("admin_up") == 0 else None
