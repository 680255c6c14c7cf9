"""``skeletonhunter diagnose``: files of ping records in, incidents out, without any service."""

from __future__ import annotations

import dataclasses
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

import typer

from schemas.printable import printable
from skeletonhunter import terminal
from skeletonhunter.errors import BadInput

if TYPE_CHECKING:
    from localizer.options import Options
    from schemas.documents.incident import Incident
    from skeletonhunter.diagnosis.files.column_map import ColumnMap
    from skeletonhunter.diagnosis.files.time_span import TimeSpan
    from skeletonhunter.diagnosis.inputs import Documents
    from skeletonhunter.diagnosis.outcome import Outcome

_NOTHING_JUDGED: Final = 2


def register(app: typer.Typer) -> None:
    """Add ``diagnose``."""

    @app.command(epilog="Example: skeletonhunter diagnose pings.csv --topology topology.json")
    def diagnose(
        files: Annotated[
            list[str],
            typer.Argument(
                help="Ping records: CSV, NDJSON, JSON, Arrow, Parquet, or what an agent's "
                "--publish file: writes, with its heartbeats; also .gz and .zst; globs; - is stdin."
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
            typer.Option(
                help="Explain the incident of this id; its first characters suffice. What an "
                "earlier run on the same files found is used again, but with --report."
            ),
        ] = None,
        report: Annotated[
            Path | None,
            typer.Option(help="Write the incidents as a page too, one HTML file."),
        ] = None,
        since: Annotated[
            str | None, typer.Option(help="Judge records from this time on, e.g. 2026-01-31T12:00.")
        ] = None,
        until: Annotated[
            str | None, typer.Option(help="Judge records before this time; UTC without a zone.")
        ] = None,
        pairs: Annotated[
            list[str] | None,
            typer.Option(
                "--map",
                metavar="THEIRS=OURS",
                help="Name of a column in the files, and what a "
                "ping record calls it; again for each.",
            ),
        ] = None,
        columns: Annotated[
            Path | None,
            typer.Option(
                help="TOML of such names, with factors of units and fixed values (docs/files.md)."
            ),
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
        from skeletonhunter.diagnosis import saved
        from skeletonhunter.diagnosis.files import column_map, names
        from skeletonhunter.diagnosis.files.time_span import span
        from skeletonhunter.diagnosis.inputs import Documents

        options = Options(strategy=known_strategy(strategy, "--strategy"))
        documents = Documents(topology, heartbeats, placement, maintenance)
        job = Job(
            names.expanded(files), documents, options, column_map.read(columns, pairs or ()),
            span(since, until), report,
        )  # fmt: skip
        if report is not None:
            _check_writable(report)
        key = saved.key(job.files, dataclasses.astuple(documents), job.judged_by)
        outcome = None
        if key and explain is not None and report is None:
            outcome = saved.load(key, saved.cache_folder())
        if outcome is None:
            outcome = _judge(job)
            if key:
                saved.save(key, outcome, saved.cache_folder())
        return _show(outcome, explain, as_json_lines=output == "json")


@dataclass(frozen=True)
class Job:
    """What a call of the command asks for."""

    files: list[str]
    documents: Documents
    options: Options
    columns: ColumnMap | None
    span: TimeSpan
    report: Path | None

    @property
    def judged_by(self) -> tuple[object, ...]:
        """What the outcome depends on besides the files."""
        return self.options, self.columns, self.span, self.files


def _check_writable(report: Path) -> None:
    """Refuse a page that could not be written, before anything is judged; raises BadInput."""
    if report.is_dir():
        raise BadInput(f"--report {report}: a directory; give a file")
    if not report.parent.is_dir():
        raise BadInput(f"--report {report}: there is no directory {report.parent}")
    if not os.access(report if report.exists() else report.parent, os.W_OK):
        raise BadInput(f"--report {report}: not writable; give another file")


def _judge(job: Job) -> Outcome:
    from skeletonhunter.diagnosis import inputs, run
    from skeletonhunter.diagnosis.outcome import outcome_of

    progress = terminal.Progress()
    try:
        given = inputs.read(
            job.files, job.documents, columns=job.columns, span=job.span, progress=progress
        )
        done = run.diagnose(given, job.options, progress)
    finally:
        progress.clear()
    outcome = outcome_of(given, done)
    if job.report is not None:
        from skeletonhunter.diagnosis.page import page

        try:
            job.report.write_text(page.html(given, done, outcome), encoding="utf-8")
        except OSError as why:
            raise BadInput(f"--report {job.report}: {why.strerror}") from why
    return outcome


def _show(outcome: Outcome, explain: str | None, *, as_json_lines: bool) -> int:
    """Print the outcome; returns the exit code."""
    from skeletonhunter.diagnosis.report import as_json, as_table, explained, not_enough
    from skeletonhunter.diagnosis.summary import coverage_json

    incidents = outcome.incidents
    if explain is not None:
        chosen = _chosen(incidents, explain)
        text = as_json([chosen]) if as_json_lines else explained(chosen)
    elif as_json_lines:
        text = as_json(incidents)
    elif outcome.nothing is not None:
        text = ""
    elif not incidents and not outcome.enough:
        text = not_enough(outcome.missing)
    else:
        text = as_table(incidents)
    typer.echo(text, nl=False)
    sys.stderr.writelines(f"{printable(line)}\n" for line in outcome.summary)
    if outcome.nothing is not None:
        terminal.complain(outcome.nothing)
    if as_json_lines:
        sys.stderr.write(coverage_json(outcome.coverage) + "\n")
    if outcome.nothing is not None:
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
