"""``skeletonhunter fabric play``: the fault suite with real packets, scored."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from skeletonhunter import terminal
from skeletonhunter.commands.fabric.options import testbed_errors
from skeletonhunter.errors import BadInput

ENOUGH: Final = 12


def register(fabric: typer.Typer) -> None:
    """Add ``play``."""

    @fabric.command(epilog="Example: skeletonhunter fabric play --only crc_error,rnic_port_down")
    def play(
        only: Annotated[
            str | None, typer.Option(help="Issue types, separated by commas; default all.")
        ] = None,
        out: Annotated[
            Path | None, typer.Option(help="Write truth.json and incidents.jsonl here.")
        ] = None,
        hard: Annotated[
            bool, typer.Option("--hard", help="Small, rare and one-way faults instead.")
        ] = False,
        evidence: Annotated[
            bool,
            typer.Option(
                "--evidence/--no-evidence",
                help="Ask hosts for counters about each incident, as a controller does; a fault "
                "stays until they have answered. Without: what probes alone say.",
            ),
        ] = True,
        enough: Annotated[
            int | None, typer.Option(min=0, help=f"Found ones that are enough; default {ENOUGH}.")
        ] = None,
    ) -> int:
        """Inject one fault after another; exit code 1 when the pipeline finds too few."""
        from evaluation.fabric_suite.player import Player
        from evaluation.fabric_suite.result import table
        from testbed.netns.fault_suite import hard_suite, suite

        every = hard_suite() if hard else suite()
        chosen = every
        if only is not None:
            wanted = {name.strip() for name in only.split(",")}
            chosen = [each for each in every if each.name in wanted]
            if unknown := wanted - {each.name for each in chosen}:
                known = ", ".join(each.name for each in every)
                raise BadInput(f"--only: no {', '.join(sorted(unknown))}; there are {known}")
        least = min(ENOUGH, len(chosen)) if enough is None else enough
        with testbed_errors(), Player(terminal.echo, evidence=evidence) as player:
            result = player.play([[each] for each in chosen])
        if out is not None:
            result.write(out)
        terminal.echo(table(result))
        return 0 if len(result.score.matched) >= least else 1
