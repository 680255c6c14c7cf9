"""``skeletonhunter topology``: the document of a fabric, from what operators have to the topic."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
import typer

from schemas.printable import printable
from skeletonhunter import terminal
from skeletonhunter.errors import BadInput

if TYPE_CHECKING:
    from schemas.documents.topology import Topology

_TIERS = ("asw", "psw", "dsw")


def register(app: typer.Typer) -> None:
    """Add ``topology``."""
    topology = typer.Typer(
        help="The document of a fabric: make it, check it, publish it.",
        epilog="Example: skeletonhunter topology check --topology topology.json "
        "--traceroutes pings.ndjson",
        no_args_is_help=True,
    )
    app.add_typer(topology, name="topology")

    @topology.callback()
    def root() -> None:
        pass

    topology.command(
        "import",
        epilog="Example: skeletonhunter topology import --from lldp lldp/*.json --hosts hosts.csv "
        "--out topology.json",
    )(import_)
    topology.command(
        epilog="Example: skeletonhunter topology check --topology topology.json "
        "--traceroutes pings.ndjson"
    )(check)
    topology.command(epilog="Example: skeletonhunter topology publish topology.json")(publish)


def check(
    topology: Annotated[Path, typer.Option(help="The document.")],
    traceroutes: Annotated[
        list[str],
        typer.Option(help="Ping records with traceroutes, as `diagnose` reads them; repeatable."),
    ],
    output: Annotated[
        Literal["text", "json"], typer.Option("--format", help="For people or programs.")
    ] = "text",
) -> int:
    """Compare a document with what traceroutes show; exit code 1 when they contradict it.

    A link that no traceroute crosses is a contradiction where the traced five-tuples had to cross
    it. Links of which too few five-tuples are traced to tell are counted on stderr.
    """
    from collections import Counter

    from controller.inventory.traced.contradictions import compare
    from controller.inventory.traced.routes import Observed
    from skeletonhunter.arguments import read_topology
    from skeletonhunter.commands.inventory import traceroutes as records

    document = read_topology(topology)
    assert document is not None  # noqa: S101 — None only without a file
    skipped: Counter[str] = Counter()
    observed = Observed(document)
    observed.add(records.read(traceroutes, document.fabric, skipped))
    sys.stderr.writelines(
        f"note: {count} {printable(reason)} left out\n"
        for reason, count in skipped.items()
        if count
    )
    if not observed.traces:
        raise BadInput(
            f"no traceroute of fabric {document.fabric} with a hop; give records of task_type "
            "TRACEROUTE with their route"
        )
    found = compare(document, observed)
    if output == "json":
        rows = (msgspec.json.encode(each).decode() + "\n" for each in found.contradictions)
        sys.stdout.writelines(rows)
    else:
        for each in found.contradictions:
            terminal.echo(f"{each.kind}: {each.text}")
            if each.example:
                terminal.echo(f"    {each.example}")
    sys.stderr.writelines(f"note: {printable(note)}\n" for note in found.notes)
    sys.stderr.write(
        f"{found.traces} traceroutes; of {found.links} links between switches {found.seen} seen, "
        f"{found.unknown} not seen and too few five-tuples to tell; "
        f"{len(found.contradictions)} contradictions\n"
    )
    return int(bool(found.contradictions))


def publish(
    file: Annotated[Path, typer.Argument(help="The topology document.")],
    valid_from: Annotated[
        str, typer.Option(help="Event time from which it holds, RFC 3339. [now]")
    ] = "",
) -> int:
    """Publish a document on skh.topology: stream workers judge by it from its time on.

    Needs SKH_KAFKA. Incidents that are open go on under their ids.
    """
    from schemas import topics
    from schemas.documents.times import rfc3339, seconds_of
    from schemas.limits import LIMITS
    from skeletonhunter.arguments import read_topology
    from skeletonhunter.commands.inventory import topic_documents

    document = read_topology(file)
    assert document is not None  # noqa: S101 — None only without a file
    try:
        seconds_of(valid_from or document.valid_from or "1970-01-01T00:00:00Z")
    except ValueError as why:
        raise BadInput(f"--valid-from: {why}") from why
    holds = valid_from or document.valid_from or rfc3339(time.time_ns())
    document = msgspec.structs.replace(document, valid_from=holds)
    if (size := len(msgspec.json.encode(document))) > LIMITS.topology_bytes:
        raise BadInput(
            f"{file}: {size} B; workers take {LIMITS.topology_bytes} B; split it into fabrics"
        )
    options = topic_documents.kafka()
    keyed = topic_documents.Keyed(document.fabric, document)
    topic_documents.publish(options, topics.TOPOLOGY, [keyed])
    terminal.echo(f"fabric {document.fabric}: {_size(document)}; holds from {holds}")
    return 0


def _size(topology: Topology) -> str:
    rnics = sum(len(host.rnics) for host in topology.hosts)
    return (
        f"{len(topology.hosts)} hosts, {rnics} rnics, {len(topology.switches)} switches, "
        f"{len(topology.links)} links"
    )


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
        typer.Option(
            help="CSV host,port,ip[,rail][,pod]: the hosts and their rnics, eth0+eth1 for ports "
            "that are bonded; repeatable."
        ),
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
    terminal.echo(f"{out}: {_size(made.topology)}")
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
