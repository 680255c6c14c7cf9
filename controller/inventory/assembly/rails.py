"""The rail of each rnic: its rank in its host, by the order of port names. No I/O.

Hosts that share a port name are of one naming scheme; the rail is the rank among all port names of
the scheme, in natural order (``mlx5_2`` before ``mlx5_10``). So a host that misses a cable keeps
the rails of its other ports. Where the order of names is not that of rails, a list gives it.

Example: h1 has mlx5_0 and mlx5_1, h2 only mlx5_1: rail 1. h3 with eth2 and eth3 has rails 0 and 1.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from controller.inventory.found import Port

_DIGITS = re.compile(r"(\d+)")


def natural(name: str) -> tuple[tuple[int, int, str], ...]:
    """A key that sorts numbers within names by their value."""
    parts = _DIGITS.split(name)
    return tuple((0, int(p), p) if p.isdecimal() else (1, 0, p) for p in parts if p)


def rails(ports: Iterable[Port], given: Sequence[str] = ()) -> Mapping[Port, int]:
    """Rail of each port of hosts.

    given  port names in the order of rails; names in it get their place, all others none
    """
    every = list(ports)
    if given:
        place = {name: rail for rail, name in enumerate(given)}
        return {port: place[port.name] for port in every if port.name in place}
    hosts_with: defaultdict[str, list[str]] = defaultdict(list)
    names_of: defaultdict[str, list[str]] = defaultdict(list)
    for port in every:
        hosts_with[port.name].append(port.device)
        names_of[port.device].append(port.name)
    out: dict[Port, int] = {}
    seen: set[str] = set()
    for first in names_of:
        if first in seen:
            continue
        seen.add(first)
        scheme, waiting, hosts = set[str](), [first], list[str]()
        while waiting:  # hosts that share a name with one that is in the scheme
            host = waiting.pop()
            hosts.append(host)
            for name in names_of[host]:
                if name not in scheme:
                    scheme.add(name)
                    waiting += [other for other in hosts_with[name] if other not in seen]
                    seen.update(hosts_with[name])
        rank = {name: rail for rail, name in enumerate(sorted(scheme, key=natural))}
        out |= {Port(host, name): rank[name] for host in hosts for name in names_of[host]}
    return out
