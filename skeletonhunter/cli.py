"""``skeletonhunter``: finds the commands, runs one, turns errors into one line and an exit code.

Each module named in ``COMMANDS`` registers its commands: ``register(app: typer.Typer) -> None``.
Those modules import what is heavy inside their commands, so that ``--help`` stays quick.

Exit codes: 0 fine; 1 the command found what it looks for; 2 wrong usage or no readable input;
3 a dependency (Kafka, ClickHouse) is unreachable.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated, Final

import typer
from typer.exceptions import TyperException

from skeletonhunter.errors import CommandError, DependencyUnreachable

#: In the order of ``--help``.
COMMANDS: Final = (
    "demo", "diagnose", "up", "stream", "manage", "simulate", "fabric", "check", "bench", "keys",
)  # fmt: skip


def _version(wanted: bool) -> None:
    if wanted:
        try:
            number = version("skeletonhunter")
        except PackageNotFoundError:  # run from a source tree that is not installed
            number = "unknown"
        typer.echo(f"skeletonhunter {number}")
        raise typer.Exit


def build() -> typer.Typer:
    """The command with everything that is there."""
    app = typer.Typer(
        name="skeletonhunter",
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        help="Names the network component that a training cluster's probes blame, with evidence.",
    )

    @app.callback()
    def root(
        show_version: Annotated[
            bool,
            typer.Option("--version", callback=_version, is_eager=True, help="Say it and leave."),
        ] = False,
    ) -> None:
        pass

    for name in COMMANDS:
        if importlib.util.find_spec(f"skeletonhunter.{name}") is not None:
            importlib.import_module(f"skeletonhunter.{name}").register(app)
    return app


def main(arguments: list[str] | None = None) -> None:
    """Entry point; leaves through SystemExit."""
    try:
        code = build()(args=arguments, prog_name="skeletonhunter", standalone_mode=False)
    except CommandError as why:
        _complain(str(why))
        sys.exit(why.code)
    except TyperException as why:
        if message := why.format_message():
            _complain(f"{message.rstrip('.')}; see skeletonhunter --help")
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
    except ConnectionError as why:  # StoreUnavailable and BrokerUnreachable among them
        _complain(str(why))
        sys.exit(DependencyUnreachable.code)
    sys.exit(code if isinstance(code, int) else 0)


def _complain(text: str) -> None:
    print(f"skeletonhunter: {' '.join(text.split())}", file=sys.stderr)


if __name__ == "__main__":
    main()
