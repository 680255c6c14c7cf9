"""What the ends say of their cables -> cables; two statements that cannot both be true. No I/O.

A port has one cable. Its own device names it for certain; a peer may call it something else (an
alias, a MAC address), so two statements are of one cable if the devices are each other's peers and
one of the names fits, or if no other cable is left between them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from controller.inventory.found import Port, Statement


class Cable(NamedTuple):
    """A cable between two ports, and where it is stated first."""

    a: Port
    b: Port
    where: str


def pair(statements: Iterable[Statement]) -> tuple[list[Cable], list[str]]:
    """Cables in the order of their first statement, and a mistake for each contradiction."""
    mistakes: list[str] = []
    reported: set[str] = set()  # places of statements that are mistakes already
    own = _by_port(statements, mistakes, reported)
    cables: list[Cable] = []
    of_port: dict[Port, Cable] = {}
    unmatched: dict[Port, Statement] = {}
    for port, said in own.items():
        if port in of_port:
            continue
        names = [Port(said.peer, name) for name in said.peer_ports]
        known = next((name for name in names if name in own), None)
        if known is None:
            unmatched[port] = said
        elif said.where in reported or own[known].where in reported:
            continue
        elif own[known].peer != port.device:
            reported |= {said.where, own[known].where}
            mistakes.append(
                f"{said.where}: {port} is cabled to {known}, which itself is cabled to "
                f"{own[known].peer} ({own[known].where}); one of the two is out of date"
            )
        elif not _fits(port, own[known], own):
            reported |= {said.where, own[known].where}
            mistakes.append(
                f"{said.where}: {port} is cabled to {known}, which itself is cabled to "
                f"{_stated(own[known])} ({own[known].where}); one of the two is out of date"
            )
        else:
            cable = Cable(port, known, said.where)
            for end in (port, known):
                if (other := of_port.get(end)) is not None:
                    mistakes.append(
                        f"{said.where}: {end} has a cable to {_other(cable, end)} and, by "
                        f"{other.where}, one to {_other(other, end)}; remove the wrong one"
                    )
            if not (port in of_port or known in of_port):
                of_port |= {port: cable, known: cable}
                cables.append(cable)
    cables += _left(unmatched, of_port, mistakes)
    return cables, mistakes


def _fits(port: Port, said: Statement, own: dict[Port, Statement]) -> bool:
    """Whether what the other end says may mean this port: it does not name another one."""
    named = [name for name in said.peer_ports if Port(said.peer, name) in own]
    return not named or port.name in named


def _by_port(
    statements: Iterable[Statement], mistakes: list[str], reported: set[str]
) -> dict[Port, Statement]:
    """What each port says of itself; what it says twice must be the same."""
    own: dict[Port, Statement] = {}
    for said in statements:
        if said.port.device == said.peer:
            mistakes.append(
                f"{said.where}: {said.port} is cabled to its own device; remove the cable"
            )
            continue
        before = own.setdefault(said.port, said)
        if before is said:
            continue
        same = not before.peer_ports or not said.peer_ports
        same |= bool(set(before.peer_ports) & set(said.peer_ports))
        if before.peer != said.peer or not same:
            reported.add(said.where)
            mistakes.append(
                f"{said.where}: {said.port} is cabled to {_stated(said)} and, by {before.where}, "
                f"to {_stated(before)}; remove the wrong one"
            )
        else:
            names = dict.fromkeys((*before.peer_ports, *said.peer_ports))
            own[said.port] = before._replace(peer_ports=tuple(names))
    return own


def _left(
    unmatched: dict[Port, Statement], of_port: dict[Port, Cable], mistakes: list[str]
) -> list[Cable]:
    """Cables of statements that name no port of a device that speaks for itself.

    Both ends may have stated a cable under names that the other does not use; what two devices say
    of each other is then paired in order of ports: a link joins devices, whatever their ports.
    Where only one end speaks, the peer's port has the name that it gave.
    """
    cables: list[Cable] = []
    between: defaultdict[tuple[str, str], list[Port]] = defaultdict(list)
    for port, said in unmatched.items():
        between[port.device, said.peer].append(port)
    for (device, peer), ports in between.items():
        theirs = [each for each in between.get((peer, device), ()) if each not in of_port]
        for port in ports:
            if port in of_port:
                continue
            said = unmatched[port]
            if theirs:
                end = theirs.pop(0)
            else:
                end = Port(peer, said.peer_ports[0] if said.peer_ports else f"to {port}")
            if (other := of_port.get(end)) is not None:
                mistakes.append(
                    f"{said.where}: {port} is cabled to {end} and so, by {other.where}, is "
                    f"{_other(other, end)}; remove the wrong one"
                )
                continue
            cable = Cable(port, end, said.where)
            of_port |= {port: cable, end: cable}
            cables.append(cable)
    return cables


def _stated(said: Statement) -> str:
    return f"{said.peer}:{said.peer_ports[0]}" if said.peer_ports else said.peer


def _other(cable: Cable, end: Port) -> Port:
    return cable.b if cable.a == end else cable.a
