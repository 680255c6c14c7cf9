"""``skeletonhunter topology``: make the document of a fabric from what operators have."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from schemas.printable import printable
from skeletonhunter import terminal
from skeletonhunter.errors import BadInput

_TIERS = ("asw", "psw", "dsw")


def register(app: typer.Typer) -> None:
    """Add ``topology``."""
    topology = typer.Typer(help="The document of a fabric: make it.", no_args_is_help=True)
    app.add_typer(topology, name="topology")

    @topology.callback()
    def root() -> None:
        pass

    topology.command(
        "import",
        epilog="Example: skeletonhunter topology import --from lldp lldp/*.json --hosts hosts.csv "
        "--out topology.json",
    )(import_)


def import_(
    files: Annotated[
        list[str],
        typer.Argument(
            help="Files of the format; for lldp and for `show lldp table` one a device, "
            "named for it. FORMAT=FILE adds one of another format."
        ),
    ],
    source: Annotated[
        str, typer.Option("--from", help="lldp, ibnetdiscover, netbox, sonic or csv.")
    ],
    hosts: Annotated[
        list[Path] | None,
        typer.Option(help="CSV host,port,ip[,rail][,pod]: the hosts and their rnics; repeatable."),
    ] = None,
    rails: Annotated[
        str, typer.Option(help="Ports of hosts in the order of rails: mlx5_0,mlx5_3,...")
    ] = "",
    tier: Annotated[
        list[str] | None,
        typer.Option(help="NAME=asw|psw|dsw instead of what the graph says; repeatable, patterns."),
    ] = None,
    host_names: Annotated[
        list[str] | None, typer.Option(help="Names of hosts, as patterns (gpu*); repeatable.")
    ] = None,
    host_roles: Annotated[
        str, typer.Option(help="NetBox: slugs of the roles of hosts, instead of the usual ones.")
    ] = "",
    ignore: Annotated[
        list[str] | None,
        typer.Option(help="Devices or DEVICE:PORT to leave out, as patterns; repeatable."),
    ] = None,
    fabric: Annotated[str, typer.Option(help="Name of the fabric.")] = "default",
    out: Annotated[Path | None, typer.Option(help="File to write; without it: stdout.")] = None,
) -> int:
    """Make the topology document; with mistakes there is none, and each is one line on stderr.

    Rails follow from the order of the hosts' port names, tiers from the distance to hosts. What is
    left out is told on stderr too.
    """
    from controller.inventory.assembly.assemble import Choices, assemble
    from controller.inventory.formats.reading import FORMATS, read
    from controller.inventory.found import joined

    of_format: dict[str, list[str]] = {}
    for each in files:
        name, equals, file = each.partition("=")
        known = bool(equals) and name in FORMATS
        of_format.setdefault(name if known else source, []).append(file if known else each)
    if unknown := set(of_format) - set(FORMATS):
        raise BadInput(f"--from {', '.join(unknown)}: choose one of {', '.join(FORMATS)}")
    choices = Choices(
        fabric=fabric, rails=_split(rails), tiers=_tiers(tier or ()),
        host_names=tuple(host_names or ()), ignore=tuple(ignore or ()),
    )  # fmt: skip
    parts = [
        read(_contents(names), each, host_roles=_split(host_roles))
        for each, names in of_format.items()
    ]
    parts.append(read(_contents(map(str, hosts or ())), "csv"))
    made = assemble(joined(parts), choices)
    sys.stderr.writelines(f"note: {printable(note)}\n" for note in made.notes)
    if made.topology is None:
        sys.stderr.writelines(f"{printable(each)}\n" for each in made.mistakes)
        count = len(made.mistakes)
        raise BadInput(f"{count} mistake{'s' if count > 1 else ''}; no document is written")
    raw = msgspec.json.format(msgspec.json.encode(made.topology)) + b"\n"
    if out is None:
        sys.stdout.write(raw.decode())
        return 0
    try:
        out.write_bytes(raw)
    except OSError as why:
        raise BadInput(f"{out}: {why.strerror}; give --out a file that can be written") from why
    rnics = sum(len(host.rnics) for host in made.topology.hosts)
    terminal.echo(
        f"{out}: {len(made.topology.hosts)} hosts, {rnics} rnics, "
        f"{len(made.topology.switches)} switches, {len(made.topology.links)} links"
    )
    return 0


def _split(text: str) -> tuple[str, ...]:
    return tuple(each.strip() for each in text.split(",") if each.strip())


def _tiers(given: Iterable[str]) -> dict[str, str]:
    out = {}
    for each in given:
        name, _, tier = each.rpartition("=")
        if not name or tier not in _TIERS:
            raise BadInput(f"--tier {each}: write NAME={'|'.join(_TIERS)}")
        out[name] = tier
    return out


def _contents(names: Iterable[str]) -> list[tuple[str, bytes]]:
    out = []
    for name in names:
        try:
            out.append((name, Path(name).read_bytes()))
        except OSError as why:
            raise BadInput(f"{name}: {why.strerror}; give a readable file") from why
    return out
