"""``skeletonhunter load``: files of records into a store, with what is judged of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from skeletonhunter import settings, terminal
from skeletonhunter.errors import BadInput


def register(app: typer.Typer) -> None:
    """Add ``load``."""

    @app.command(epilog="Example: skeletonhunter load 'day/*.parquet' --topology topology.json")
    def load(
        files: Annotated[list[str], typer.Argument(help="Ping records, as `diagnose` reads them.")],
        topology: Annotated[Path | None, typer.Option(help="The fabric.")] = None,
        heartbeats: Annotated[Path | None, typer.Option(help="Heartbeats, NDJSON.")] = None,
        placement: Annotated[Path | None, typer.Option(help="Containers and states.")] = None,
        maintenance: Annotated[Path | None, typer.Option(help="Maintenance windows.")] = None,
        data: Annotated[
            Path | None,
            typer.Option(help="Folder of the store; made if it is missing."),
        ] = None,
        records_only: Annotated[
            bool, typer.Option("--records-only", help="Judge nothing: no windows, no incidents.")
        ] = False,
        since: Annotated[str | None, typer.Option(help="As of `diagnose`.")] = None,
        until: Annotated[str | None, typer.Option(help="As of `diagnose`.")] = None,
    ) -> int:
        """Put records, documents, windows and incidents into a store, for SQL and the page.

        The store is that of --data (`up --data FOLDER` shows it afterwards), else
        SKH_CLICKHOUSE_URL, else the folder SKH_DATA. The same file twice is stored once.
        """
        from skeletonhunter.commands.store import place
        from skeletonhunter.diagnosis.files import names
        from skeletonhunter.diagnosis.files.time_span import span
        from skeletonhunter.diagnosis.inputs import Documents
        from skeletonhunter.loading import store_files
        from store import migrate

        config = settings.read()
        chosen = names.expanded(files)
        if "-" in chosen:
            raise BadInput("-: files are read twice here; give their names")
        documents = Documents(topology, heartbeats, placement, maintenance)
        place.check_folder(config, data)
        progress = terminal.Progress()
        try:
            # before there is a store, so that unusable files leave none behind
            found = store_files.read(
                chosen, documents, span(since, until), judged=not records_only, progress=progress
            )
            with place.own_store(config, data, create=True) as store:
                migrate.migrate(store)
                rows = store_files.load(store, found, progress=progress)
        finally:
            progress.clear()
        if invalid := found.given.invalid_heartbeats:
            terminal.complain(f"lines that are no heartbeats: {len(invalid)}; {invalid[0]}")
        for name, count in rows.items():
            terminal.echo(f"{count:>12,} rows in {name}")
        return 0
