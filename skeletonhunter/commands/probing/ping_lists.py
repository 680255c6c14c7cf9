"""``skeletonhunter ping-lists``: a topology with its containers -> a ping list a host, as files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from skeletonhunter import terminal
from skeletonhunter.errors import BadInput

if TYPE_CHECKING:
    from controller.ping_lists.lists import PingLists
    from schemas.documents.topology import Topology


def register(app: typer.Typer) -> None:
    """Add ``ping-lists``."""

    @app.command(
        name="ping-lists",
        epilog="Example: skeletonhunter ping-lists topology.json --out lists --loss 0.01",
    )
    def ping_lists(
        topology: Annotated[Path, typer.Argument(help="The fabric, with its containers.")],
        out: Annotated[Path, typer.Option(help="Directory to write NODE_SN.json to.")],
        loss: Annotated[
            float,
            typer.Option(
                min=0.0,
                max=1.0,
                help="Loss of an rnic's traffic that is to be named; 1 for an outage only.",
            ),
        ] = 0.02,
        within: Annotated[
            float, typer.Option(help="Seconds from the fault to the incident.")
        ] = 60.0,
        interval: Annotated[
            float | None,
            typer.Option(help="Seconds between two probes of a five-tuple, instead of a goal."),
        ] = None,
        dscp: Annotated[int, typer.Option(min=0, max=63, help="Of the probes.")] = 0,
    ) -> int:
        """Plan who probes whom, as if every container of the topology were ready.

        The interval follows from the goal: --loss named --within so many seconds, on every rnic.
        """  # fmt: skip
        from skeletonhunter.commands.probing.inputs import read_topology

        fabric = read_topology(topology)
        seconds, reached = (interval, None) if interval else _planned(fabric, loss, within)
        if not 0.01 <= seconds <= 3600:
            raise BadInput(f"--interval {seconds:g}: give 0.01 to 3600 seconds")
        lists = _lists(fabric, seconds, dscp)
        documents = {node_sn: lists.document(node_sn) for node_sn in lists.hosts}
        try:
            out.mkdir(parents=True, exist_ok=True)
            for node_sn, document in documents.items():
                text = msgspec.json.format(msgspec.json.encode(document), indent=1)
                (out / f"{node_sn}.json").write_bytes(text)
        except OSError as why:
            raise BadInput(f"{why.filename}: {why.strerror}; give a writable --out") from why
        counts = [lists.five_tuples(node_sn) for node_sn in documents]
        rate = sum(
            lists.five_tuples(node_sn) / lists.interval_s(node_sn) for node_sn in documents
        )  # fmt: skip
        terminal.echo(
            f"{len(documents):,} lists in {out}: {sum(counts):,} five-tuples, at most "
            f"{max(counts):,} a host; one each {seconds:.3g} s or longer, {rate:,.0f} probes/s"
        )
        if interval is None and (reached is None or reached > loss):
            said = "no loss is" if reached is None else f"only a loss of {reached:.2%} is"
            terminal.echo(f"the goal is out of reach: {said} named on every rnic", err=True)
        return 0


def _lists(topology: Topology, interval_s: float, dscp: int = 0) -> PingLists:
    from controller.ping_lists.same_rail import planned

    return planned(topology, interval_s=interval_s, dscp=dscp)


def _planned(topology: Topology, loss: float, within_s: float) -> tuple[float, float | None]:
    """The longest interval that names this loss on every rnic, and what it names."""
    from controller.coverage.cadence import planned_interval
    from controller.coverage.crossings import entries
    from controller.coverage.report import seen_by_link
    from schemas.component_ids import kind_of, link_ends
    from skeletonhunter.naming import naming

    lists = _lists(topology, 1.0)
    every = [
        probed._replace(interval_s=1.0)
        for node_sn in lists.hosts
        for probed in entries(lists.document(node_sn))
    ]
    seen = {
        link: each
        for link, each in seen_by_link(topology, every).items()
        if any(kind_of(end) == "rnic" for end in link_ends(link))
    }
    return planned_interval(
        list(seen.values()), loss, naming(len(seen), within_s=within_s)
    )  # fmt: skip
