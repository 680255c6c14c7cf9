"""``skeletonhunter migrate``: the tables of ClickHouse, from numbered migrations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from skeletonhunter import terminal
from skeletonhunter.errors import BadInput

if TYPE_CHECKING:
    from store.client import Store

_EXAMPLE = "Example: SKH_CLICKHOUSE_URL=http://default@localhost:8123/default skeletonhunter"


def register(app: typer.Typer) -> None:
    """Add ``migrate`` with ``plan``, ``status``, ``apply``, ``print`` and ``reader``."""
    migrations = typer.Typer(
        no_args_is_help=True,
        rich_markup_mode=None,
        help="ClickHouse tables: plan, status, apply, print; reader: a role.",
        epilog=f"{_EXAMPLE} migrate status",
    )
    app.add_typer(migrations, name="migrate")

    @migrations.command(epilog=f"{_EXAMPLE} migrate plan")
    def plan() -> int:
        """List the migrations that `apply` would apply; changes nothing."""
        from store import migrate

        with _Database() as store:
            pending = migrate.plan(store)
        for each in pending:
            terminal.echo(f"would apply {each.file}")
        terminal.echo(f"{len(pending)} pending")
        return 0

    @migrations.command(epilog=f"{_EXAMPLE} migrate status")
    def status() -> int:
        """List every migration and whether the database has it."""
        from store import migrate

        with _Database() as store:
            found = migrate.status(store)
        for each in found:
            terminal.echo(f"{each.state:8} {each.migration.file}  {each.applied_at or ''}".rstrip())
        return 0

    @migrations.command(epilog=f"{_EXAMPLE} migrate apply")
    def apply() -> int:
        """Apply the pending migrations; a second run applies nothing."""
        from store import migrate

        with _Database(create=True) as store:
            done = migrate.migrate(store, cluster=_cluster())
        for each in done:
            terminal.echo(f"applied {each.file}")
        terminal.echo(f"{len(done)} applied")
        return 0

    @migrations.command("print", epilog="Example: skeletonhunter migrate print --cluster skh")
    def print_(
        cluster: Annotated[
            str | None,
            typer.Option(help="Cluster of ClickHouse, else SKH_CLICKHOUSE_CLUSTER, else none."),
        ] = None,
    ) -> int:
        """Show every statement that `apply` runs on an empty database; connects to nothing."""
        from store import migrate

        name = cluster or _cluster()
        if name and not name.isidentifier():
            raise BadInput(f"--cluster: {name!r} is no plain name of letters, digits and _")
        terminal.echo(migrate.script(name).rstrip())
        return 0

    @migrations.command(epilog=f"{_EXAMPLE} migrate reader")
    def reader(
        tenant: Annotated[
            str, typer.Option(metavar="NAME", help="the role skh_reader_NAME: its rows only")
        ] = "",
    ) -> int:
        """Make the role skh_reader for people: it can only read, within limits and a quota.

        Grant it to a user of your own: CREATE USER ana IDENTIFIED ... DEFAULT ROLE skh_reader.
        """
        from store import reader as roles

        with _Database() as store:
            (row,) = store.rows("SELECT currentDatabase() AS name")
            try:
                done = roles.make(store, str(row["name"]), tenant, _cluster())
            except ValueError as why:
                raise BadInput(str(why)) from why
            except roles.RolesUnsupported as why:
                raise BadInput(str(why)) from why
        for each in done:
            terminal.echo(each)
        return 0


def _cluster() -> str | None:
    from skeletonhunter import settings

    return settings.read().clickhouse_cluster


class _Database:
    """The configured database during one command; its errors become the command's.

    create  whether a missing database is created
    """

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
