"""CSV -> what was found: cables, hosts and their rnics, or a row per host with its switches.

Three kinds of files, recognized by their header (any case, any order of columns):

    a_device,a_port,b_device,b_port     a cable a row
    host,port,ip[,rail][,pod]           an rnic a row: the hosts file, also beside other formats
    host,asw,psw,dsw                    a host a row with the switches above it ("ip" for host): one
                                        bonded rnic each, named by the host without ``ip``;
                                        a row for each asw where it has several

A port ``eth0+eth1`` in the hosts file is one rnic, bonded of these two.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import Final

from controller.inventory.formats.json_files import NotJson, text_of
from controller.inventory.found import Found, Port, RnicRow

_CABLE: Final = ("a_device", "a_port", "b_device", "b_port")
_RNIC: Final = ("host", "port", "ip")
_TIERS: Final = ("asw", "psw", "dsw")
_BOND: Final = "bond0"
_BONDED: Final = "+"

Row = dict[str, str]


def read(raw: bytes, file: str) -> Found:
    """What one file says."""
    found = Found()
    try:
        text = text_of(raw, file)
    except NotJson as why:
        found.mistakes.append(str(why))
        return found
    lines = csv.reader(text.splitlines())
    header = [name.strip().lower() for name in next(lines, [])]
    if set(_CABLE) <= set(header):
        _read_cables(_rows(lines, header, _CABLE, file, found), found)
    elif set(_TIERS) <= set(header) and {"host", "ip"} & set(header):
        key = "host" if "host" in header else "ip"
        _read_tiers(_rows(lines, header, (key, *_TIERS), file, found), key, found)
    elif set(_RNIC) <= set(header):
        _read_rnics(_rows(lines, header, _RNIC, file, found), found)
    else:
        found.mistakes.append(
            f"{file}:1: the header {','.join(header)[:80]!r} is none of "
            f"{','.join(_CABLE)} / {','.join(_RNIC)}[,rail][,pod] / host,{','.join(_TIERS)}"
        )
    return found


def _rows(
    lines: Iterator[list[str]], header: list[str], needed: tuple[str, ...], file: str, found: Found
) -> Iterator[tuple[str, Row]]:
    """(where, row) of each complete row; what is missing in others is a mistake."""
    number = 1
    for cells in lines:
        number += 1
        if not any(cell.strip() for cell in cells) or cells[0].lstrip().startswith("#"):
            continue
        row = dict(zip(header, (cell.strip() for cell in cells), strict=False))
        where = f"{file}:{number}"
        if missing := [name for name in needed if not row.get(name)]:
            found.mistakes.append(f"{where}: no {', '.join(missing)}; complete or remove the row")
            continue
        yield where, row


def _read_cables(rows: Iterator[tuple[str, Row]], found: Found) -> None:
    for where, row in rows:
        a, b = Port(row["a_device"], row["a_port"]), Port(row["b_device"], row["b_port"])
        found.cable(a, b, where)


def _read_rnics(rows: Iterator[tuple[str, Row]], found: Found) -> None:
    for where, row in rows:
        rail: int | None = None
        if row.get("rail"):
            if not row["rail"].isascii() or not row["rail"].isdecimal():
                found.mistakes.append(f"{where}: rail {row['rail']!r} is no number; give 0, 1, ...")
                continue
            rail = int(row["rail"])
        port = Port(row["host"], row["port"])
        if port in found.rnics:
            found.mistakes.append(
                f"{where}: {port} is listed already, at {found.rnics[port].where}; remove one row"
            )
            continue
        members = [Port(row["host"], name) for name in row["port"].split(_BONDED)]
        taken = [each for each in members if each in found.bonds or each in found.rnics]
        if taken or len(set(members)) < len(members):
            found.mistakes.append(
                f"{where}: {(taken or members)[0]} is listed already; a port is in one row, once"
            )
            continue
        found.rnics[port] = RnicRow(row["ip"], rail, where)
        if len(members) > 1:
            found.bonds |= dict.fromkeys(members, port)
        found.kinds[row["host"]] = "host"
        if row.get("pod") and found.pods.setdefault(row["host"], row["pod"]) != row["pod"]:
            found.mistakes.append(
                f"{where}: {row['host']} is in pod {found.pods[row['host']]!r} in an earlier row "
                f"and in {row['pod']!r} here; a host is in one pod"
            )


def _read_tiers(rows: Iterator[tuple[str, Row]], key: str, found: Found) -> None:
    for where, row in rows:
        host, asw, psw, dsw = row[key], *(row[tier] for tier in _TIERS)
        bond, port = Port(host, _BOND), Port(host, f"to {asw}")
        found.kinds[host] = "host"
        found.addresses[bond] = [row.get("ip") or host]
        found.bonds[port] = bond
        found.cable(port, Port(asw, f"to {host}"), where)
        found.cable(Port(asw, f"to {psw}"), Port(psw, f"to {asw}"), where)
        found.cable(Port(psw, f"to {dsw}"), Port(dsw, f"to {psw}"), where)
        for tier, name in zip(_TIERS, (asw, psw, dsw), strict=True):
            found.kinds[name] = "switch"
            if found.tiers.setdefault(name, tier) != tier:
                found.mistakes.append(
                    f"{where}: {name!r} is {tier} here and {found.tiers[name]} in an earlier row; "
                    "a switch is in one tier"
                )
