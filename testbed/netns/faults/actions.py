"""The table of faults of the real fabric: names, component kinds, options, and what they do.

Each fault is read back from the kernel after it is applied and after it is undone: tools of this
kind are known for faults that stay although their removal reported success.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from ipaddress import ip_address
from typing import Final, NamedTuple

from schemas.component_ids import kind_of
from testbed.netns.faults import (
    filters,
    link_faults,
    process_faults,
    shaped_packets,
    vswitch_entries,
)
from testbed.netns.faults.fault import Fault, FaultError
from testbed.netns.machine import FabricError
from testbed.netns.namespaces import Namespaces
from testbed.netns.plan import component_ports

_SWITCH: Final = component_ports.SWITCHES
_CABLE: Final = ("link", "rnic", "host", "container")
_PACKETS: Final = (*_SWITCH, *_CABLE, "vswitch")
_PULLED: Final = (*_SWITCH, *_CABLE)

Apply = Callable[[Namespaces, Fault], None]
ReadBack = Callable[[Namespaces, Fault], list[str]]


class Action(NamedTuple):
    """A kind of fault.

    on         component kinds that can have it
    needs      options that must be given; takes: options that may be given
    symptom    of the incident that the pipeline should open; the options may change it
    make       applies the fault; undo: removes it
    in_kernel  lists what the kernel shows of it; empty where it is not in place
    """

    on: tuple[str, ...]
    needs: tuple[str, ...]
    takes: tuple[str, ...]
    symptom: str
    make: Apply
    undo: Apply
    in_kernel: ReadBack


def _drops(symptom: str, needs: tuple[str, ...], *takes: str) -> Action:
    takes = (*takes, "direction", "layer")
    return Action(_PACKETS, needs, takes, symptom, filters.make, filters.undo, filters.in_kernel)


def _shapes(symptom: str, needs: tuple[str, ...], *takes: str) -> Action:
    takes = (*takes, "share", "percent", "direction", "layer")
    return Action(
        _PACKETS,
        needs,
        takes,
        symptom,
        shaped_packets.make,
        shaped_packets.undo,
        shaped_packets.in_kernel,
    )


ACTIONS: Final[dict[tuple[str, str], Action]] = {
    ("network", "loss"): _drops("loss", ("percent",), "share"),
    ("network", "drop"): _drops("unconnectivity", (), "destination"),
    ("network", "blackhole"): _drops("unconnectivity", ("share",)),
    ("network", "corrupt"): _shapes("loss", ("percent",)),
    ("network", "duplicate"): _shapes("none", ("percent",)),
    ("network", "reorder"): _shapes("none", ("percent",), "time_us"),
    ("network", "delay"): _shapes("high_latency", ("time_us",), "offset_us", "period_s"),
    ("network", "down"): Action(
        _PULLED, (), (), "unconnectivity",
        link_faults.pull, link_faults.plug, link_faults.missing_links
    ),
    ("network", "flap"): Action(
        _PULLED, (), ("period_s",), "loss",
        link_faults.flap, link_faults.plug, link_faults.missing_links
    ),
    ("network", "mtu"): Action(
        (*_SWITCH, "link", "rnic", "host"), ("mtu",), (), "none",
        link_faults.reduce_mtu, link_faults.restore_mtu, link_faults.changed_mtu,
    ),
    ("network", "address"): Action(
        ("rnic", "host"), (), ("address",), "unconnectivity",
        link_faults.replace_address, link_faults.restore_address, link_faults.wrong_address,
    ),
    ("vswitch", "missing-flow"): Action(
        ("vswitch",), (), (), "unconnectivity",
        vswitch_entries.remove_entries, vswitch_entries.restore_entries,
        vswitch_entries.wrong_entries,
    ),
    ("vswitch", "loop"): Action(
        ("vswitch",), (), (), "unconnectivity",
        vswitch_entries.loop_entries, vswitch_entries.restore_entries,
        vswitch_entries.wrong_entries,
    ),
    ("process", "kill"): Action(
        ("agent", "container"), (), (), "agent_down",
        process_faults.kill, process_faults.restart, process_faults.dead
    ),
    ("cpu", "load"): Action(
        ("agent",), ("percent",), ("period_s",), "agent_starved",
        process_faults.starve, process_faults.resume, process_faults.halted,
    ),
    ("cpu", "quota"): Action(
        ("agent",), ("percent",), (), "agent_starved",
        process_faults.throttle, process_faults.unthrottle, process_faults.throttled,
    ),
}  # fmt: skip

_ALONE: Final = {
    *(("network", action) for action in ("down", "flap", "address", "mtu")),
    ("vswitch", "missing-flow"), ("vswitch", "loop"), ("process", "kill"), ("cpu", "load"),
    ("cpu", "quota"),
}  # fmt: skip
#: Packet shapers and changes of addresses know the headers of IPv4 only.
_ONLY_IPV4: Final = {
    *(("network", each) for each in ("corrupt", "duplicate", "reorder", "delay", "address"))
}  # fmt: skip
_OPTIONS: Final = ("percent", "time_us", "offset_us", "share", "period_s", "mtu", "destination",
                   "address", "layer")  # fmt: skip
_SPELT: Final = {"time_us": "--time or --time-us", "offset_us": "--offset", "period_s": "--period"}
_REORDERED_US: Final = 10_000.0


def check(fabric: Namespaces, fault: Fault) -> Action:
    """The action of a fault; raises FaultError or UnknownComponent where it cannot be applied."""
    action = ACTIONS.get((fault.target, fault.action))
    name = f"{fault.target} {fault.action}"
    if action is None:
        known = ", ".join(" ".join(each) for each in ACTIONS)
        raise FaultError(f"no fault {name!r}; there are {known}")
    component_ports.check(fabric.plan, fault.at)
    if kind_of(fault.at) not in action.on:
        kinds = ", ".join(f"{kind}:" for kind in action.on)
        raise FaultError(f"{name} at {fault.at}: it can be put on {kinds} only")
    for option in _OPTIONS:
        given, spelt = getattr(fault, option) is not None, _SPELT.get(option, f"--{option}")
        if option in action.needs and not given:
            raise FaultError(f"{name}: say how much by {spelt}")
        if given and option not in (*action.needs, *action.takes):
            raise FaultError(f"{name}: takes no {spelt}")
    if fabric.plan.ipv6 and (fault.target, fault.action) in _ONLY_IPV4:
        raise FaultError(f"{name}: only in a fabric of IPv4")
    _check_amounts(fabric, name, fault)
    if fault.direction != "both":
        if "direction" not in action.takes or kind_of(fault.at) != "link":
            raise FaultError(f"{name} at {fault.at}: only packets on a link have a direction")
        if fault.direction not in ("a>b", "b>a"):
            raise FaultError(f"{name}: direction {fault.direction!r}; give both, a>b or b>a")
    return action


def _check_amounts(fabric: Namespaces, name: str, fault: Fault) -> None:
    if fault.percent is not None and not 0 < fault.percent <= 100:
        raise FaultError(f"{name} of {fault.percent:g} %: give more than 0 and at most 100")
    if fault.target == "cpu" and fault.percent == 100:
        raise FaultError(f"{name} of 100 %: that is process kill; give less")
    if fault.share is not None and not 0 < fault.share <= 1:
        raise FaultError(f"{name}: share {fault.share:g}; give more than 0 and at most 1")
    if fault.layer is not None:
        if fault.layer != "overlay":
            raise FaultError(f"{name}: layer {fault.layer!r}; give overlay, or nothing")
        if kind_of(fault.at) in ("vswitch", "container"):
            raise FaultError(f"{name} at {fault.at}: packets are tunnelled in the underlay only")
    if fault.others is not None:
        if fault.action != "delay" or kind_of(fault.at) != "host":
            raise FaultError(f"{name} at {fault.at}: only a host delays its own NICs' packets more")
        if not 0 <= fault.others <= 1:
            raise FaultError(f"{name}: others {fault.others:g}; give 0 up to 1")
    if fault.time_us is not None and not 0 < fault.time_us <= 10e6:
        raise FaultError(f"{name} by {fault.time_us:g} us: give more than 0 and at most 10 s")
    if fault.offset_us is not None and not 0 <= fault.offset_us <= (fault.time_us or 0):
        raise FaultError(f"{name}: offset {fault.offset_us:g} us; give 0 up to the time")
    if fault.period_s is not None and not 0.2 <= fault.period_s <= 3600:
        raise FaultError(f"{name}: period {fault.period_s:g} s; give 0.2 up to 3600")
    if fault.mtu is not None and not 68 <= fault.mtu <= 65535:
        raise FaultError(f"{name}: mtu {fault.mtu}; give 68 up to 65535")
    for address in (fault.destination, fault.address):
        if address is not None:
            try:
                version = ip_address(address).version
            except ValueError:
                raise FaultError(f"{name}: {address!r} is not an IP address") from None
            if (version == 6) != fabric.plan.ipv6:
                raise FaultError(f"{name}: the fabric has no IPv{version} addresses")


def _check_alone(fabric: Namespaces, fault: Fault) -> None:
    """A fault that changes the component's own state is the only one there: undoing it would undo
    the others too. Raises FaultError."""
    for other in fabric.faults.values():
        both = {(each.target, each.action) for each in (fault, other)}
        if other.at == fault.at and not both.isdisjoint(_ALONE):
            raise FaultError(f"{fault}: {other} is there already; destroy that first")


def create(fabric: Namespaces, fault: Fault) -> Fault:
    """Apply a fault and verify that it is in place; it is in ``fabric.faults`` while it lasts.

    Raises FaultError, UnknownComponent or FabricError; then nothing of it stays.
    """
    action = check(fabric, fault)
    if fault.action == "reorder" and fault.time_us is None:
        fault.time_us = _REORDERED_US
    fabric.last_fault += 1
    fault.fault_id = f"f{fabric.last_fault}"
    _check_alone(fabric, fault)
    fault.started_ns = time.time_ns()
    try:
        action.make(fabric, fault)
        if not action.in_kernel(fabric, fault):
            raise FabricError(f"{fault} is not in place after it was made")
    except BaseException:
        with suppress(FabricError):  # the first error is the one that is reported
            action.undo(fabric, fault)
        raise
    fabric.faults[fault.fault_id] = fault
    return fault


def destroy(
    fabric: Namespaces, fault: Fault, actions: Mapping[tuple[str, str], Action] = ACTIONS
) -> None:
    """Undo a fault and verify that it is gone; raises FabricError when something stays."""
    action = actions[fault.target, fault.action]
    action.undo(fabric, fault)
    if left := action.in_kernel(fabric, fault):
        raise FabricError(f"{fault} is still there after its removal: {'; '.join(left)}")
    fabric.faults.pop(fault.fault_id, None)


def in_kernel(fabric: Namespaces, fault: Fault) -> list[str]:
    """What the kernel shows of a fault; empty where it is not in place."""
    return ACTIONS[fault.target, fault.action].in_kernel(fabric, fault)


def symptom(fault: Fault) -> str:
    """Symptom of the incident that the pipeline should open; "none" where probes see nothing."""
    if fault.target == "process" and kind_of(fault.at) == "container":
        return "unconnectivity"
    if fault.action == "loss" and fault.percent == 100:
        return "unconnectivity"
    return ACTIONS[fault.target, fault.action].symptom
