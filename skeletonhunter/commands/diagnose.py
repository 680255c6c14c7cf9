"""``skeletonhunter diagnose``: files of ping records in, incidents out, without any service."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

import typer

from schemas.printable import printable
from skeletonhunter import terminal
from skeletonhunter.errors import BadInput

if TYPE_CHECKING:
    from schemas.documents.incident import Incident

_NOTHING_JUDGED: Final = 2


def register(app: typer.Typer) -> None:
    """Add ``diagnose``."""

    @app.command(epilog="Example: skeletonhunter diagnose pings.csv --topology topology.json")
    def diagnose(
        files: Annotated[
            list[str],
            typer.Argument(
                help="Ping records: CSV, NDJSON, JSON, Arrow, Parquet, or what an agent's "
                "--publish file: writes, with its heartbeats; - is stdin."
            ),
        ],
        topology: Annotated[
            Path | None, typer.Option(help="The fabric; without it, it is learnt from records.")
        ] = None,
        heartbeats: Annotated[
            Path | None, typer.Option(help="Heartbeats of the agents, NDJSON.")
        ] = None,
        placement: Annotated[
            Path | None,
            typer.Option(help="Containers and their states; those not ready are not judged."),
        ] = None,
        maintenance: Annotated[
            Path | None,
            typer.Option(help="Maintenance windows: verdicts on their components are suppressed."),
        ] = None,
        strategy: Annotated[str, typer.Option(help="Localization strategy.")] = "hypothesis",
        output: Annotated[
            Literal["table", "json"],
            typer.Option(
                "--format",
                help="A table, or one JSON document a line; with json the last line on stderr is "
                '{"coverage": {...}}.',
            ),
        ] = "table",
        explain: Annotated[
            str | None,
            typer.Option(help="Explain the incident of this id; its first characters suffice."),
        ] = None,
    ) -> int:
        """Name the culprits in ping records.

        Exit code 1 when a network or host incident is found, 2 when nothing could be judged. What
        was judged is stated on stderr: records, seconds, source hosts, what detectors lack, and
        links and components of the topology that no judged probe crosses. With fewer seconds or
        source hosts than loss needs the result is "not enough to judge" (in JSON: "enough" of the
        coverage is false) instead of "no incidents".
        """
        from localizer.options import Options
        from skeletonhunter.arguments import known_strategy
        from skeletonhunter.diagnosis import inputs, run
        from skeletonhunter.diagnosis.report import as_json, as_table, explained, not_enough
        from skeletonhunter.diagnosis.summary import coverage_json, summary, why_nothing

        options = Options(strategy=known_strategy(strategy, "--strategy"))
        given = inputs.read(
            files, topology=topology, heartbeats=heartbeats, placement=placement,
            maintenance=maintenance,
        )  # fmt: skip
        done = run.diagnose(given, options)
        incidents, coverage = done.incidents, done.coverage
        if explain is not None:
            chosen = _chosen(incidents, explain)
            text = as_json([chosen]) if output == "json" else explained(chosen)
        elif output == "json":
            text = as_json(incidents)
        elif not coverage.seconds:
            text = ""
        elif not incidents and not coverage.enough:
            text = not_enough(coverage.missing())
        else:
            text = as_table(incidents)
        typer.echo(text, nl=False)
        sys.stderr.writelines(f"{printable(line)}\n" for line in summary(given, done))
        if not coverage.seconds:
            terminal.complain(why_nothing(given, done))
        if output == "json":
            sys.stderr.write(coverage_json(done) + "\n")
        if not coverage.seconds:
            return _NOTHING_JUDGED
        return int(any(each.kind not in ("agent", "pipeline") for each in incidents))


def _chosen(incidents: list[Incident], prefix: str) -> Incident:
    """The one incident whose id begins so; raises BadInput."""
    found = [each for each in incidents if each.incident_id.startswith(prefix)]
    if len(found) != 1:
        known = ", ".join(each.incident_id for each in incidents) or "none"
        raise BadInput(
            f"--explain {prefix}: {len(found) or 'no'} incidents have an id that begins so; "
            f"there are: {known}"
        )
    return found[0]
