"""``skeletonhunter params``: every tunable figure with its value, unit and source."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from skeletonhunter import terminal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from schemas.parameters.parameter import Parameter


def register(app: typer.Typer) -> None:
    """Add ``params``."""

    @app.command(epilog="Example: skeletonhunter params --format json | jq '.[].name'")
    def params(
        output: Annotated[
            Literal["table", "json"], typer.Option("--format", help="Columns, or a JSON array.")
        ] = "table",
    ) -> int:
        """List every parameter of messages, windows, detectors and strategies: value, unit, source.

        The source is a paper, a measurement, or "chosen:" and the command that shows its effect.
        """
        from skeletonhunter.parameters import table

        rows = table()
        terminal.echo(as_json(rows) if output == "json" else as_table(rows))
        return 0


def as_json(rows: Sequence[Parameter]) -> str:
    """A JSON array of objects with name, value, unit and source."""
    return json.dumps([row._asdict() for row in rows], indent=1, ensure_ascii=False)


def as_table(rows: Sequence[Parameter]) -> str:
    """One line a parameter; the source comes last and is not padded."""
    lines = [("parameter", "value", "unit", "source")]
    lines += [(row.name, _text(row.value), row.unit, row.source) for row in rows]
    widths = [max(len(line[column]) for line in lines) for column in range(3)]
    return "\n".join(
        "  ".join(
            [*(cell.ljust(width) for cell, width in zip(line, widths, strict=False)), line[3]]
        )
        for line in lines
    )


def _text(value: object) -> str:
    """Numbers as a person writes them, tuples with commas."""
    if isinstance(value, tuple):
        return ",".join(map(_text, value))
    return f"{value:g}" if isinstance(value, float) else str(value)
