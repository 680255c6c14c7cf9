"""``skeletonhunter coverage``: the links that ping lists cross, and what loss is named there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from skeletonhunter import terminal
from skeletonhunter.commands.probing.plans import LOSS, WITHIN_S

if TYPE_CHECKING:
    from controller.coverage.report import Coverage, LinkCoverage
    from schemas.documents.topology import Topology

_SHOWN: Final = 8


def register(app: typer.Typer) -> None:
    """Add ``coverage``."""

    @app.command(epilog="Example: skeletonhunter coverage topology.json --traceroutes pings.ndjson")
    def coverage(
        topology: Annotated[Path, typer.Argument(help="The fabric, with its containers.")],
        lists: Annotated[
            Path | None,
            typer.Option(
                help="Directory of ping lists; without, those that ping-lists would plan."
            ),
        ] = None,
        loss: Annotated[
            float,
            typer.Option(min=0.0, max=1.0, help="Without --lists: the loss that they plan for."),
        ] = LOSS,
        interval: Annotated[
            float | None,
            typer.Option(
                help="Without --lists: seconds between two probes of a five-tuple, instead of "
                "--loss."
            ),
        ] = None,
        traceroutes: Annotated[
            list[str] | None,
            typer.Option(help="Ping records with traceroutes: real routes; repeatable."),
        ] = None,
        within: Annotated[
            float, typer.Option(help="Seconds from a fault to its incident.")
        ] = WITHIN_S,
        healthy_loss: Annotated[
            float | None,
            typer.Option(min=0.0, max=0.5, help="Loss of the healthy network, for its noise."),
        ] = None,
        links: Annotated[bool, typer.Option("--links", help="A line for each link.")] = False,
        as_json: Annotated[bool, typer.Option("--json", help="JSON for programs.")] = False,
    ) -> int:
        """Tell which links no probe crosses, and what loss of the others would be named.

        Without traceroutes the routes are unknown, and counts are expectations over evenly hashed
        five-tuples; so they are where none of the lists' five-tuples was traced. Exit code 1 when
        a link is not crossed (by a traced five-tuple, where there are traceroutes), or no loss of
        it could be named.
        """
        from controller.coverage.crossings import entries
        from controller.coverage.report import report
        from controller.ping_lists.same_rail import planned
        from schemas.documents.known_components import of_topology
        from skeletonhunter.commands.probing import inputs
        from skeletonhunter.commands.probing.plans import interval_of
        from skeletonhunter.naming import naming

        fabric = inputs.read_topology(topology)
        rule = naming(
            len(of_topology(fabric)), within_s=within, healthy=healthy_loss
        )  # fmt: skip
        if lists is not None:
            documents = inputs.read_lists(lists, fabric)
        else:
            cadence = interval_of(fabric, interval_s=interval, loss=loss, within_s=within)
            plan = planned(fabric, interval_s=cadence.interval_s)
            documents = [plan.document(node_sn) for node_sn in plan.hosts]
        every = [probed for document in documents for probed in entries(document)]
        routes = inputs.read_routes(traceroutes or [], fabric)
        found = report(fabric, every, rule, routes)
        if as_json:
            typer.echo(json.dumps(_document(fabric, found, within)))
        else:
            terminal.echo(_table(found, within, each_link=links))
        return int(bool(found.uncovered() or found.untraced() or found.unnameable()))


def _document(topology: Topology, found: Coverage, within_s: float) -> dict[str, Any]:
    return {
        "fabric": topology.fabric,
        "within_s": within_s,
        "five_tuples": found.five_tuples,
        "probes_per_s": found.probes_per_s,
        "traced_routes": found.routes,
        "other_traced_routes": found.other_routes,
        "tiers": [each._asdict() for each in found.tiers()],
        "uncovered": found.uncovered(),
        "untraced": found.untraced(),
        "uncertain": found.uncertain(),
        "unnameable": found.unnameable(),
        "links": [each._asdict() for each in found.links],
    }


def _table(found: Coverage, within_s: float, *, each_link: bool) -> str:
    rows: list[tuple[str, ...]] = [
        ("tier", "links", "crossed", "five-tuples", "source hosts", f"loss named in {within_s:g} s")
    ]
    for tier in found.tiers():
        worst = "not all" if tier.worst_loss is None else f">= {tier.worst_loss:.2%}"
        rows.append((
            tier.tier, f"{tier.links:,}", f"{tier.covered:,}", _range(*tier.five_tuples),
            _range(*tier.source_hosts), worst,
        ))  # fmt: skip
    if each_link:
        rows += [_row(each) for each in found.links]
    widths = [max(len(row[column]) for row in rows) for column in range(6)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    lines.append(f"{found.five_tuples:,} five-tuples, {found.probes_per_s:,.0f} probes/s")
    if found.routes:
        lines.append(f"{found.routes:,} routes known from traceroutes")
    elif found.other_routes:
        lines.append(
            f"none of the {found.other_routes:,} traced routes is of a five-tuple of these lists: "
            "crossings are expected ones; give traceroutes of the agents that probe these lists"
        )
    else:
        lines.append(
            "routes are not known: where switches hash alike (no hash seed of their own), links "
            "that count as crossed may carry no probe; --traceroutes tells"
        )
    lines += _named("no probe crosses", found.uncovered())
    lines += _named("no traced five-tuple crosses", found.untraced())
    lines += _named("perhaps no probe crosses", found.uncertain())
    lines += _named("no loss can be named on", found.unnameable())
    return "\n".join(lines)


def _row(each: LinkCoverage) -> tuple[str, ...]:
    loss = "-" if each.smallest_loss is None else f">= {each.smallest_loss:.2%}"
    return (
        each.link, "", each.state, f"{each.five_tuples:.0f}", f"{each.source_hosts:.0f}", loss,
    )  # fmt: skip


def _named(what: str, links: list[str]) -> list[str]:
    if not links:
        return []
    more = f" and {len(links) - _SHOWN:,} more" if len(links) > _SHOWN else ""
    return [f"{what}: {', '.join(links[:_SHOWN])}{more}"]


def _range(least: float, most: float) -> str:
    low, high = f"{least:.0f}", f"{most:.0f}"
    return low if low == high else f"{low}-{high}"
