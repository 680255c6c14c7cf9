"""Which devices and ports belong to the fabric: one name each, hosts, rnics, pods. No I/O."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Final, TypeVar

from controller.inventory.assembly.rails import natural
from controller.inventory.found import Found, Port, Statement

#: Management ports of switches, as their systems name them.
_MANAGEMENT: Final = re.compile(
    r"eth0|mgmt\S*|management\S*|ma\d+|em\d+|fxp\d+|oob\S*|bmc\S*", re.I
)
_SHOWN: Final = 5
Value = TypeVar("Value")


def some(names: Iterable[str]) -> str:
    """The first few names, and how many more there are."""
    every = list(names)
    more = f" and {len(every) - _SHOWN} more" if len(every) > _SHOWN else ""
    return ", ".join(every[:_SHOWN]) + more


def under_one_name(found: Found) -> Found:
    """The same, with ``h1.dc1.example`` named ``h1`` where an input calls it so and no other
    device is."""
    names = {each.port.device for each in found.statements} | {s.peer for s in found.statements}
    names |= set(found.kinds) | {port.device for port in (*found.rnics, *found.addresses)}
    long = defaultdict(list)
    for name in names:
        short, dot, _ = name.partition(".")
        if dot and short in names:
            long[short].append(name)
    alias = {full[0]: short for short, full in long.items() if len(full) == 1}
    if not alias:
        return found

    def own(port: Port) -> Port:
        return port._replace(device=alias.get(port.device, port.device))

    def renamed(of: Mapping[str, Value]) -> dict[str, Value]:
        return {alias.get(name, name): value for name, value in of.items()}

    return replace(
        found,
        kinds=renamed(found.kinds),
        roles=renamed(found.roles),
        tiers=renamed(found.tiers),
        pods=renamed(found.pods),
        statements=[
            each._replace(port=own(each.port), peer=alias.get(each.peer, each.peer))
            for each in found.statements
        ],
        addresses={own(port): value for port, value in found.addresses.items()},
        rnics={own(port): row for port, row in found.rnics.items()},
        bonds={own(port): own(bond) for port, bond in found.bonds.items()},
    )


def hosts(found: Found, patterns: Sequence[str], mistakes: list[str]) -> set[str]:
    """Names of hosts: those of the hosts file and of the patterns, else those that inputs know."""
    devices = {each.port.device for each in found.statements} | {s.peer for s in found.statements}
    listed = {port.device for port in found.rnics}
    matched = {name for name in devices if any(fnmatchcase(name, each) for each in patterns)}
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in devices):
            mistakes.append(f"--host-names {pattern}: no device has such a name; correct it")
    if listed or patterns:
        return listed | matched
    return {name for name in devices if found.kinds.get(name) == "host"}


def no_hosts(found: Found) -> str:
    """Why the document would be empty, and what to do."""
    if roles := sorted({role for role in found.roles.values() if role}):
        return (
            f"no cabled device is a host; roles that there are: {some(roles)}; name those of hosts "
            "with --host-roles, or hosts with --host-names"
        )
    return (
        "no cable joins a host and a switch; name hosts with --hosts FILE or --host-names PATTERN"
    )


def statements(
    found: Found, host_names: set[str], ignore: Sequence[str], notes: list[str]
) -> list[Statement]:
    """What is said of cables in the fabric: not of management ports nor of what is ignored."""
    kept, management, ignored = [], 0, 0
    for each in found.statements:
        ends = [each.port, *(Port(each.peer, name) for name in each.peer_ports or ("",))]
        if any(_ignored(end, ignore) for end in ends):
            ignored += 1
        elif any(end.device not in host_names and _MANAGEMENT.fullmatch(end.name) for end in ends):
            management += 1
        else:
            kept.append(each)
    if management:
        notes.append(
            f"statements of cables at management ports of switches, left out: {management}"
        )
    if ignored:
        notes.append(f"statements of cables left out by --ignore: {ignored}")
    return kept


def _ignored(port: Port, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(port.device, each) or fnmatchcase(str(port), each) for each in patterns)


def rnic_of(port: Port, found: Found) -> Port:
    """The interface that has the address: the bond of a port, or the port itself."""
    bond = found.bonds.get(port)
    if bond is None or port in found.rnics:
        return port
    return bond if bond in found.rnics or bond in found.addresses else port


def rnic_ports(
    ends: Iterable[Port], found: Found, given: Sequence[str], notes: list[str]
) -> list[Port]:
    """Ports and bonds that are rnics: of a host in the hosts file those listed, else those of
    ``--rails``, else all that are cabled to switches."""
    listed = {port.device for port in found.rnics}
    chosen: list[Port] = []
    others: list[Port] = []
    for port in sorted(ends):
        named = not given or port.name in given
        rnic = port in found.rnics if port.device in listed else named
        (chosen if rnic else others).append(port)
    if others:
        notes.append(
            f"cabled, but neither in the hosts file nor in --rails, and left out: "
            f"{some(map(str, others))}"
        )
    return chosen


def addresses_of_switches(
    found: Found, switches: Iterable[str], notes: list[str]
) -> dict[str, list[str]]:
    """Addresses of each switch's interfaces; one that several have names none of them."""
    wanted = set(switches)
    owners: defaultdict[str, set[str]] = defaultdict(set)
    for port, addresses in found.addresses.items():
        if port.device in wanted:
            for address in addresses:
                owners[address].add(port.device)
    out: defaultdict[str, list[str]] = defaultdict(list)
    for address, of in owners.items():
        if len(of) == 1:
            out[next(iter(of))].append(address)
    if shared := sorted(address for address, of in owners.items() if len(of) > 1):
        notes.append(f"several switches have the address and so no hop is it: {some(shared)}")
    return {name: sorted(addresses, key=natural) for name, addresses in out.items()}


def pods_of_switches(
    host_links: Iterable[tuple[str, str]],
    links: Sequence[tuple[str, str]],
    tier_of: Mapping[str, str],
    pods: Mapping[str, str],
) -> dict[str, str]:
    """Pod of each asw and psw: that of the hosts below it, where they are all in one."""
    below: defaultdict[str, set[str]] = defaultdict(set)
    for host, asw in host_links:
        below[asw].add(pods.get(host, ""))
    out = {asw: next(iter(found)) for asw, found in below.items() if len(found) == 1}
    above: defaultdict[str, set[str]] = defaultdict(set)
    for a, b in links:
        for lower, upper in ((a, b), (b, a)):
            if tier_of[lower] == "asw" and tier_of[upper] == "psw":
                above[upper].add(out.get(lower, ""))
    return out | {psw: next(iter(found)) for psw, found in above.items() if len(found) == 1}
