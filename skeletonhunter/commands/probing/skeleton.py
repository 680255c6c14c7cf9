"""``skeletonhunter skeleton``: the traffic skeleton of training jobs from their throughput."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from skeletonhunter import terminal
from skeletonhunter.errors import BadInput


def register(app: typer.Typer) -> None:
    """Add ``skeleton``."""

    @app.command(epilog="Example: skeletonhunter skeleton throughput.parquet --plot skeleton.png")
    def skeleton(
        file: Annotated[
            Path, typer.Argument(help="Throughput: Parquet, Arrow stream or CSV, a row per second.")
        ],
        topology: Annotated[
            Path | None, typer.Option(help="topology.json: rails, and the jobs of containers.")
        ] = None,
        job: Annotated[str | None, typer.Option(help="Only this job of the topology.")] = None,
        fabric: Annotated[str | None, typer.Option(help="Only this fabric of the file.")] = None,
        as_json: Annotated[
            bool, typer.Option("--json", help="One JSON document a job, with all pairs.")
        ] = False,
        plot: Annotated[
            Path | None, typer.Option(help="Draw heat map and graph: .png, .svg or .pdf.")
        ] = None,
    ) -> int:
        """Infer who talks to whom: DP, TP x PP, stages, pairs; exit code 2 when no job has one.

        Without jobs in a topology, rnics that share a rhythm are taken for a job, and the rail of
        an rnic is the rank of its address on its host.
        """
        from schemas.documents.tasks import skeleton as document
        from schemas.documents.topology import TopologyError, load
        from skeletonhunter.skeleton import plot as drawing
        from skeletonhunter.skeleton import throughput_files
        from skeletonhunter.skeleton.documents import guessed_rails, infer_all
        from skeletonhunter.skeleton.report import as_text

        if plot is not None:
            drawing.require(plot)
        try:
            known = load(topology) if topology is not None else None
        except TopologyError as why:
            raise BadInput(str(why)) from why
        name, samples = throughput_files.read(file, fabric)
        if guessed := guessed_rails(samples, known):
            terminal.echo(
                f"rails of {guessed} rnics are guessed from the order of their addresses: wrong "
                "rails give wrong pairs, at any confidence; give --topology",
                err=True,
            )
        jobs = infer_all(name, samples, known, job)
        for each in jobs:
            if as_json:
                typer.echo(document.encode(each.document).decode())
            else:
                terminal.echo(as_text(each.document))
        if plot is not None:
            try:
                drawing.draw(jobs, plot)
            except OSError as why:
                raise BadInput(f"{plot}: {why.strerror}; give a path that can be written") from why
            terminal.echo(f"picture in {plot}", err=True)
        return 0 if any(not each.found.declined for each in jobs) else 2
