"""``migrate`` and ``topics``: what an operator runs before the parts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from skeletonhunter import terminal
from skeletonhunter.errors import BadInput

if TYPE_CHECKING:
    from store.client import Store

_EXAMPLE = "Example: SKH_CLICKHOUSE_URL=http://default@localhost:8123/default skeletonhunter"


def register(app: typer.Typer) -> None:
    """Add ``migrate`` and ``topics``."""
    migrations = typer.Typer(
        no_args_is_help=True, rich_markup_mode=None, help="ClickHouse tables: plan, status, apply."
    )
    app.add_typer(migrations, name="migrate")

    @migrations.command(epilog=f"{_EXAMPLE} migrate plan")
    def plan() -> int:
        """Show what ``apply`` would do; changes nothing."""
        from store import migrate

        with _Database() as store:
            pending = migrate.plan(store)
        for each in pending:
            terminal.echo(f"would apply {each.file}")
        terminal.echo(f"{len(pending)} pending")
        return 0

    @migrations.command(epilog=f"{_EXAMPLE} migrate status")
    def status() -> int:
        """Show every migration and whether the database has it."""
        from store import migrate

        with _Database() as store:
            found = migrate.status(store)
        for each in found:
            terminal.echo(f"{each.state:8} {each.migration.file}  {each.applied_at or ''}".rstrip())
        return 0

    @migrations.command(epilog=f"{_EXAMPLE} migrate apply")
    def apply() -> int:
        """Apply what is pending; a second run applies nothing."""
        from store import migrate

        with _Database(create=True) as store:
            done = migrate.migrate(store)
        for each in done:
            terminal.echo(f"applied {each.file}")
        terminal.echo(f"{len(done)} applied")
        return 0

    @app.command(epilog="Example: SKH_KAFKA=localhost:9092 skeletonhunter topics --create")
    def topics(
        create: Annotated[bool, typer.Option(help="Make the topics that are missing.")] = False,
        json_schemas: Annotated[
            Path | None, typer.Option(help="Write the documents' JSON Schemas into this folder.")
        ] = None,
    ) -> int:
        """List every Kafka topic with its key, payload, writers and readers."""
        if json_schemas is not None:
            from schemas.documents import json_schemas as documents

            for path in documents.write(json_schemas):
                terminal.echo(str(path))
            return 0
        if create:
            return _create_topics()
        return _list_topics()


class _Database:
    """The configured database for one command; the errors become the command's."""

    def __init__(self, *, create: bool = False) -> None:
        self._create = create

    def __enter__(self) -> Store:
        from skeletonhunter import settings
        from store.client import BadStoreUrl, open_store

        try:
            self._store = open_store(
                settings.read().require_clickhouse(), create_database=self._create
            )
        except BadStoreUrl as why:
            raise BadInput(f"SKH_CLICKHOUSE_URL: {why}") from why
        return self._store

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        from store.client import StoreRefused
        from store.migrate import MigrationError

        self._store.close()
        if isinstance(error, MigrationError | StoreRefused):
            raise BadInput(str(error)) from error


def _list_topics() -> int:
    from schemas.topics import ALL

    rows = [("topic", "partitions", "key", "from", "to")]
    for topic in ALL:
        kept = f"{topic.partitions}{', compacted' if topic.compacted else ''}"
        rows.append((topic.name, kept, topic.key, topic.producer, ", ".join(topic.consumers)))
    widths = [max(len(row[i]) for row in rows) for i in range(4)]
    for row in rows:
        cells = [row[i].ljust(widths[i]) for i in range(4)]
        terminal.echo("  ".join([*cells, row[4]]).rstrip())
    return 0


def _create_topics() -> int:
    from skeletonhunter import settings
    from skeletonhunter.commands.stream import check_broker
    from streams.kafka import admin

    config = settings.read()
    check_broker(config)
    for topic in admin.create(config.librdkafka()):
        terminal.echo(f"made {topic.name} ({topic.partitions} partitions)")
    for each in admin.state(config.librdkafka()):
        if each.partitions != each.topic.partitions:
            terminal.echo(
                f"{each.topic.name} has {each.partitions} partitions; "
                f"this release expects {each.topic.partitions}",
                err=True,
            )
    return 0
