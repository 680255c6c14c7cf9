"""``skeletonhunter simulate``: a scenario -> ping records, heartbeats, topology and the truth."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from skeletonhunter import terminal
from skeletonhunter.errors import BadInput

_SECOND = 1_000_000_000
_LATEST_S = 7_258_118_400  # 2200: times are nanoseconds in 64 bits


def _list(wanted: bool) -> None:
    """Print each shipped scenario with its ``proves`` text."""
    if wanted:
        from testbed.scenarios.scenario import load, names

        for name in names():
            plan = load(name)
            terminal.echo(f"{name} ({plan.duration_s} s): {' '.join(plan.proves.split())}\n")
        raise typer.Exit


def _time(start: str) -> datetime:
    try:
        return datetime.fromisoformat(start)
    except ValueError:
        raise BadInput(f"--start {start}: no time; write 2026-01-31T12:00:00Z") from None


def register(app: typer.Typer) -> None:
    """Add ``simulate``."""

    @app.command(epilog="Example: skeletonhunter simulate demo --seed 7 --out /tmp/demo")
    def simulate(
        scenario: Annotated[str, typer.Argument(help="Name of a shipped scenario, or a file.")],
        out: Annotated[Path, typer.Option(help="Directory to write to; made if absent.")],
        seed: Annotated[int, typer.Option(min=0, help="Same seed, same bytes.")] = 0,
        start: Annotated[
            str, typer.Option(help="Event time of the first second, RFC 3339.")
        ] = "2026-01-01T00:00:00Z",
        duration: Annotated[
            int | None, typer.Option(min=1, help="Seconds, instead of the scenario's.")
        ] = None,
        output: Annotated[
            str, typer.Option("--format", help="parquet, arrow, csv or ndjson.")
        ] = "parquet",
        shipped: Annotated[
            bool,
            typer.Option(
                "--list",
                is_eager=True,
                callback=_list,
                help="Name the shipped scenarios, and stop.",
            ),
        ] = False,
        throughput: Annotated[
            bool, typer.Option("--throughput", help="Write what each rnic carries each second too.")
        ] = False,
    ) -> int:
        """Write records and heartbeats of a simulated cluster, and the truth about its faults."""
        from testbed.scenarios.scenario import ScenarioError, load
        from testbed.simulator.files import write, write_throughput

        try:
            begin = _time(start)
            if begin.tzinfo is None:
                raise BadInput(f"--start {start}: say the time zone, e.g. {start}Z")
            if not 0 < begin.timestamp() < _LATEST_S:
                raise BadInput(f"--start {start}: give a time between 1970 and 2200")
            plan = load(scenario)
            if duration is not None:
                plan = msgspec.structs.replace(plan, duration_s=duration)
            simulation = plan.simulation(seed=seed, start_ns=int(begin.timestamp()) * _SECOND)
            written = write(simulation, out, plan.duration_s, output)
            carried = write_throughput(simulation, out, plan.duration_s) if throughput else None
        except (ScenarioError, ValueError) as why:
            raise BadInput(str(why)) from why
        except OSError as why:
            raise BadInput(f"{why.filename or out}: {why.strerror}") from why
        terminal.echo(
            f"{written.records} ping records in {written.pings}\n"
            f"{written.beats} heartbeats in {written.heartbeats}\n"
            f"topology in {written.topology}, truth in {written.truth}\n"
            f"placement in {written.placement}, layouts of jobs in {written.layout}"
        )
        if carried is not None:
            terminal.echo(f"throughput in {carried}")
        return 0
