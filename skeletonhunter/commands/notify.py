"""``skeletonhunter notify``: tell people about incidents."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from skeletonhunter import terminal
from skeletonhunter.errors import BadInput, BadSettings

_EXAMPLE = "SKH_KAFKA=kafka:9092 skeletonhunter notify --config notify.yaml"


def register(app: typer.Typer) -> None:
    """Add ``notify`` with ``check``."""
    notify = typer.Typer(
        help="Tell people about incidents: Slack, PagerDuty, Alertmanager, webhooks.",
        rich_markup_mode=None,
    )
    app.add_typer(notify, name="notify")
    notify.callback(invoke_without_command=True, epilog=f"Example: {_EXAMPLE}")(_notify)
    notify.command(epilog="Example: skeletonhunter notify check notify.yaml")(check)


def _notify(
    context: typer.Context,
    config: Annotated[
        Path | None, typer.Option(help="Channels and routes (docs/notify.md); default SKH_NOTIFY.")
    ] = None,
    page_url: Annotated[
        str | None, typer.Option(help="Where people reach the page; default: page_url of the file.")
    ] = None,
    test: Annotated[
        str | None,
        typer.Option(metavar="CHANNEL", help="Send a test notification to a channel, and end."),
    ] = None,
) -> int | None:
    """Tell people about incidents: Slack, PagerDuty, Alertmanager, webhooks.

    Reads skh.incidents; each incident and state is notified once on each channel that a route
    leads to. Of several notifiers one sends, the others stand by.
    """
    if context.invoked_subcommand is not None:
        return None
    import asyncio

    from skeletonhunter import log_lines, settings
    from skeletonhunter.services.broker import check_broker
    from skeletonhunter.services.notifier import configuration, send_test, serve

    found = settings.read()
    log_lines.start(found.log_level, found.log_format)
    file = config or found.notify
    if file is None:
        raise BadSettings("give --config FILE, or set SKH_NOTIFY; docs/notify.md has an example")
    wanted = configuration(file, page_url)
    if test is not None:
        asyncio.run(send_test(wanted, test, os.environ))
        return 0
    found.require("kafka")
    check_broker(found)
    return asyncio.run(serve(found, wanted))


def check(file: Annotated[Path, typer.Argument(help="YAML, or TOML by its suffix.")]) -> int:
    """Check a configuration file and the secrets that it refers to; one line for each mistake."""
    from notifier.configuration.reading import ConfigurationError, read

    try:
        found = read(file, os.environ)
    except ConfigurationError as why:
        for mistake in why.mistakes:
            terminal.echo(f"{file}: {mistake}", err=True)
        return BadInput.code
    watched = "with" if found.watchdog is not None else "without"
    channels, routes = len(found.channels), len(found.routes)
    terminal.echo(f"{file}: channels: {channels}, routes: {routes}, {watched} a watchdog")
    return 0
