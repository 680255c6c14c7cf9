"""The overlay's forwarding chain, walked vSwitch by vSwitch: missing next hops and loops. Pure.

A packet begins at the port of its container and meets one rule in each table; a rule sends it to
another table, to a local port, or into a tunnel, whose far end is the vSwitch that the rule names
(``tun_dst``), else the one that has a local port for the destination. The chain is broken where no
rule matches, and it is a loop where a rule sends the packet to a vSwitch where it has been.

Which pairs must be able to talk follows from the tables: a vSwitch that knows the way to an address
has answers to send there, so the vSwitch of that address must know the way back.

Between hardware addresses the IP version of probes is not known. Where rules tell versions apart,
a packet of each is followed, and the chain is broken where it is for all of them.

Source  SkeletonHunter (SIGCOMM 2025), localization in the overlay.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from localizer.host_evidence.flow_actions import (
    is_opaque,
    is_tunnel,
    ports_of,
    tables_of,
    tunnel_to,
)
from localizer.host_evidence.flow_addresses import FIELDS, versions
from localizer.host_evidence.flow_match import Lookup, Packet, destination, lookup
from localizer.host_evidence.parameters import DEFAULT, HostEvidenceParameters
from localizer.host_evidence.printed.flow_dumps import Rule

Outcome = Literal["delivered", "missing", "dropped", "loop", "unknown"]
#: Field and value, as ("dl_dst", "02:00:00:00:00:01"), ("nw_dst", "172.16.0.1") or ipv6_dst.
Address = tuple[str, str]


@dataclass(frozen=True)
class VSwitch:
    """One bridge of one host.

    tables  number -> its rules
    whole   the dump was not cut, so a rule that is not in it is missing
    """

    host: str
    bridge: str
    tables: Mapping[int, Sequence[Rule]]
    whole: bool = True

    @property
    def rules(self) -> Iterator[Rule]:
        """All rules, by table."""
        for number in sorted(self.tables):
            yield from self.tables[number]

    @property
    def tunnel(self) -> str:
        """The port of its tunnels, if it has one only; else empty."""
        ports = {port for rule in self.rules for port in ports_of(rule) if is_tunnel(port)}
        return ports.pop() if len(ports) == 1 else ""

    def __str__(self) -> str:
        return f"vswitch {self.host}" + (f", bridge {self.bridge}" if self.bridge else "")


class Hop(NamedTuple):
    """A table that a packet meets, and the rule there; None: none matches."""

    vswitch: VSwitch
    table: int
    rule: Rule | None


@dataclass(frozen=True, slots=True)
class Walk:
    """How a packet went; its last hop is where it ended."""

    outcome: Outcome
    hops: list[Hop] = field(default_factory=list)


class Broken(NamedTuple):
    """Where the chain of one destination is wrong."""

    hop: Hop
    address: Address
    outcome: Outcome

    def __str__(self) -> str:
        vswitch, table, rule = self.hop
        where = f"{vswitch}, table {table}"
        if rule is None:
            return f"{where}: no rule for {'='.join(self.address)}"
        what = "sends packets back in a loop" if self.outcome == "loop" else "drops packets"
        return f"{where}: the rule '{rule}' {what}"


class Overlay:
    """The vSwitches whose tables were dumped.

    hosts  address of a tunnel's end -> host that has it
    """

    def __init__(
        self,
        vswitches: Sequence[VSwitch],
        hosts: Mapping[str, str] | None = None,
        parameters: HostEvidenceParameters = DEFAULT,
    ) -> None:
        self.vswitches, self._hosts, self._parameters = list(vswitches), hosts or {}, parameters
        self._homes: dict[Address, list[tuple[VSwitch, str]]] = {}
        self._away: dict[int, set[Address]] = {}
        self._versions = versions(rule for each in self.vswitches for rule in each.rules)
        for number, each in enumerate(self.vswitches):
            self._learn(number, each)

    def walk(
        self, start: VSwitch, in_port: str, address: Address, *, arrived: bool = False
    ) -> Walk:
        """Follow a packet for an address from a port of a vSwitch.

        arrived  it came out of the tunnel ``in_port``, from a vSwitch that it had visited
        """
        field = address[0]
        ends = [
            self._walk(start, in_port, {"dl_type": version}, address, arrived)
            for version in ([FIELDS[field]] if field in FIELDS else self._versions)
        ]
        same = {(end.outcome, id(end.hops[-1].vswitch) if end.hops else 0) for end in ends}
        return ends[0] if len(same) == 1 else Walk("unknown", ends[0].hops)

    def broken(self, host: str) -> list[Broken]:
        """What is wrong in the tables of one host, as walks between all addresses show.

        Of a loop it is the rule that sends the packet back to where it has been: which of the
        vSwitches of the loop that is depends on where the packet begins.
        """
        found: dict[tuple[int, int, str], Broken] = {}
        left = self._parameters.walks
        for start, port, address in self._expected():
            if left == 0:
                break
            left -= 1
            end = self.walk(start, port, address)
            self._note(found, host, address, end)
        for start in self.vswitches:
            if start.host == host:
                for address in self._returned(start):
                    self._note(found, host, address, self._from_tunnel(start, address))
        return list(found.values())

    def _note(
        self, found: dict[tuple[int, int, str], Broken], host: str, address: Address, end: Walk
    ) -> None:
        if end.outcome not in ("missing", "dropped", "loop"):
            return
        hop = end.hops[-1]
        if hop.vswitch.host != host or (end.outcome != "loop" and not hop.vswitch.whole):
            return
        key = id(hop.vswitch), hop.table, str(hop.rule or address)
        found.setdefault(key, Broken(hop, address, end.outcome))

    def _learn(self, number: int, vswitch: VSwitch) -> None:
        away = self._away.setdefault(number, set())
        for rule in vswitch.rules:
            if (address := destination(rule)) is None:
                continue
            for port in ports_of(rule):
                if is_tunnel(port) or tunnel_to(rule):
                    away.add(address)
                elif not port.isdecimal():
                    self._homes.setdefault(address, []).append((vswitch, port))

    def _home(self, address: Address) -> tuple[VSwitch, str] | None:
        """The vSwitch with a local port for an address, and that port; None: none, or several."""
        homes = self._homes.get(address, [])
        return homes[0] if len({id(vswitch) for vswitch, _ in homes}) == 1 else None

    def _expected(self) -> Iterator[tuple[VSwitch, str, Address]]:
        """VSwitch, port and destination of packets that must arrive."""
        at_home = {id(vswitch): number for number, vswitch in enumerate(self.vswitches)}
        for source in sorted(self._homes):
            if (here := self._home(source)) is None:
                continue
            for address in sorted(self._homes):
                there = self._home(address)
                if there is None or there[0] is here[0] or address[0] != source[0]:
                    continue
                if source in self._away[at_home[id(there[0])]]:
                    yield *here, address

    def _returned(self, vswitch: VSwitch) -> Iterator[Address]:
        """Addresses whose packets a rule sends back into the tunnel that they come from."""
        for rule in vswitch.rules:
            address = destination(rule)
            if address is not None and "IN_PORT" in rule.actions and not tunnel_to(rule):
                yield address

    def _from_tunnel(self, vswitch: VSwitch, address: Address) -> Walk:
        """Follow a packet that comes out of the tunnel, from another vSwitch."""
        if not vswitch.tunnel:
            return Walk("unknown")
        return self.walk(vswitch, vswitch.tunnel, address, arrived=True)

    def _walk(
        self, at: VSwitch, in_port: str, packet: Packet, address: Address, arrived: bool
    ) -> Walk:
        visited, tables, table = {id(at)}, set[int](), 0
        hops: list[Hop] = []
        while len(hops) < self._parameters.hops:
            known = {"in_port": in_port} if in_port else {}
            rule = lookup(at.tables.get(table, ()), {**packet, **known, address[0]: address[1]})
            if rule is Lookup.UNKNOWN:
                return Walk("unknown", hops)
            hops.append(Hop(at, table, rule if isinstance(rule, Rule) else None))
            if not isinstance(rule, Rule):
                return Walk("missing", hops)
            tables.add(table)
            following = self._following(at, in_port, rule, address)
            if following == "back" and not arrived:
                return Walk("unknown", hops)
            if isinstance(following, int):
                table = following
                if table in tables:
                    return Walk("loop", hops)
                continue
            if not isinstance(following, VSwitch):
                return Walk("loop" if following == "back" else following, hops)
            if id(following) in visited:
                return Walk("loop", hops)
            visited.add(id(following))
            at, in_port, tables, table, arrived = following, following.tunnel, set(), 0, True
        return Walk("loop", hops)

    def _following(
        self, at: VSwitch, in_port: str, rule: Rule, address: Address
    ) -> VSwitch | int | Outcome | Literal["back"]:
        """The table or the vSwitch where a rule sends a packet, or how it ends; ``back`` through
        the tunnel that it came from."""
        tables, ports = tables_of(rule), list(ports_of(rule))
        if is_opaque(rule) or len(tables) + len(ports) > 1:
            return "unknown"
        if tables:
            return tables[0]
        to = tunnel_to(rule)
        port = in_port if ports == ["IN_PORT"] else "".join(ports)
        if ports == ["IN_PORT"]:
            if is_tunnel(in_port) and not to:
                return "back"
        elif not ports or port == in_port:
            return "dropped"  # Open vSwitch returns nothing that it is not told to return
        if is_tunnel(port) or to:
            return self._far_end(at, address, to) or "unknown"
        return "unknown" if port.isdecimal() or not port else "delivered"

    def _far_end(self, at: VSwitch, address: Address, to: str) -> VSwitch | None:
        """The vSwitch at the other end of a tunnel; None where it is not known."""
        if not to:
            home = self._home(address)
            return None if home is None or home[0] is at else home[0]
        there = [each for each in self.vswitches if each.host == self._hosts.get(to)]
        same = [each for each in there if each.bridge == at.bridge] or there
        return same[0] if len(same) == 1 else None
