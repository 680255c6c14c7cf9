"""``skeletonhunter fabric play``: real faults, real packets, the whole pipeline, scored."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from skeletonhunter import terminal
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
        enough: Annotated[
            int | None, typer.Option(min=0, help=f"Found ones that are enough; default {ENOUGH}.")
        ] = None,
    ) -> int:
        """Break a fabric in one way after another; exit code 1 when too few are found."""
        from evaluation.fabric_suite.player import Player, table
        from skeletonhunter.commands.fabric.lifecycle import told
        from testbed.netns.fault_suite import hard_scenes, scenes

        every = hard_scenes() if hard else scenes()
        chosen = every
        if only is not None:
            wanted = {name.strip() for name in only.split(",")}
            chosen = [scene for scene in every if scene.name in wanted]
            if unknown := wanted - {scene.name for scene in chosen}:
                known = ", ".join(scene.name for scene in every)
                raise BadInput(f"--only: no {', '.join(sorted(unknown))}; there are {known}")
        least = min(ENOUGH, len(chosen)) if enough is None else enough
        with told(), Player(terminal.echo) as player:
            result = player.play(chosen)
        if out is not None:
            result.write(out)
        terminal.echo(table(result))
        return 0 if len(result.score.matched) >= least else 1
