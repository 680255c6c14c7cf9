"""``skeletonhunter ping-lists``: a topology with its containers -> a ping list a host, as files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from skeletonhunter import terminal
from skeletonhunter.commands.probing.plans import LOSS, WITHIN_S
from skeletonhunter.errors import BadInput


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
        ] = LOSS,
        within: Annotated[
            float, typer.Option(help="Seconds from the fault to the incident.")
        ] = WITHIN_S,
        interval: Annotated[
            float | None,
            typer.Option(help="Seconds between two probes of a five-tuple, instead of a goal."),
        ] = None,
        dscp: Annotated[int, typer.Option(min=0, max=63, help="Of the probes.")] = 0,
    ) -> int:
        """Plan who probes whom, as if every container of the topology were ready.

        The interval follows from the goal: --loss named --within so many seconds, on every rnic.
        """  # fmt: skip
        from controller.ping_lists.same_rail import planned
        from skeletonhunter.commands.probing.inputs import read_topology
        from skeletonhunter.commands.probing.plans import interval_of

        fabric = read_topology(topology)
        seconds, reached = interval_of(fabric, interval_s=interval, loss=loss, within_s=within)
        lists = planned(fabric, interval_s=seconds, dscp=dscp)
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
