"""The issue type and the line of truth.json of a fault of the real fabric."""

from __future__ import annotations

import time
from typing import Final

from schemas.component_ids import kind_of
from schemas.documents.times import rfc3339
from testbed.netns.faults import actions
from testbed.netns.faults.fault import Fault
from testbed.netns.plan.component_ports import SWITCHES
from testbed.scoring.truth import Truth

#: (action, component kind) -> issue type, where all five-tuples are hit.
_TYPE: Final = {
    ("loss", "link"): "crc_error",
    ("corrupt", "link"): "crc_error",
    ("down", "link"): "switch_port_down",
    ("flap", "link"): "switch_port_flapping",
    **{("down", kind): "switch_offline" for kind in SWITCHES},
    **{("delay", kind): "congestion_control_disabled" for kind in SWITCHES},
    ("drop", "rnic"): "rnic_hardware_failure",
    ("down", "rnic"): "rnic_port_down",
    ("flap", "rnic"): "rnic_port_flapping",
    ("delay", "rnic"): "offloading_failure",
    ("address", "rnic"): "rnic_gid_change",
    ("delay", "host"): "pcie_nic_error",
    ("delay", "vswitch"): "not_using_rdma",
    ("down", "container"): "container_crash",
    ("kill", "container"): "container_crash",
}
#: The same where only some five-tuples are hit.
_SOME: Final = {
    ("delay", "rnic"): "rnic_firmware_not_responding",
    ("delay", "vswitch"): "suboptimal_flow_offloading",
}
_LAYER: Final = {
    "vswitch": "overlay", "container": "overlay", "agent": "agent", "host": "host",
}  # fmt: skip


def issue_type(fault: Fault) -> str | None:
    """The fault's name in the catalogue of 19 issue types; None where none fits."""
    if fault.issue_type is not None:
        return fault.issue_type
    key = fault.action, kind_of(fault.at)
    return _SOME.get(key) if fault.share is not None and fault.share < 1 else _TYPE.get(key)


def truth(fault: Fault, fabric: str) -> Truth | None:
    """The line of truth.json of a fault that is in place; None where probes see nothing of it.

    ``magnitude`` is the share lost, the share of time without a processor, or the added round trip
    [us]: the probe and its reply are delayed once each.
    """
    symptom = actions.symptom(fault)
    if symptom == "none":
        return None
    magnitude = (fault.percent or 100.0) / 100
    if symptom == "high_latency":
        magnitude = (fault.time_us or 0.0) * (2 if fault.direction == "both" else 1)
    return Truth(
        fabric=fabric,
        component=fault.at,
        issue_type=issue_type(fault),
        symptom=symptom,
        layer=fault.layer or _LAYER.get(kind_of(fault.at), "underlay"),
        direction=fault.direction,
        start=rfc3339(fault.started_ns),
        end=None,
        magnitude=magnitude,
    )


def now() -> str:
    """The present time, as truth.json has it."""
    return rfc3339(time.time_ns())
