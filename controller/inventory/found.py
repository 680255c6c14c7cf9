"""What one input says: devices, cables as each end states them, addresses. No I/O.

Every format becomes this, so that inputs of several formats join. A cable is stated by an end: LLDP
and SONiC know their own port for certain and what the peer calls its port by hearsay, under one or
more names; a list of cables and an inventory system state both ends.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

Kind = Literal["host", "switch"]


class Port(NamedTuple):
    """A port of a device, by its name there: ``swp1``, ``Ethernet4``, ``mlx5_0``."""

    device: str
    name: str

    def __str__(self) -> str:
        return f"{self.device}:{self.name}"


class Statement(NamedTuple):
    """What one end says of its cable.

    port        of the end that states it
    peer        device at the other end
    peer_ports  what the peer's port may be called, the likeliest first; may be empty
    where       file, and line or object
    """

    port: Port
    peer: str
    peer_ports: tuple[str, ...]
    where: str


class RnicRow(NamedTuple):
    """A row of the hosts file: an rnic by its host and port; no rail: it follows from the port."""

    address: str
    rail: int | None
    where: str


@dataclass(slots=True)
class Found:
    """What an input says; empty at first.

    kinds      device -> host or switch, where the input knows it
    roles      device -> its role in words, to name the roles that there are
    tiers      switch -> asw, psw or dsw, where the input says so
    addresses  port -> addresses of the interface
    pods       host -> pod
    rnics      port -> row of the hosts file
    bonds      port -> the interface, of the same device, that bonds it with others
    mistakes   one line each: where, what, what to do
    notes      what was left out and why
    """

    kinds: dict[str, Kind] = field(default_factory=dict)
    roles: dict[str, str] = field(default_factory=dict)
    tiers: dict[str, str] = field(default_factory=dict)
    statements: list[Statement] = field(default_factory=list)
    addresses: dict[Port, list[str]] = field(default_factory=dict)
    pods: dict[str, str] = field(default_factory=dict)
    rnics: dict[Port, RnicRow] = field(default_factory=dict)
    bonds: dict[Port, Port] = field(default_factory=dict)
    mistakes: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def cable(self, a: Port, b: Port, where: str) -> None:
        """Add a cable of which both ends are certain."""
        self.statements.append(Statement(a, b.device, (b.name,), where))
        self.statements.append(Statement(b, a.device, (a.name,), where))

    def add(self, other: Found) -> None:
        """Add what another input says; of two kinds of a device the second is a mistake."""
        for device, kind in other.kinds.items():
            if self.kinds.setdefault(device, kind) != kind:
                self.mistakes.append(
                    f"device {device!r} is a host in one input and a switch in another; "
                    "correct one, or name it in --hosts or --ignore"
                )
        self.roles |= other.roles
        self.tiers |= other.tiers
        self.statements += other.statements
        for port, addresses in other.addresses.items():
            known = self.addresses.setdefault(port, [])
            known += [each for each in addresses if each not in known]
        self.pods |= other.pods
        for port, row in other.rnics.items():
            if port in self.rnics:
                self.mistakes.append(
                    f"{row.where}: {port} is listed already, at {self.rnics[port].where}; "
                    "remove one row"
                )
            self.rnics.setdefault(port, row)
        self.bonds |= other.bonds
        self.mistakes += other.mistakes
        self.notes += other.notes


def joined(parts: Iterable[Found]) -> Found:
    """All that some inputs say."""
    out = Found()
    for each in parts:
        out.add(each)
    return out
