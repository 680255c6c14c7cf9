"""``skeletonhunter sql``: one SELECT over what is stored, as a table or in a format."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec
import typer

from skeletonhunter import settings, terminal
from skeletonhunter.errors import BadInput

_FORMATS: Final = {
    "table": "JSONCompact", "json": "JSONEachRow", "csv": "CSVWithNames",
    "tsv": "TabSeparatedWithNames", "parquet": "Parquet", "arrow": "ArrowStream",
}  # fmt: skip
#: A statement that names its format; a comment behind it hides that.
_NAMES_FORMAT: Final = re.compile(r"\bFORMAT\s+\w+\s*;?\s*$", re.IGNORECASE)


def register(app: typer.Typer) -> None:
    """Add ``sql``."""

    @app.command(
        epilog='Example: skeletonhunter sql "SELECT component, state FROM incidents_latest"'
    )
    def sql(
        statement: Annotated[str, typer.Argument(help="One SELECT or DESCRIBE; - reads stdin.")],
        url: Annotated[
            str | None, typer.Option(help="Address of an API, instead of the one that runs here.")
        ] = None,
        data: Annotated[
            Path | None,
            typer.Option(help="Folder of `up` or `load`; no other store is asked then."),
        ] = None,
        pairs: Annotated[
            list[str] | None,
            typer.Option("--param", metavar="NAME=VALUE", help="Value of {NAME:Type}; again."),
        ] = None,
        output: Annotated[
            Literal["table", "json", "csv", "tsv", "parquet", "arrow"],
            typer.Option("--format", help="A table, or one of these for programs."),
        ] = "table",
    ) -> int:
        """Ask the store a question (docs/sql.md has many).

        Through the API while `up` (with SKH_API_SQL=true) or `demo` runs; else the server of
        SKH_CLICKHOUSE_URL, or the folder SKH_DATA. It can only read, and what one statement may use
        is bounded.
        """
        from skeletonhunter.commands.store import place
        from store.read_only import ReadOnlySql, SqlRefused

        if url and data is not None:
            raise BadInput("--url and --data: give one of them")
        config = settings.read()
        text = sys.stdin.read() if statement == "-" else statement
        parameters = dict(_pair(each) for each in pairs or ())
        if (address := url or place.running_api(config, data)) is not None:
            rows = place.ask_api(address, text, parameters, _FORMATS[output])
        else:
            with place.own_store(config, data) as store:
                try:
                    rows, _ = ReadOnlySql(store).query(text, parameters, _FORMATS[output])
                except SqlRefused as why:
                    raise BadInput(str(why)) from why
        table = None if output != "table" or _NAMES_FORMAT.search(text) else _table(rows)
        if table is None:
            terminal.write_result(rows)
        else:
            terminal.echo(table)
        return 0


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise BadInput(f"--param {text}: write NAME=VALUE")
    return name, value


def _table(raw: bytes) -> str | None:
    """Rows of JSONCompact as aligned columns, as wide as they are; None: it is another format."""
    try:
        found = msgspec.json.decode(raw, type=dict[str, object])
        names = [str(each["name"]) for each in msgspec.convert(found["meta"], list[dict[str, str]])]
        rows = msgspec.convert(found["data"], list[list[object]])
    except (msgspec.MsgspecError, KeyError):
        return None
    cells = [names, *([_cell(value) for value in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    ]
    rule = "  ".join("-" * width for width in widths)
    return "\n".join([lines[0], rule, *lines[1:]])


def _cell(value: object) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
