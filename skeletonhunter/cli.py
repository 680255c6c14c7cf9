"""``skeletonhunter``: registers the commands, runs one, turns errors into a line and an exit code.

Each module named in ``COMMANDS`` registers its commands: ``register(app: typer.Typer) -> None``.
They import heavy modules inside their commands, so that ``--help`` stays quick.

Exit codes: 0 success; 1 the command found what it looks for; 2 wrong usage or unusable input;
3 a dependency (Kafka, ClickHouse) is unreachable; 70 an internal error, with its traceback in a
file; 130 interrupted; 141 standard output was closed; 143 ``demo`` was terminated.
"""

from __future__ import annotations

import errno
import importlib
import importlib.util
import os
import sys
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated, Final

import typer
from typer.exceptions import Abort, TyperException

from schemas import crash_report
from skeletonhunter.errors import CommandError, DependencyUnreachable
from skeletonhunter.terminal import complain

#: In the order of ``--help``.
COMMANDS: Final = (
    "demo", "diagnose", "up", "services", "notify", "probing.ping_lists", "probing.coverage",
    "probing.skeleton", "probing.probe", "setup.migrate", "setup.topics", "inventory.topology",
    "inventory.maintenance", "jobs.jobs", "jobs.slurm", "simulate", "fabric.lifecycle", "check",
    "bench", "store.sql", "store.load", "setup.keys", "setup.settings", "setup.config",
    "setup.compose_secrets",
    "params", "capacity",
)  # fmt: skip


INSTALL_SERVER: Final = (
    "`skeletonhunter` needs the analyser's packages: pip install 'skeletonhunter[server]'"
)
#: Threads of numpy's and scipy's linear algebra. What is judged is products of small matrices, for
#: which more threads take as long, and wait for one another at full load, one on each core.
_LINEAR_ALGEBRA: Final = {"OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
_INTERRUPTED: Final = 130
_OUTPUT_CLOSED: Final = 141  # as a shell reports SIGPIPE


def _version(wanted: bool) -> None:
    if wanted:
        try:
            number = version("skeletonhunter")
        except PackageNotFoundError:  # run from a source tree that is not installed
            number = "unknown"
        typer.echo(f"skeletonhunter {number}")
        raise typer.Exit


def build() -> typer.Typer:
    """The command with all of ``COMMANDS``."""
    app = typer.Typer(
        name="skeletonhunter",
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        help="Name the network component that a training cluster's probes blame, with evidence.",
    )

    @app.callback()
    def root(
        show_version: Annotated[
            bool,
            typer.Option(
                "--version", callback=_version, is_eager=True, help="Show the version and exit."
            ),
        ] = False,
    ) -> None:
        pass

    for name in COMMANDS:
        importlib.import_module(f"skeletonhunter.commands.{name}").register(app)
    return app


def main(arguments: list[str] | None = None, *, build: Callable[[], typer.Typer] = build) -> None:
    """Run the command; always raises SystemExit.

    arguments  None: those of the process
    build      makes the application; called here, so that an error of its imports is reported too
    """
    for name, threads in _LINEAR_ALGEBRA.items():  # read when numpy is imported
        os.environ.setdefault(name, threads)
    try:
        code = build()(args=arguments, prog_name="skeletonhunter", standalone_mode=False)
        sys.stdout.flush()
    except CommandError as why:
        complain(str(why))
        sys.exit(why.code)
    except TyperException as why:
        _complain_of_usage(why)
        sys.exit(2)
    except (KeyboardInterrupt, Abort):
        sys.exit(_INTERRUPTED)
    except ModuleNotFoundError as why:
        if not missing_extra(why):
            sys.exit(crash_report.report("skeletonhunter", why, complain))
        complain(f"{why.name} is not installed; {INSTALL_SERVER}")
        sys.exit(2)
    except SystemExit as left:
        # typer exits with 1 when standard output is closed, but 1 means that something was found
        if _is_broken_pipe(left.__context__):
            sys.exit(_output_closed())
        raise
    except BrokenPipeError as why:
        if _stdout_is_closed():
            sys.exit(_output_closed())
        complain(str(why))
        sys.exit(DependencyUnreachable.code)
    except ConnectionError as why:  # StoreUnavailable and BrokerUnreachable among them
        complain(str(why))
        sys.exit(DependencyUnreachable.code)
    except Exception as why:  # a defect of ours must not exit with 1
        sys.exit(crash_report.report("skeletonhunter", why, complain))
    sys.exit(code if isinstance(code, int) else 0)


def _complain_of_usage(why: TyperException) -> None:
    """One line that names the help of the command; the help itself where no argument is given."""
    message = why.format_message()
    if message.startswith("Usage: "):
        print(message, file=sys.stderr)
    elif message:
        context = getattr(why, "ctx", None)  # of errors of usage only
        command = getattr(context, "command_path", "skeletonhunter")
        message = message.replace(": Value error, ", ": ", 1)  # pydantic's, which checks for typer
        complain(f"{message.rstrip('.')}; see {command} --help")


def missing_extra(why: ModuleNotFoundError) -> bool:
    """Whether another project's package is missing, as without the extra ``server``."""
    package = (why.name or "").partition(".")[0]
    return bool(package) and importlib.util.find_spec(package) is None


def _is_broken_pipe(why: BaseException | None) -> bool:
    return isinstance(why, OSError) and why.errno == errno.EPIPE


def _stdout_is_closed() -> bool:
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        return True
    return False


def _output_closed() -> int:
    """Discard buffered output, so that the interpreter does not complain on exit; the exit code."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return _OUTPUT_CLOSED


if __name__ == "__main__":
    main()
