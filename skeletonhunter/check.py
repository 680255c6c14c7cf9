"""``skeletonhunter check``: incidents against the truth."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from skeletonhunter.errors import BadInput


def register(app: typer.Typer) -> None:
    """Add ``check``."""
    check = typer.Typer(help="Compare what was blamed with what was broken.", no_args_is_help=True)
    app.add_typer(check, name="check")

    @check.callback()
    def root() -> None:
        pass

    @check.command(epilog="Example: skeletonhunter check score /tmp/demo incidents.jsonl")
    def score(
        directory: Annotated[Path, typer.Argument(help="Where truth.json is.")],
        incidents: Annotated[Path, typer.Argument(help="Output of diagnose --format json.")],
        output: Annotated[
            Literal["text", "json"], typer.Option("--format", help="For people or programs.")
        ] = "text",
    ) -> int:
        """Match incidents to truths; exit code 1 when one was missed or falsely blamed."""
        from testbed import score as scoring
        from testbed import truth

        try:
            truths = truth.load(directory / "truth.json")
            result = scoring.score(truths, scoring.load_incidents(incidents))
        except (truth.TruthError, scoring.ScoreError) as why:
            raise BadInput(str(why)) from why
        except OSError as why:
            raise BadInput(f"{why.filename}: {why.strerror}") from why
        typer.echo(
            scoring.to_json(result).decode() if output == "json" else scoring.to_text(result)
        )
        return 0 if result.perfect else 1
